#include "io/tls_records.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <string.h>

#include "io/tls_gcm.h"

// Success: a record that lies whole in an arrival is opened from there into the caller's memory. Failure: a malformed
// record gets the alert for its fault, and yields no plaintext.
//
// The begin of a record at an arrival's end waits in memory of its own. Plaintext for which the caller has no room
// waits, too: a record is opened as a whole, since plaintext may be used only after the tag has been verified.

enum {
    PLAINTEXT_BYTES_MAX = 1 << 14,
    PROTECTED_BYTES_MAX = PLAINTEXT_BYTES_MAX + 256,
    HANDSHAKE_HEAD_BYTES = 4,
    UPDATE_BYTES = 5, // length of a KeyUpdate
    UPDATE_MESSAGE = 24,
    // Records without data in a row that the peer may send, while no data is sealed for the peer
    SILENT_COUNT_MAX = 32,
};

enum type { TYPE_ALERT = 21, TYPE_HANDSHAKE = 22, TYPE_DATA = TLS_TYPE_DATA };

enum alert {
    ALERT_CLOSE_NOTIFY = 0,
    ALERT_UNEXPECTED_MESSAGE = 10,
    ALERT_BAD_RECORD_MAC = 20,
    ALERT_RECORD_OVERFLOW = 22,
    ALERT_ILLEGAL_PARAMETER = 47,
    ALERT_DECODE_ERROR = 50,
    ALERT_INTERNAL_ERROR = 80,
    ALERT_USER_CANCELED = 90,
};

struct tls_records {
    struct tls_keys in, out;
    uint64_t sealed_max;

    uint8_t head[TLS_HEAD_BYTES]; // of the record that is coming in
    uint8_t update[UPDATE_BYTES];
    uint8_t update_have;
    uint8_t silent_count;
    uint32_t have;  // bytes of that record so far
    uint8_t *begun; // that record's bytes, if it doesn't lie whole in an arrival; else NULL
    uint8_t *rest;  // plaintext for which there was no room; else NULL
    uint32_t rest_at, rest_end;
};

// Frees the remaining plaintext, and overwrites it: it may contain secrets.
static void forget_rest(struct tls_records *records) {
    OPENSSL_clear_free(records->rest, records->rest_end);
    records->rest = NULL;
}

void tls_records_destroy(struct tls_records *records) {
    if (!records)
        return;
    tls_keys_close(&records->in);
    tls_keys_close(&records->out);
    OPENSSL_free(records->begun);
    forget_rest(records);
    OPENSSL_free(records);
}

struct tls_records *tls_records_create(const struct tls_secret *client, const struct tls_secret *server,
                                       const SSL_CIPHER *suite, uint64_t sealed) {
    struct tls_records *records = OPENSSL_zalloc(sizeof *records);
    if (!records)
        return NULL;
    bool good = tls_keys_open(&records->in, client, suite, false);
    good &= tls_keys_open(&records->out, server, suite, true);
    records->sealed_max = TLS_SEALED_COUNT_MAX;
    records->out.count = sealed;
    if (good)
        return records;
    tls_records_destroy(records);
    return NULL;
}

void tls_records_bound(struct tls_records *records, uint64_t sealed_max) {
    records->sealed_max = sealed_max;
}

// --- Records that this side sends by itself

static void send_record(struct tls_records *records, struct secure *secure, enum type type, uint8_t *bytes,
                        size_t count) {
    uint8_t record[TLS_HEAD_BYTES + UPDATE_BYTES + TLS_TYPE_BYTES + TLS_TAG_BYTES];
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    if (tls_keys_seal(&records->out, (uint8_t)type, &part, 1, count, record))
        secure_send(secure, record, tls_sealed_bytes(count));
}

static enum secure_result object(struct tls_records *records, struct secure *secure, enum alert alert) {
    send_record(records, secure, TYPE_ALERT, (uint8_t[]){2, (uint8_t)alert}, 2);
    return SECURE_BROKEN;
}

static bool renew(struct tls_records *records, struct secure *secure) {
    send_record(records, secure, TYPE_HANDSHAKE, (uint8_t[]){UPDATE_MESSAGE, 0, 0, 1, 0}, UPDATE_BYTES);
    return tls_keys_update(&records->out);
}

void tls_records_finish(struct tls_records *records, struct secure *secure) {
    send_record(records, secure, TYPE_ALERT, (uint8_t[]){1, ALERT_CLOSE_NOTIFY}, 2);
}

// --- Contents of the peer's records

