// Where a NATS server is, as its users write it: nats:// or tls://[USER:PASSWORD@|TOKEN@]HOST:PORT.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    URL_HOST_BYTES_MAX = 253,       // as names of hosts
    URL_CREDENTIAL_BYTES_MAX = 255, // of each part
};

struct server_url {
    bool secure;                       // tls://
    bool is_v6;                        // the host stood in brackets, which are left out
    char host[URL_HOST_BYTES_MAX + 1]; // a name, or a numeric address, as it was written
    uint16_t port;                     // never 0
    // What it asks to be shown, %XX decoded; empty: nothing.
    char user[URL_CREDENTIAL_BYTES_MAX + 1], password[URL_CREDENTIAL_BYTES_MAX + 1];
    char token[URL_CREDENTIAL_BYTES_MAX + 1];
};

enum url_fault { URL_GOOD, URL_BAD_SCHEME, URL_BAD_CREDENTIAL, URL_BAD_PLACE };

// Reads one. Where it is none, what is in *out means nothing, and is no secret.
enum url_fault server_url_read(const char *text, size_t bytes, struct server_url *out);
// The same of what has no scheme, [USER:PASSWORD@|TOKEN@]HOST:PORT: with this one.
enum url_fault server_url_read_as(const char *text, size_t bytes, bool secure, struct server_url *out);
// The same of HOST:PORT alone, which leaves the rest of *out as it is.
bool server_url_place(const char *text, size_t bytes, struct server_url *out);
