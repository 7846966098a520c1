// Fuzzes the reading of a NATS server's address, and of a file that shows it who the hub is. A text is read
// wholly or not at all. Nothing is kept of a refused one. A value that is read is within its bounds, and
// written again means the same.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster/nats_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

static bool is_empty(const void *memory, size_t bytes) {
    const char *at = memory;
    while (bytes && !*at) {
        at++;
        bytes--;
    }
    return bytes == 0;
}

// Each byte as %XX, which may stand for any.
static size_t encode(char *out, const char *text) {
    size_t at = 0;
    for (; *text; text++)
        at += (size_t)sprintf(out + at, "%%%02X", (unsigned char)*text);
    return at;
}

static void write_again(const struct nats_url *url) {
    char text[3 * sizeof *url];
    struct nats_url again;
    size_t at = (size_t)sprintf(text, "%s://", url->secure ? "tls" : "nats");
    if (url->token[0]) {
        at += encode(text + at, url->token);
    } else if (url->user[0]) {
        at += encode(text + at, url->user);
        text[at++] = ':';
        at += encode(text + at, url->password);
    }
    if (url->token[0] || url->user[0])
        text[at++] = '@';
    at += (size_t)sprintf(text + at, url->is_v6 ? "[%s]:%u" : "%s:%u", url->host, url->port);
    require(nats_url_read(text, at, &again) == NATS_URL_GOOD);
    require(memcmp(&again, url, sizeof again) == 0);
}

static void read_url(const char *text, size_t bytes) {
    struct nats_url url;
    enum nats_url_fault fault = nats_url_read(text, bytes, &url);
    if (fault) {
        require(is_empty(&url, sizeof url));
        return;
    }
    require(url.port > 0 && url.host[0] && !url.user[0] == !url.password[0]);
    require(!url.user[0] || !url.token[0]);
    write_again(&url);
}

static void read_creds(const char *text, size_t bytes) {
    struct nats_creds creds;
    char key[NKEY_PUBLIC_BYTES], signature[NKEY_SIGNATURE_BYTES];
    if (!nats_creds_read(text, bytes, &creds)) {
        require(is_empty(&creds, sizeof creds));
        return;
    }
    require(strlen(creds.jwt) <= NATS_CREDS_JWT_BYTES_MAX && strlen(creds.jwt) <= bytes);
    require(nats_creds_public(&creds, key) && key[0] == 'U' &&
            nats_creds_sign(&creds, text, bytes, signature));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size ? size : 1); // of just that size, so that a read past it is seen
    require(text != NULL);
    memcpy(text, data, size);
    read_url(text, size);
    read_creds(text, size);
    free(text);
    return 0;
}
