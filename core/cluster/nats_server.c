#include "core/cluster/nats_server.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "core/wire/http_request.h"

// --- Credentials

// Decodes a credential in a URL: %XX stands for a byte. Returns false if the text is empty, too long or malformed.
static bool decode(const char *text, size_t bytes, char out[NATS_URL_CREDENTIAL_BYTES_MAX + 1]) {
    size_t to = 0;
    for (size_t at = 0; at < bytes; at++) {
        char letter = text[at];
        if (to == NATS_URL_CREDENTIAL_BYTES_MAX)
            return false;
        if (letter == '%') {
            int high = bytes - at > 2 ? OPENSSL_hexchar2int((unsigned char)text[at + 1]) : -1;
            int low = high >= 0 ? OPENSSL_hexchar2int((unsigned char)text[at + 2]) : -1;
            if (low < 0)
                return false;
            letter = (char)(high * 16 + low);
            at += 2;
        }
        if (letter == '\0')
            return false;
        out[to++] = letter;
    }
    assert(to <= NATS_URL_CREDENTIAL_BYTES_MAX);
    out[to] = '\0';
    return to > 0;
}

// Reads USER:PASSWORD, or a token.
static bool read_credential(const char *text, size_t bytes, struct nats_url *out) {
    const char *colon = memchr(text, ':', bytes);
    if (!colon)
        return decode(text, bytes, out->token);
    size_t user_bytes = (size_t)(colon - text);
    return decode(text, user_bytes, out->user) && decode(colon + 1, bytes - user_bytes - 1, out->password);
}

// --- Places

static bool is_of_name(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_';
}

bool nats_url_place(const char *text, size_t bytes, struct nats_url *out) {
    struct http_authority place;
    struct span all = {0, bytes < UINT32_MAX ? (uint32_t)bytes : 0};
    if (!http_authority_read((const uint8_t *)text, all, &place) || place.port == 0)
        return false;
    bool bracketed = text[0] == '[';
    const char *host = text + bracketed;
    size_t count = place.host.bytes - (bracketed ? 2 : 0);
    for (size_t at = 0; at < count && !bracketed; at++)
        if (!is_of_name(host[at]))
            return false;
    if (count > NATS_URL_HOST_BYTES_MAX)
        return false;
    out->port = (uint16_t)place.port;
    memcpy(out->host, host, count);
    out->host[count] = '\0';
    out->is_v6 = bracketed;
    return true;
}

// --- All

static bool take_scheme(const char **text, size_t *bytes, const char *scheme) {
    size_t count = strlen(scheme);
    if (*bytes < count || memcmp(*text, scheme, count) != 0)
        return false;
    *text += count;
    *bytes -= count;
    return true;
}

// Reads the URL after its scheme.
static enum nats_url_fault read_rest(const char *text, size_t bytes, struct nats_url *out) {
    const char *at = memrchr(text, '@', bytes);
    size_t before = at ? (size_t)(at - text) : 0;
    enum nats_url_fault fault =
        at && !read_credential(text, before, out) ? NATS_URL_BAD_CREDENTIAL : NATS_URL_GOOD;
    size_t taken = at ? before + 1 : 0;
    assert(taken <= bytes);
    if (!fault && !nats_url_place(text + taken, bytes - taken, out))
        fault = NATS_URL_BAD_PLACE;
    if (fault)
        OPENSSL_cleanse(out, sizeof *out);
    return fault;
}

enum nats_url_fault nats_url_read(const char *text, size_t bytes, struct nats_url *out) {
    *out = (struct nats_url){0};
    out->secure = take_scheme(&text, &bytes, "tls://");
    if (!out->secure && !take_scheme(&text, &bytes, "nats://"))
        return NATS_URL_BAD_SCHEME;
    return read_rest(text, bytes, out);
}

enum nats_url_fault nats_url_read_as(const char *text, size_t bytes, bool secure, struct nats_url *out) {
    *out = (struct nats_url){.secure = secure};
    return read_rest(text, bytes, out);
}

// --- INFO

