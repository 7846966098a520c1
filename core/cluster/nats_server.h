// The address of a NATS server in NATS' usual form: nats:// or tls://[USER:PASSWORD@|TOKEN@]HOST:PORT.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

enum {
    NATS_URL_HOST_BYTES_MAX = 253,       // the bound of host names
    NATS_URL_CREDENTIAL_BYTES_MAX = 255, // bound of user, password and token
};

struct nats_url {
    bool secure;                            // tls://
    bool is_v6;                             // the host was in brackets, which are left out
    char host[NATS_URL_HOST_BYTES_MAX + 1]; // a name or a numeric address, as in the URL
    uint16_t port;                          // never 0
    // The credentials of the URL, %XX decoded. Empty: the URL has none.
    char user[NATS_URL_CREDENTIAL_BYTES_MAX + 1], password[NATS_URL_CREDENTIAL_BYTES_MAX + 1];
    char token[NATS_URL_CREDENTIAL_BYTES_MAX + 1];
};

enum nats_url_fault { NATS_URL_GOOD, NATS_URL_BAD_SCHEME, NATS_URL_BAD_CREDENTIAL, NATS_URL_BAD_PLACE };

// Reads a URL. After a fault *out must not be used, and contains no secret.
enum nats_url_fault nats_url_read(const char *text, size_t bytes, struct nats_url *out);
// Reads a URL without a scheme, [USER:PASSWORD@|TOKEN@]HOST:PORT, as if with tls:// (`secure`) or nats://.
enum nats_url_fault nats_url_read_as(const char *text, size_t bytes, bool secure, struct nats_url *out);
// Reads HOST:PORT, and leaves the other fields of *out as they are.
bool nats_url_place(const char *text, size_t bytes, struct nats_url *out);

// --- INFO

// The argument of INFO: a NATS server's description of itself. A peer that sends another first message isn't a NATS
// server.

struct nats_info {
    uint64_t payload_bytes_max;
    bool headers;
    bool tls_required, tls_available; // TLS must, or may, begin after INFO
    bool lame_duck;                   // the server will shut down soon
    struct span connect_urls;         // an array of other servers of its cluster; bytes 0: none
    struct span nonce;                // a string; bytes 0: none
};

// Reads the argument. Returns false if the argument isn't an object, or has no max_payload.
bool nats_info_read(const uint8_t *text, struct span argument, struct nats_info *out);

// --- Credentials

// The hub's credentials at a NATS server, besides a password: a key (an nkey: Ed25519) with which the hub signs the
// server's nonce, and perhaps a JWT from the server's operator. `nsc` and `nk` write such a file:
//
//     -----BEGIN NATS USER JWT-----    eyJ0eXAiOi…    ------END NATS USER JWT------
//     -----BEGIN USER NKEY SEED-----   SUAIBDPB…      ------END USER NKEY SEED------, or that seed alone

enum {
    NATS_CREDS_FILE_BYTES_MAX = 16 * 1024,
    NATS_CREDS_JWT_BYTES_MAX = 8 * 1024,
    NKEY_SEED_BYTES = 32,
    NKEY_PUBLIC_BYTES = 56,    // of the text
    NKEY_SIGNATURE_BYTES = 86, // of the text
    NKEY_NONCE_BYTES_MAX = 256,
};

struct nats_creds {
    char jwt[NATS_CREDS_JWT_BYTES_MAX + 1]; // empty: no JWT
    uint8_t seed[NKEY_SEED_BYTES];
};

// Reads the text of such a file. Returns false, with *out wiped, if the text has another form, or a key that isn't a
// user's.
bool nats_creds_read(const char *text, size_t bytes, struct nats_creds *out);
// Overwrites the credentials.
void nats_creds_wipe(struct nats_creds *creds);

// Writes the public key as text without a terminating zero. Returns false without memory.
bool nats_creds_public(const struct nats_creds *creds, char out[NKEY_PUBLIC_BYTES]);
// Writes the signature of a nonce in base64url without padding. Returns false without memory.
bool nats_creds_sign(const struct nats_creds *creds, const void *nonce, size_t bytes,
                     char out[NKEY_SIGNATURE_BYTES]);
