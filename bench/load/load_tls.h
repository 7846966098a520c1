// A load's connection over TLS: the library reads and writes memory, so that arrivals and sends are as of any other.
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;

// Goes on with what has shaken hands. False without memory.
bool load_tls_begin(SSL *ssl);
// Opens what has arrived, and appends it. False: nothing can be opened any more, or there is no memory.
bool load_tls_open(SSL *ssl, const uint8_t *arrived, size_t count, struct bytes *out);
// Seals, and appends it. False likewise.
bool load_tls_seal(SSL *ssl, const uint8_t *bytes, size_t count, struct bytes *out);
void load_tls_end(SSL *ssl);
