// AES-GCM by Intel's multi-buffer library (libipsec-mb, its direct functions). The library uses the processor's wide
// AES, and takes a third of OpenSSL 3.0's time for a small record. OpenSSL is used in three cases: the hub was built
// without the library, the processor has no AES, or the library's self-test fails.
//
// Only for io/tls_records.c and its tests.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tls_gcm;

// Finds out whether the library is usable. Must be called once, before there are threads; tls_gcm_is_there is false
// before.
void tls_gcm_begin(void);
// Makes tls_gcm_is_there false from here on, for tests. Existing states stay usable.
void tls_gcm_end(void);
bool tls_gcm_is_there(void);

// Makes a state for keys of 16 or 32 bytes. Returns NULL without memory.
struct tls_gcm *tls_gcm_create(size_t key_bytes, bool seals);
// Wipes and frees a state. NULL is allowed.
void tls_gcm_destroy(struct tls_gcm *gcm);
void tls_gcm_set_key(struct tls_gcm *gcm, const uint8_t *key);

// --- As the functions of tls_records.h, but these can't fail.

void tls_gcm_begin_record(struct tls_gcm *gcm, const uint8_t *nonce, const uint8_t *head, size_t head_bytes);
void tls_gcm_cross(struct tls_gcm *gcm, uint8_t *to, const uint8_t *from, size_t count);
// Writes the 16-byte tag of the bytes so far.
void tls_gcm_tag(struct tls_gcm *gcm, uint8_t *tag);