// Reads a KeyUpdate, which may come in pieces. Any other message is a fault. Returns SECURE_MORE, or SECURE_BROKEN
// after an alert.
static enum secure_result read_handshake(struct tls_records *records, struct secure *secure,
                                         const uint8_t *bytes, size_t count) {
    size_t room = (size_t)(UPDATE_BYTES - records->update_have), taken = count < room ? count : room;
    memcpy(records->update + records->update_have, bytes, taken);
    records->update_have = (uint8_t)(records->update_have + taken);
    if (count == 0 || records->update[0] != UPDATE_MESSAGE)
        return object(records, secure, ALERT_UNEXPECTED_MESSAGE);
    if (records->update_have >= HANDSHAKE_HEAD_BYTES &&
        memcmp(records->update + 1, (uint8_t[]){0, 0, 1}, 3) != 0)
        return object(records, secure, ALERT_DECODE_ERROR);
    if (taken < count)
        return object(records, secure, ALERT_UNEXPECTED_MESSAGE);
    if (records->update_have < UPDATE_BYTES)
        return SECURE_MORE;
    records->update_have = 0;
    if (records->update[UPDATE_BYTES - 1] > 1)
        return object(records, secure, ALERT_ILLEGAL_PARAMETER);
    bool asked = records->update[UPDATE_BYTES - 1] == 1;
    bool good = tls_keys_update(&records->in) && (!asked || renew(records, secure));
    return good ? SECURE_MORE : object(records, secure, ALERT_INTERNAL_ERROR);
}

static enum secure_result read_alert(struct tls_records *records, struct secure *secure, const uint8_t *bytes,
                                     size_t count) {
    if (count != 2)
        return object(records, secure, ALERT_DECODE_ERROR);
    if (bytes[1] == ALERT_CLOSE_NOTIFY)
        return SECURE_END;
    return bytes[1] == ALERT_USER_CANCELED ? SECURE_MORE : SECURE_BROKEN;
}

// Handles a record's plaintext by its type. Returns SECURE_BYTES for data, SECURE_MORE if there is no data for the
// caller.
static enum secure_result read_contents(struct tls_records *records, struct secure *secure, uint8_t type,
                                        const uint8_t *bytes, size_t count) {
    if (type == TYPE_DATA && count > 0 && records->update_have == 0) {
        records->silent_count = 0;
        return SECURE_BYTES;
    }
    if (++records->silent_count > SILENT_COUNT_MAX)
        return object(records, secure, ALERT_UNEXPECTED_MESSAGE);
    if (type == TYPE_HANDSHAKE)
        return read_handshake(records, secure, bytes, count);
    if (records->update_have > 0 || (type != TYPE_ALERT && type != TYPE_DATA))
        return object(records, secure, ALERT_UNEXPECTED_MESSAGE);
    return type == TYPE_ALERT ? read_alert(records, secure, bytes, count) : SECURE_MORE;
}

// Opens a record. With SECURE_BYTES, *count bytes of plaintext are at `to`.
static enum secure_result open_record(struct tls_records *records, struct secure *secure,
                                      const uint8_t *record, size_t padded, uint8_t *to, size_t *count) {
    uint8_t type;
    if (!tls_keys_open_record(&records->in, record, padded, to, &type))
        return object(records, secure, ALERT_BAD_RECORD_MAC);
    bool too_long = padded > PLAINTEXT_BYTES_MAX; // padding counts
    for (; type == 0 && padded > 0; padded--)
        type = to[padded - 1];
    if (too_long || padded > secure->record_bytes_max)
        return object(records, secure, ALERT_RECORD_OVERFLOW);
    enum secure_result result = read_contents(records, secure, type, to, padded);
    *count = result == SECURE_BYTES ? padded : 0;
    return result;
}

// --- Records among arrivals

static size_t protected_bytes(const uint8_t *head) {
    return (size_t)head[3] << 8 | head[4];
}

// Returns the most plaintext that a record can have.
static size_t record_bytes_of(const uint8_t *head) {
    return protected_bytes(head) - TLS_TAG_BYTES - TLS_TYPE_BYTES;
}

// Checks a record's head. Returns the alert for its fault; ALERT_CLOSE_NOTIFY: no fault. The version is ignored.
static enum alert check_head(const uint8_t *head) {
    if (head[0] != TYPE_DATA)
        return ALERT_UNEXPECTED_MESSAGE;
    if (protected_bytes(head) > PROTECTED_BYTES_MAX)
        return ALERT_RECORD_OVERFLOW;
    return protected_bytes(head) < TLS_TYPE_BYTES + TLS_TAG_BYTES ? ALERT_BAD_RECORD_MAC : ALERT_CLOSE_NOTIFY;
}

