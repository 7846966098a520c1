// Where a NATS server is, as its users write it: nats:// or tls://[USER:PASSWORD@|TOKEN@]HOST:PORT.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

enum {
    NATS_URL_HOST_BYTES_MAX = 253,       // as names of hosts
    NATS_URL_CREDENTIAL_BYTES_MAX = 255, // of each part
};

struct nats_url {
    bool secure;                            // tls://
    bool is_v6;                             // the host stood in brackets, which are left out
    char host[NATS_URL_HOST_BYTES_MAX + 1]; // a name, or a numeric address, as it was written
    uint16_t port;                          // never 0
    // The credentials of the URL, %XX decoded. Empty: the URL has none.
    char user[NATS_URL_CREDENTIAL_BYTES_MAX + 1], password[NATS_URL_CREDENTIAL_BYTES_MAX + 1];
    char token[NATS_URL_CREDENTIAL_BYTES_MAX + 1];
};

enum nats_url_fault { NATS_URL_GOOD, NATS_URL_BAD_SCHEME, NATS_URL_BAD_CREDENTIAL, NATS_URL_BAD_PLACE };

// Reads one. Where it is none, what is in *out means nothing, and is no secret.
enum nats_url_fault nats_url_read(const char *text, size_t bytes, struct nats_url *out);
// Reads a URL without a scheme, [USER:PASSWORD@|TOKEN@]HOST:PORT, as one with this scheme.
enum nats_url_fault nats_url_read_as(const char *text, size_t bytes, bool secure, struct nats_url *out);
// Reads HOST:PORT alone and leaves the rest of *out as it is.
bool nats_url_place(const char *text, size_t bytes, struct nats_url *out);

// --- INFO

// The argument of INFO: what a NATS server says of itself. A peer that says something else is no NATS server.

struct nats_info {
    uint64_t payload_bytes_max;
    bool headers;
    bool tls_required, tls_available; // TLS must, or may, begin behind INFO
    bool lame_duck;                   // it will go soon
    struct span connect_urls;         // an array, of others in its cluster; bytes 0: it names none
    struct span nonce;                // a string; likewise
};

// False where it is no object, or one without a payload's bound.
bool nats_info_read(const uint8_t *text, struct span argument, struct nats_info *out);

// --- Credentials

// The hub's credentials at a NATS server, beyond a password: a key (an nkey: Ed25519) with which the hub signs the server's
// nonce, and a JWT where the server's operator has given one. `nsc` and `nk` write such a file:
//
//     -----BEGIN NATS USER JWT-----    eyJ0eXAiOi…    ------END NATS USER JWT------
//     -----BEGIN USER NKEY SEED-----   SUAIBDPB…      ------END USER NKEY SEED------, or that seed alone

enum {
    NATS_CREDS_FILE_BYTES_MAX = 16 * 1024,
    NATS_CREDS_JWT_BYTES_MAX = 8 * 1024,
    NKEY_SEED_BYTES = 32,
    NKEY_PUBLIC_BYTES = 56,    // as text
    NKEY_SIGNATURE_BYTES = 86, // as text
    NKEY_NONCE_BYTES_MAX = 256,
};

struct nats_creds {
    char jwt[NATS_CREDS_JWT_BYTES_MAX + 1]; // empty: there is none
    uint8_t seed[NKEY_SEED_BYTES];
};

// False where the text is none of these, or has another one's key than a user's; then nothing of it is kept.
bool nats_creds_read(const char *text, size_t bytes, struct nats_creds *out);
// Overwrites it.
void nats_creds_wipe(struct nats_creds *creds);

// Writes who has the key, as text without a zero byte. False without memory.
bool nats_creds_public(const struct nats_creds *creds, char out[NKEY_PUBLIC_BYTES]);
// Signs a nonce: base64url without filling. False likewise.
bool nats_creds_sign(const struct nats_creds *creds, const void *nonce, size_t bytes,
                     char out[NKEY_SIGNATURE_BYTES]);
