#include "core/cluster/nats_url.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <string.h>

enum { PORT_MAX = 65535 };

// --- Credentials

// 16: it is none.
static unsigned digit_of(char letter) {
    if (letter >= '0' && letter <= '9')
        return (unsigned)(letter - '0');
    letter = (char)(letter | 0x20);
    return letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10 : 16;
}

// A byte that stands for something else in a URL may be written as %XX.
static bool decode(const char *text, size_t bytes, char out[NATS_URL_CREDENTIAL_BYTES_MAX + 1]) {
    size_t to = 0;
    for (size_t at = 0; at < bytes; at++) {
        char letter = text[at];
        if (to == NATS_URL_CREDENTIAL_BYTES_MAX)
            return false;
        if (letter == '%') {
            unsigned high = bytes - at > 2 ? digit_of(text[at + 1]) : 16;
            unsigned low = high < 16 ? digit_of(text[at + 2]) : 16;
            letter = (char)(high << 4 | low);
            if (low > 15)
                return false;
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

// USER:PASSWORD, or a token.
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

static bool is_of_v6(char letter) {
    return digit_of(letter) < 16 || letter == ':' || letter == '.';
}

static bool read_port(const char *text, size_t bytes, uint16_t *out) {
    uint32_t port = 0;
    if (bytes == 0 || bytes > 5)
        return false;
    for (size_t at = 0; at < bytes; at++) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        port = port * 10 + (uint32_t)(text[at] - '0');
    }
    *out = (uint16_t)port;
    return port > 0 && port <= PORT_MAX;
}

bool nats_url_place(const char *text, size_t bytes, struct nats_url *out) {
    assert(text || bytes == 0);
    bool bracketed = bytes > 0 && text[0] == '[';
    const char *begin = text + bracketed, *end = memchr(text, bracketed ? ']' : ':', bytes);
    size_t count = end ? (size_t)(end - begin) : 0, behind = count + 2 * bracketed;
    if (count == 0 || count > NATS_URL_HOST_BYTES_MAX || behind == bytes || text[behind] != ':')
        return false;
    for (size_t at = 0; at < count; at++)
        if (!(bracketed ? is_of_v6(begin[at]) : is_of_name(begin[at])))
            return false;
    if (!read_port(text + behind + 1, bytes - behind - 1, &out->port))
        return false;
    assert(count < sizeof out->host);
    memcpy(out->host, begin, count);
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

// What stands behind the scheme.
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