static void take_bytes(struct secure_input *input, uint8_t *to, uint32_t *have, size_t wanted) {
    size_t count = wanted - *have < input->count ? wanted - *have : input->count;
    memcpy(to + *have, input->bytes, count);
    *have += (uint32_t)count;
    input->bytes += count;
    input->count -= count;
}

enum record_state { RECORD_PARTIAL, RECORD_WHOLE, RECORD_BAD };

// Finds the next whole record, and sets *record to its place.
static enum record_state take_record(struct tls_records *records, struct secure *secure,
                                     struct secure_input *input, const uint8_t **record) {
    bool lies_here = records->have == 0 && input->count >= TLS_HEAD_BYTES;
    if (!lies_here && records->have < TLS_HEAD_BYTES)
        take_bytes(input, records->head, &records->have, TLS_HEAD_BYTES);
    if (!lies_here && records->have < TLS_HEAD_BYTES)
        return RECORD_PARTIAL;
    const uint8_t *head = lies_here ? input->bytes : records->head;
    size_t bytes = TLS_HEAD_BYTES + protected_bytes(head);
    enum alert wrong = records->begun ? ALERT_CLOSE_NOTIFY : check_head(head);
    if (wrong != ALERT_CLOSE_NOTIFY) {
        object(records, secure, wrong);
        return RECORD_BAD;
    }
    if (lies_here && input->count >= bytes) {
        *record = input->bytes;
        input->bytes += bytes;
        input->count -= bytes;
        return RECORD_WHOLE;
    }
    if (!records->begun && !(records->begun = OPENSSL_malloc(bytes))) {
        secure->out_of_memory = true;
        return RECORD_BAD;
    }
    if (records->have <= TLS_HEAD_BYTES)
        memcpy(records->begun, records->head, records->have);
    take_bytes(input, records->begun, &records->have, bytes);
    memcpy(records->head, records->begun, TLS_HEAD_BYTES);
    *record = records->begun;
    return records->have == bytes ? RECORD_WHOLE : RECORD_PARTIAL;
}

static void forget_begun(struct tls_records *records) {
    OPENSSL_free(records->begun);
    records->begun = NULL;
    records->have = 0;
}

static enum secure_result give_rest(struct tls_records *records, uint8_t *out, size_t room, size_t *count) {
    size_t left = records->rest_end - records->rest_at;
    *count = left < room ? left : room;
    memcpy(out, records->rest + records->rest_at, *count);
    records->rest_at += (uint32_t)*count;
    if (records->rest_at == records->rest_end)
        forget_rest(records);
    return SECURE_BYTES;
}

// Opens a record that is longer than the room into memory of its own, and copies a first part.
static enum secure_result open_aside(struct tls_records *records, struct secure *secure,
                                     const uint8_t *record, uint8_t *out, size_t room, size_t *count) {
    size_t end = 0;
    records->rest = OPENSSL_malloc(record_bytes_of(record));
    if (!records->rest) {
        secure->out_of_memory = true;
        return SECURE_BROKEN;
    }
    records->rest_end = (uint32_t)record_bytes_of(record);
    enum secure_result result =
        open_record(records, secure, record, record_bytes_of(record), records->rest, &end);
    if (result != SECURE_BYTES) {
        forget_rest(records);
        return result;
    }
    assert(end <= records->rest_end);
    records->rest_at = 0;
    records->rest_end = (uint32_t)end;
    return give_rest(records, out, room, count);
}

// --- Functions of the cipher

enum secure_result tls_records_open(struct tls_records *records, struct secure *secure,
                                    struct secure_input *input, uint8_t *out, size_t room, size_t *count) {
    enum secure_result result = records->rest ? give_rest(records, out, room, count) : SECURE_MORE;
    while (result == SECURE_MORE) {
        const uint8_t *record;
        enum record_state state = take_record(records, secure, input, &record);
        if (state != RECORD_WHOLE)
            return state == RECORD_BAD ? SECURE_BROKEN : SECURE_MORE;
        result = record_bytes_of(record) <= room
                     ? open_record(records, secure, record, record_bytes_of(record), out, count)
                     : open_aside(records, secure, record, out, room, count);
        if (record == records->begun)
            forget_begun(records);
    }
    bool is_known = records->have == 0 && !records->rest && input->count >= TLS_HEAD_BYTES;
    secure->next_bytes = is_known && check_head(input->bytes) == ALERT_CLOSE_NOTIFY
                             ? (uint32_t)record_bytes_of(input->bytes)
                             : 0;
    return result;
}

