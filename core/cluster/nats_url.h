// Where a NATS server is, as its users write it: nats:// or tls://[USER:PASSWORD@|TOKEN@]HOST:PORT.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NATS_URL_HOST_BYTES_MAX = 253,       // as names of hosts
    NATS_URL_CREDENTIAL_BYTES_MAX = 255, // of each part
};

struct nats_url {
    bool secure;                            // tls://
    bool is_v6;                             // the host stood in brackets, which are left out
    char host[NATS_URL_HOST_BYTES_MAX + 1]; // a name, or a numeric address, as it was written
    uint16_t port;                          // never 0
    // What it asks to be shown, %XX decoded; empty: nothing.
    char user[NATS_URL_CREDENTIAL_BYTES_MAX + 1], password[NATS_URL_CREDENTIAL_BYTES_MAX + 1];
    char token[NATS_URL_CREDENTIAL_BYTES_MAX + 1];
};

enum nats_url_fault { NATS_URL_GOOD, NATS_URL_BAD_SCHEME, NATS_URL_BAD_CREDENTIAL, NATS_URL_BAD_PLACE };

// Reads one. Where it is none, what is in *out means nothing, and is no secret.
enum nats_url_fault nats_url_read(const char *text, size_t bytes, struct nats_url *out);
// The same of what has no scheme, [USER:PASSWORD@|TOKEN@]HOST:PORT: with this one.
enum nats_url_fault nats_url_read_as(const char *text, size_t bytes, bool secure, struct nats_url *out);
// The same of HOST:PORT alone, which leaves the rest of *out as it is.
bool nats_url_place(const char *text, size_t bytes, struct nats_url *out);
