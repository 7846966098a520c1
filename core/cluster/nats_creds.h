// What shows a NATS server who the hub is, beyond a password: a key (an nkey: Ed25519), with which it signs the server's nonce, and
// a JWT where the server's operator has given one. In a file as `nsc` and `nk` write it:
//
//     -----BEGIN NATS USER JWT-----          SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4
//     eyJ0eXAiOi…
//     ------END NATS USER JWT------          or this alone: the seed of a key that the server's own configuration
//     …                                      names
//     -----BEGIN USER NKEY SEED-----
//     SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4
//     ------END USER NKEY SEED------
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