bool nats_info_read(const uint8_t *text, struct span argument, struct nats_info *out) {
    *out = (struct nats_info){0};
    assert(text || argument.bytes == 0);
    if (argument.bytes < 2 || text[argument.at] != '{' || !json_valid(text + argument.at, argument.bytes))
        return false;
    struct json_item urls = json_member(text, argument, "connect_urls"),
                     nonce = json_member(text, argument, "nonce");
    out->payload_bytes_max = json_member_whole(text, argument, "max_payload");
    out->headers = json_member_true(text, argument, "headers");
    out->tls_required = json_member_true(text, argument, "tls_required");
    out->tls_available = json_member_true(text, argument, "tls_available");
    out->lame_duck = json_member_true(text, argument, "ldm");
    out->connect_urls = urls.type == JSON_ARRAY ? urls.value : (struct span){0, 0};
    out->nonce = nonce.type == JSON_STRING ? nonce.value : (struct span){0, 0};
    return out->payload_bytes_max > 0;
}

// --- Credentials

enum {
    PREFIX_SEED = 18 << 3, // "S"
    PREFIX_USER = 20 << 3, // "U"
    CRC_BYTES = 2,
    SEED_RAW_BYTES = 2 + NKEY_SEED_BYTES + CRC_BYTES,
    SEED_TEXT_BYTES = (SEED_RAW_BYTES * 8 + 4) / 5,
    PUBLIC_RAW_BYTES = 1 + 32 + CRC_BYTES,
    SIGNATURE_RAW_BYTES = 64,
};

// --- Keys as text: base32 (RFC 4648) without padding, with a CRC-16 (XMODEM) at the end

