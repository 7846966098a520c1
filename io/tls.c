// One connection's TLS. The library reads arrivals and says its records through a BIO that has no buffer of
// its own. Its memory counts for the connection. After the handshake of 1.3 the library has done its part.
// The records are opened and sealed by tls_records.c, with the secrets that the library logs, as it does for
// debuggers.
//
// Success: a handshake, then records; nothing is kept between arrivals but a record's beginning. Failure: the
// library says so to the peer by an alert. A peer that doesn't speak TLS at all gets an alert that is made
// here, since the library says nothing to such a peer.
#include "io/tls.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"
#include "io/tls_context.h"
#include "io/tls_gcm.h"
#include "io/tls_names.h"
#include "io/tls_records.h"

enum { CONNECTION_BYTES_MAX = 512 * 1024 }; // of the library's memory, for one

struct tls {
    struct secure secure;
    SSL *ssl; // NULL: nothing has come yet, or it isn't needed any more
    struct secure_input *input;
    bool spoke; // something was said
    struct tls_secret client,
        server;      // of the two directions, once they are agreed on; wiped when `records` has them
    uint64_t sealed; // under the latter
    struct tls_records *records; // from the handshake's end on; NULL: the library goes on
    X509 *certificate;           // the peer's, verified; or NULL
    STACK_OF(X509) * behind;     // it, as it was shown; or NULL
};

// --- Memory

static _Thread_local int64_t *account; // whose the memory is; NULL: nobody's

static void *tls_take(size_t bytes, const char *file, int line) {
    (void)file, (void)line;
    void *memory = account && *account > CONNECTION_BYTES_MAX ? NULL : memory_take(bytes);
    if (account && memory)
        *account += (int64_t)memory_bytes(memory);
    return memory;
}

static void tls_give(void *memory, const char *file, int line) {
    (void)file, (void)line;
    if (account && memory)
        *account -= (int64_t)memory_bytes(memory);
    memory_give(memory);
}

static void *tls_resize(void *memory, size_t bytes, const char *file, int line) {
    if (!memory)
        return tls_take(bytes, file, line);
    if (bytes == 0) {
        tls_give(memory, file, line);
        return NULL;
    }
    int64_t before = account ? (int64_t)memory_bytes(memory) : 0;
    void *resized = memory_resize(memory, bytes);
    if (account && resized)
        *account += (int64_t)memory_bytes(resized) - before;
    return resized;
}

// --- The library's reads and writes

static struct tls *tls_of(struct secure *secure) {
    return (struct tls *)secure;
}