bool tls_records_seal(struct tls_records *records, struct secure *secure, const struct iovec *parts,
                      unsigned count) {
    size_t bytes = 0;
    for (unsigned index = 0; index < count; index++)
        bytes += parts[index].iov_len;
    if (records->out.count >= records->sealed_max && !renew(records, secure))
        return false;
    uint8_t *to = secure_place(secure, tls_sealed_bytes(bytes));
    records->silent_count = 0;
    return to && tls_keys_seal(&records->out, TYPE_DATA, parts, count, bytes, to);
}

// --- Keys of one direction

enum { LABEL_BYTES_MAX = 16 };

// --- Keys

// Computes HKDF-Expand-Label without a context; at most one block of the hash.
static bool expand(const EVP_MD *digest, const struct tls_secret *secret, const char *label, uint8_t *out,
                   size_t count) {
    static const char prefix[] = "tls13 ";
    size_t prefix_bytes = sizeof prefix - 1, label_bytes = strlen(label), at = 0;
    uint8_t info[3 + sizeof prefix + LABEL_BYTES_MAX + 1], made[EVP_MAX_MD_SIZE];
    info[at++] = 0;
    info[at++] = (uint8_t)count;
    info[at++] = (uint8_t)(prefix_bytes + label_bytes);
    memcpy(info + at, prefix, prefix_bytes);
    memcpy(info + at + prefix_bytes, label, label_bytes);
    at += prefix_bytes + label_bytes;
    info[at++] = 0; // no context
    info[at++] = 1; // the first block
    bool good = HMAC(digest, secret->bytes, secret->count, info, at, made, NULL) != NULL;
    if (good)
        memcpy(out, made, count);
    OPENSSL_cleanse(made, sizeof made);
    return good;
}

static bool set_key(struct tls_keys *way) {
    uint8_t key[TLS_KEY_BYTES_MAX];
    size_t key_bytes = tls_aead_key_bytes(&way->aead);
    bool good = key_bytes <= sizeof key && expand(way->digest, &way->secret, "key", key, key_bytes) &&
                expand(way->digest, &way->secret, "iv", way->iv, TLS_IV_BYTES) &&
                tls_aead_set_key(&way->aead, key);
    way->count = 0;
    OPENSSL_cleanse(key, sizeof key);
    return good;
}

bool tls_keys_update(struct tls_keys *way) {
    struct tls_secret before = way->secret;
    bool good = expand(way->digest, &before, "traffic upd", way->secret.bytes, before.count);
    OPENSSL_cleanse(&before, sizeof before);
    return good && set_key(way);
}

bool tls_keys_open(struct tls_keys *way, const struct tls_secret *secret, const SSL_CIPHER *suite,
                   bool seals) {
    const EVP_CIPHER *cipher = EVP_get_cipherbynid(SSL_CIPHER_get_cipher_nid(suite));
    *way = (struct tls_keys){.digest = SSL_CIPHER_get_handshake_digest(suite), .secret = *secret};
    return cipher && way->digest && tls_aead_open(&way->aead, cipher, seals) && set_key(way);
}

void tls_keys_close(struct tls_keys *way) {
    tls_aead_close(&way->aead);
    OPENSSL_cleanse(way, sizeof *way);
}

// --- Records

// Begins a record with its nonce and its head.
static bool begin(struct tls_keys *way, const uint8_t head[TLS_HEAD_BYTES]) {
    uint8_t nonce[TLS_IV_BYTES];
    memcpy(nonce, way->iv, sizeof nonce);
    for (unsigned at = 0; at < sizeof way->count; at++)
        nonce[TLS_IV_BYTES - 1 - at] ^= (uint8_t)(way->count >> 8 * at);
    way->count++;
    return tls_aead_begin(&way->aead, nonce, head, TLS_HEAD_BYTES);
}

bool tls_keys_open_record(struct tls_keys *way, const uint8_t *record, size_t count, uint8_t *to,
                          uint8_t *type) {
    const uint8_t *text = record + TLS_HEAD_BYTES;
    return begin(way, record) && tls_aead_cross(&way->aead, to, text, count) &&
           tls_aead_cross(&way->aead, type, text + count, TLS_TYPE_BYTES) &&
           tls_aead_verify(&way->aead, text + count + TLS_TYPE_BYTES);
}