static uint16_t crc_of(const uint8_t *bytes, size_t count) {
    uint16_t crc = 0;
    for (size_t at = 0; at < count; at++) {
        crc ^= (uint16_t)(bytes[at] << 8);
        for (unsigned bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

// Returns the digit's value; 32: not a digit.
static unsigned base32_digit(char letter) {
    return letter >= 'A' && letter <= 'Z'   ? (unsigned)(letter - 'A')
           : letter >= '2' && letter <= '7' ? (unsigned)(letter - '2') + 26
                                            : 32;
}

static bool decode_seed(const char *text, size_t bytes, uint8_t out[SEED_RAW_BYTES]) {
    uint32_t bits = 0, count = 0;
    size_t to = 0;
    if (bytes != SEED_TEXT_BYTES)
        return false;
    for (size_t at = 0; at < bytes; at++) {
        unsigned digit = base32_digit(text[at]);
        if (digit > 31)
            return false;
        bits = (bits & 0xff) << 5 | digit;
        count += 5;
        if (count >= 8 && to < SEED_RAW_BYTES)
            out[to++] = (uint8_t)(bits >> (count -= 8));
    }
    assert(to == SEED_RAW_BYTES);
    return (bits & ((1u << count) - 1)) == 0;
}

static bool read_seed(const char *text, size_t bytes, struct nats_creds *out) {
    uint8_t raw[SEED_RAW_BYTES];
    bool good = decode_seed(text, bytes, raw);
    uint16_t crc = good ? crc_of(raw, SEED_RAW_BYTES - CRC_BYTES) : 0;
    good = good && raw[SEED_RAW_BYTES - 2] == (crc & 0xff) && raw[SEED_RAW_BYTES - 1] == crc >> 8;
    good = good && (raw[0] & 0xf8) == PREFIX_SEED && ((raw[0] & 7) << 5 | raw[1] >> 3) == PREFIX_USER;
    if (good)
        memcpy(out->seed, raw + 2, NKEY_SEED_BYTES);
    OPENSSL_cleanse(raw, sizeof raw);
    return good;
}

// --- Files

struct line {
    const char *text;
    size_t bytes;
};

// Finds the next line that isn't blank, and trims its blanks.
static bool next_line(const char *text, size_t bytes, size_t *at, struct line *out) {
    while (*at < bytes) {
        const char *begin = text + *at, *end = memchr(begin, '\n', bytes - *at);
        size_t count = end ? (size_t)(end - begin) : bytes - *at;
        *at += count + (end != NULL);
        for (; count && (*begin == ' ' || *begin == '\t'); count--)
            begin++;
        while (count && (begin[count - 1] == ' ' || begin[count - 1] == '\t' || begin[count - 1] == '\r'))
            count--;
        assert(*at <= bytes);
        *out = (struct line){begin, count};
        if (count)
            return true;
    }
    return false;
}

static bool is_border(const struct line *line, const char *word) {
    return line->bytes >= 3 && memcmp(line->text, "---", 3) == 0 &&
           memmem(line->text, line->bytes, word, strlen(word));
}

static bool is_jwt(const struct line *line) {
    for (size_t at = 0; at < line->bytes; at++)
        if (!is_of_name(line->text[at]) && line->text[at] != '=')
            return false;
    return line->bytes <= NATS_CREDS_JWT_BYTES_MAX;
}

// Reads the line between two borders. A second part of the same kind is a fault.
static bool read_part(const struct line *border, const struct line *line, struct nats_creds *out,
                      bool *has_seed) {
    if (is_border(border, "SEED")) {
        bool good = !*has_seed && read_seed(line->text, line->bytes, out);
        *has_seed = true;
        return good;
    }
    if (!is_border(border, "JWT"))
        return true;
    if (out->jwt[0] || !is_jwt(line))
        return false;
    assert(line->bytes < sizeof out->jwt);
    memcpy(out->jwt, line->text, line->bytes);
    return true;
}

static bool read_parts(const char *text, size_t bytes, struct nats_creds *out) {
    struct line line, value, end;
    bool has_seed = false;
    for (size_t at = 0; next_line(text, bytes, &at, &line);) {
        if (!is_border(&line, "BEGIN"))
            continue;
        if (!next_line(text, bytes, &at, &value) || !next_line(text, bytes, &at, &end) ||
            !is_border(&end, "END") || !read_part(&line, &value, out, &has_seed))
            return false;
    }
    return has_seed;
}

bool nats_creds_read(const char *text, size_t bytes, struct nats_creds *out) {
    struct line line = {NULL, 0};
    size_t at = 0;
    *out = (struct nats_creds){.jwt = ""};
    assert(text || bytes == 0);
    bool good = bytes <= NATS_CREDS_FILE_BYTES_MAX && next_line(text, bytes, &at, &line);
    if (good && *line.text == 'S')
        good = read_seed(line.text, line.bytes, out) && !next_line(text, bytes, &at, &line);
    else
        good = good && read_parts(text, bytes, out);
    if (!good)
        nats_creds_wipe(out);
    return good;
}

void nats_creds_wipe(struct nats_creds *creds) {
    OPENSSL_cleanse(creds, sizeof *creds);
}

// --- The key

static EVP_PKEY *key_of(const struct nats_creds *creds) {
    // Without this flag OpenSSL would read a configuration file.
    return OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL)
               ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, creds->seed, NKEY_SEED_BYTES)
               : NULL;
}

bool nats_creds_public(const struct nats_creds *creds, char out[NKEY_PUBLIC_BYTES]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    static_assert(PUBLIC_RAW_BYTES * 8 == NKEY_PUBLIC_BYTES * 5, "five bits a digit");
    uint8_t raw[PUBLIC_RAW_BYTES] = {PREFIX_USER};
    size_t count = PUBLIC_RAW_BYTES - 1 - CRC_BYTES;
    EVP_PKEY *key = key_of(creds);
    bool good = key && EVP_PKEY_get_raw_public_key(key, raw + 1, &count) == 1;
    EVP_PKEY_free(key);
    uint16_t crc = crc_of(raw, PUBLIC_RAW_BYTES - CRC_BYTES);
    raw[PUBLIC_RAW_BYTES - 2] = (uint8_t)(crc & 0xff);
    raw[PUBLIC_RAW_BYTES - 1] = (uint8_t)(crc >> 8);
    for (size_t at = 0; at < NKEY_PUBLIC_BYTES; at++) {
        size_t bit = at * 5, byte = bit / 8;
        unsigned two = (unsigned)raw[byte] << 8 | (byte + 1 < PUBLIC_RAW_BYTES ? raw[byte + 1] : 0u);
        out[at] = digits[two >> (11 - bit % 8) & 31];
    }
    return good;
}

bool nats_creds_sign(const struct nats_creds *creds, const void *nonce, size_t bytes,
                     char out[NKEY_SIGNATURE_BYTES]) {
    uint8_t raw[SIGNATURE_RAW_BYTES];
    char text[4 * (SIGNATURE_RAW_BYTES + 2) / 3 + 1];
    size_t count = sizeof raw;
    EVP_PKEY *key = key_of(creds);
    EVP_MD_CTX *context = key ? EVP_MD_CTX_new() : NULL;
    bool good = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
                EVP_DigestSign(context, raw, &count, nonce, bytes) == 1 && count == sizeof raw;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    if (!good)
        return false;
    EVP_EncodeBlock((unsigned char *)text, raw, SIGNATURE_RAW_BYTES);
    for (size_t at = 0; at < NKEY_SIGNATURE_BYTES; at++)
        out[at] = text[at] == '+' ? '-' : text[at] == '/' ? '_' : text[at];
    return true;
}