static int read_input(BIO *bio, char *out, int room) {
    struct tls *tls = BIO_get_data(bio);
    size_t count = tls->input ? tls->input->count : 0;
    BIO_clear_retry_flags(bio);
    if (count == 0 || room <= 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (count > (size_t)room)
        count = (size_t)room;
    memcpy(out, tls->input->bytes, count);
    tls->input->bytes += count;
    tls->input->count -= count;
    return (int)count;
}

static int write_said(BIO *bio, const char *bytes, int count) {
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (count > 0)
        secure_say(&tls->secure, bytes, (size_t)count);
    tls->spoke = true;
    return count;
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

// --- The library's reports of the handshake

static int nibble(char digit) {
    return digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10;
}

// NSS's key log: `LABEL CLIENT_RANDOM SECRET`, in hexadecimal.
static void note_secret(const SSL *ssl, const char *line) {
    static const char client[] = "CLIENT_TRAFFIC_SECRET_0 ", server[] = "SERVER_TRAFFIC_SECRET_0 ";
    struct tls *tls = SSL_get_ex_data(ssl, 0);
    struct tls_secret *secret = strncmp(line, client, sizeof client - 1) == 0   ? &tls->client
                                : strncmp(line, server, sizeof server - 1) == 0 ? &tls->server
                                                                                : NULL;
    if (!secret)
        return;
    const char *digits = strrchr(line, ' ') + 1;
    size_t count = strlen(digits) / 2;
    for (size_t at = 0; at < count && at < sizeof secret->bytes; at++)
        secret->bytes[at] = (uint8_t)(nibble(digits[2 * at]) << 4 | nibble(digits[2 * at + 1]));
    secret->count = count <= sizeof secret->bytes ? (uint8_t)count : 0;
}

// Tickets are sealed with what comes after the handshake.
static void note_record(int written, int version, int type, const void *bytes, size_t count, SSL *ssl,
                        void *context) {
    struct tls *tls = context;
    (void)version, (void)bytes, (void)count, (void)ssl;
    tls->sealed += written && type == SSL3_RT_HEADER && tls->server.count > 0;
}

// --- The library's side of a connection

static BIO_METHOD *method;

// The library's own number for a kind of BIO; nothing tells it from the others.
static bool make_method(void) {
    method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "patchbay");
    return method && BIO_meth_set_read(method, read_input) && BIO_meth_set_write(method, write_said) &&
           BIO_meth_set_ctrl(method, control);
}

static struct secure *tls_make(struct secure_source *source) {
    (void)source;
    struct tls *tls = memory_take_zeroed(1, sizeof *tls);
    return tls ? &tls->secure : NULL;
}

// Connections that never say anything cost next to nothing.
static bool tls_start(struct tls *tls) {
    SSL *ssl = SSL_new(tls_context_of(tls->secure.source));
    BIO *bio = ssl ? BIO_new(method) : NULL;
    if (!bio) {
        SSL_free(ssl);
        return false;
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    tls->ssl = ssl;
    if (tls->secure.server)
        return tls_context_dial(ssl, tls->secure.server);
    SSL_set_accept_state(ssl);
    SSL_set_msg_callback(ssl, note_record);
    SSL_set_msg_callback_arg(ssl, tls);
    return SSL_set_ex_data(ssl, 0, tls) == 1;
}

// --- The cipher

// A fatal alert, for who doesn't speak TLS: unexpected_message.
static void object(struct tls *tls) {
    static const uint8_t alert[] = {21, 3, 1, 0, 2, 2, 10};
    if (!tls->spoke)
        secure_say(&tls->secure, alert, sizeof alert);
}

// Notes the fault of a certificate that doesn't verify; else the library's reason.
static void note_why(struct tls *tls) {
    long verified = SSL_get_verify_result(tls->ssl);
    tls->secure.why = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
                                            : ERR_reason_error_string(ERR_peek_error());
}

static enum secure_result judge(struct tls *tls, int result) {
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return SECURE_MORE;
    case SSL_ERROR_ZERO_RETURN:
        return SECURE_END;
    default:
        note_why(tls);
        if (!tls->secure.established)
            object(tls);
        return SECURE_BROKEN;
    }
}

// From here on the library isn't needed any more, where it is 1.3 that is spoken. (Of a connection that was dialled no secret is noted:
// what servers send behind the handshake, as tickets, is the library's.)
static bool take_over(struct tls *tls) {
    tls->records =
        tls_records_create(&tls->client, &tls->server, SSL_get_current_cipher(tls->ssl), tls->sealed);
    OPENSSL_cleanse(&tls->client, sizeof tls->client);
    OPENSSL_cleanse(&tls->server, sizeof tls->server);
    SSL_free(tls->ssl);
    tls->ssl = NULL;
    return tls->records;
}

// Heeds the length that the client has asked for (RFC 6066, section 4). The library has agreed, and cuts its
// own records of 1.2 to it. Where the client asked for none, libraries say 0 or 255.
static void heed_length(struct tls *tls) {
    uint8_t length = SSL_SESSION_get_max_fragment_length(SSL_get_session(tls->ssl));
    if (length >= TLSEXT_max_fragment_length_512 && length <= TLSEXT_max_fragment_length_4096)
        tls->secure.record_bytes_max = 256U << length;
}

static enum secure_result shaken(struct tls *tls) {
    heed_length(tls);
    bool verified = SSL_get_verify_result(tls->ssl) == X509_V_OK;
    tls->certificate = verified ? SSL_get1_peer_certificate(tls->ssl) : NULL;
    STACK_OF(X509) *behind = tls->certificate ? SSL_get_peer_cert_chain(tls->ssl) : NULL;
    tls->behind = sk_X509_num(behind) > 0 ? X509_chain_up_ref(behind) : NULL;
    SSL_set_msg_callback(tls->ssl, NULL);
    bool agreed = tls->client.count > 0 && tls->server.count > 0 && !SSL_has_pending(tls->ssl);
    if (SSL_version(tls->ssl) != TLS1_3_VERSION || !agreed || take_over(tls))
        return SECURE_SHAKEN;
    tls->secure.out_of_memory = true;
    return SECURE_BROKEN;
}

static enum secure_result open_some(struct tls *tls, uint8_t *out, size_t room, size_t *count) {
    if (tls->records)
        return tls_records_open(tls->records, &tls->secure, tls->input, out, room, count);
    ERR_clear_error();
    if (!tls->ssl && !tls_start(tls)) {
        tls->secure.out_of_memory = true;
        return SECURE_BROKEN;
    }
    if (!tls->secure.established) {
        int result = SSL_do_handshake(tls->ssl);
        return result == 1 ? shaken(tls) : judge(tls, result);
    }
    int result = SSL_read_ex(tls->ssl, out, room, count);
    return result == 1 ? SECURE_BYTES : judge(tls, result);
}

static enum secure_result tls_open(struct secure *secure, struct secure_input *input, uint8_t *out,
                                   size_t room, size_t *count) {
    struct tls *tls = tls_of(secure);
    account = &secure->memory;
    tls->input = input;
    enum secure_result result = open_some(tls, out, room, count);
    tls->input = NULL;
    account = NULL;
    return result;
}

static bool seal_by_library(struct tls *tls, const struct iovec *parts, unsigned parts_count) {
    size_t count, written = 0;
    const uint8_t *bytes = secure_whole(&tls->secure, parts, parts_count, &count);
    ERR_clear_error();
    return SSL_write_ex(tls->ssl, bytes, count, &written) == 1 && written == count;
}

static bool tls_seal(struct secure *secure, const struct iovec *parts, unsigned count) {
    struct tls *tls = tls_of(secure);
    account = &secure->memory;
    bool sealed = tls->records ? tls_records_seal(tls->records, secure, parts, count)
                               : seal_by_library(tls, parts, count);
    account = NULL;
    return sealed;
}

static void tls_finish(struct secure *secure) {
    struct tls *tls = tls_of(secure);
    account = &secure->memory;
    ERR_clear_error();
    if (tls->records)
        tls_records_finish(tls->records, secure);
    else
        SSL_shutdown(tls->ssl);
    account = NULL;
}

static bool tls_certificate(const struct secure *secure, const struct secure_source *now, secure_visit *visit,
                            void *context) {
    const struct tls *tls = (const struct tls *)secure;
    return tls->certificate && tls_context_vouches(now, secure->source, tls->certificate, tls->behind) &&
           tls_names_visit(tls->certificate, visit, context);
}

static void tls_destroy(struct secure *secure) {
    struct tls *tls = tls_of(secure);
    tls_records_destroy(tls->records);
    SSL_free(tls->ssl);
    X509_free(tls->certificate);
    sk_X509_pop_free(tls->behind, X509_free);
    OPENSSL_cleanse(&tls->client, sizeof tls->client);
    OPENSSL_cleanse(&tls->server, sizeof tls->server);
    memory_give(tls);
}

static const struct cipher tls_cipher = {
    .make = tls_make,
    .open = tls_open,
    .seal = tls_seal,
    .finish = tls_finish,
    .certificate = tls_certificate,
    .destroy = tls_destroy,
    .destroy_source = tls_context_destroy,
};

// --- The library

void tls_begin(void) {
    CRYPTO_set_mem_functions(tls_take, tls_resize, tls_give);
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, NULL);
    tls_gcm_begin();
}

static bool is_ready(char *why, size_t capacity) {
    bool ready = method || make_method();
    if (!ready)
        snprintf(why, capacity, "memory is used up");
    return ready;
}

struct secure_source *tls_read_authorities(const char *path, char *why, size_t capacity) {
    return is_ready(why, capacity) ? tls_context_read_authorities(&tls_cipher, path, why, capacity) : NULL;
}

struct secure_source *tls_read(const struct tls_files *files, char *why, size_t capacity) {
    if (!is_ready(why, capacity))
        return NULL;
    struct secure_source *source = tls_context_read(&tls_cipher, files, why, capacity);
    if (source)
        SSL_CTX_set_keylog_callback(tls_context_of(source), note_secret);
    return source;
}