bool tls_keys_seal(struct tls_keys *way, uint8_t type, const struct iovec *parts, unsigned count,
                   size_t bytes, uint8_t *to) {
    size_t protected = bytes + TLS_TYPE_BYTES + TLS_TAG_BYTES;
    uint8_t *at = to + TLS_HEAD_BYTES;
    memcpy(to, (uint8_t[]){TLS_TYPE_DATA, 3, 3, (uint8_t)(protected >> 8), (uint8_t) protected},
           TLS_HEAD_BYTES);
    bool good = begin(way, to);
    for (unsigned index = 0; good && index < count; index++) {
        good = tls_aead_cross(&way->aead, at, parts[index].iov_base, parts[index].iov_len);
        at += parts[index].iov_len;
    }
    return good && tls_aead_cross(&way->aead, at, &type, TLS_TYPE_BYTES) &&
           tls_aead_seal(&way->aead, at + TLS_TYPE_BYTES);
}

// --- The cipher of a record

static bool is_gcm(const EVP_CIPHER *cipher) {
    return EVP_CIPHER_get_mode(cipher) == EVP_CIPH_GCM_MODE;
}

bool tls_aead_open(struct tls_aead *aead, const EVP_CIPHER *cipher, bool seals) {
    *aead = (struct tls_aead){.cipher = cipher, .seals = seals};
    if (tls_gcm_is_there() && is_gcm(cipher))
        aead->gcm = tls_gcm_create(tls_aead_key_bytes(aead), seals);
    else
        aead->context = EVP_CIPHER_CTX_new();
    return aead->gcm || aead->context;
}

void tls_aead_close(struct tls_aead *aead) {
    tls_gcm_destroy(aead->gcm);
    EVP_CIPHER_CTX_free(aead->context);
    *aead = (struct tls_aead){0};
}

size_t tls_aead_key_bytes(const struct tls_aead *aead) {
    return (size_t)EVP_CIPHER_get_key_length(aead->cipher);
}

bool tls_aead_set_key(struct tls_aead *aead, const uint8_t *key) {
    if (!aead->gcm)
        return EVP_CipherInit_ex(aead->context, aead->cipher, NULL, key, NULL, aead->seals) == 1;
    tls_gcm_set_key(aead->gcm, key);
    return true;
}

bool tls_aead_begin(struct tls_aead *aead, const uint8_t nonce[TLS_IV_BYTES], const uint8_t *head,
                    size_t head_bytes) {
    int ignored;
    if (aead->gcm) {
        tls_gcm_begin_record(aead->gcm, nonce, head, head_bytes);
        return true;
    }
    return EVP_CipherInit_ex(aead->context, NULL, NULL, NULL, nonce, -1) == 1 &&
           EVP_CipherUpdate(aead->context, NULL, &ignored, head, (int)head_bytes) == 1;
}

bool tls_aead_cross(struct tls_aead *aead, uint8_t *to, const uint8_t *from, size_t count) {
    int done;
    if (aead->gcm) {
        tls_gcm_cross(aead->gcm, to, from, count);
        return true;
    }
    return count == 0 || EVP_CipherUpdate(aead->context, to, &done, from, (int)count) == 1;
}

bool tls_aead_seal(struct tls_aead *aead, uint8_t tag[TLS_TAG_BYTES]) {
    uint8_t none[TLS_TAG_BYTES];
    int ignored;
    if (aead->gcm) {
        tls_gcm_tag(aead->gcm, tag);
        return true;
    }
    return EVP_CipherFinal_ex(aead->context, none, &ignored) == 1 &&
           EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_GET_TAG, TLS_TAG_BYTES, tag) == 1;
}

bool tls_aead_verify(struct tls_aead *aead, const uint8_t tag[TLS_TAG_BYTES]) {
    uint8_t none[TLS_TAG_BYTES], expected[TLS_TAG_BYTES]; // the library takes no const pointer
    int ignored;
    if (aead->gcm) {
        tls_gcm_tag(aead->gcm, expected);
        return CRYPTO_memcmp(expected, tag, TLS_TAG_BYTES) == 0;
    }
    memcpy(expected, tag, sizeof expected);
    return EVP_CIPHER_CTX_ctrl(aead->context, EVP_CTRL_AEAD_SET_TAG, sizeof expected, expected) == 1 &&
           EVP_CipherFinal_ex(aead->context, none, &ignored) == 1;
}
