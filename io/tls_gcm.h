// AES-GCM by Intel's multi-buffer library (libipsec-mb, its direct functions), which uses the processor's
// wide AES, and costs a third of OpenSSL 3.0's time a small record. OpenSSL does it all in three cases: the
// hub was built without the library, the processor has no AES of its own, or the library finds itself at
// fault.
//
// Known to io/tls_records.c and its tests.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tls_gcm;

// Finds out, once, before there are threads. Until then there is none.
void tls_gcm_begin(void);
// There is none from here on, for tests; who has one keeps it.
void tls_gcm_end(void);
bool tls_gcm_is_there(void);

// For keys of 16 or 32 bytes. NULL: without memory.
struct tls_gcm *tls_gcm_create(size_t key_bytes, bool seals);
// Wipes it. NULL is fine.
void tls_gcm_destroy(struct tls_gcm *gcm);
void tls_gcm_set_key(struct tls_gcm *gcm, const uint8_t *key);

// --- As the functions of tls_records.h; these don't give up.

void tls_gcm_begin_record(struct tls_gcm *gcm, const uint8_t *nonce, const uint8_t *head, size_t head_bytes);
void tls_gcm_cross(struct tls_gcm *gcm, uint8_t *to, const uint8_t *from, size_t count);
// The tag of what has gone across, of 16 bytes.
void tls_gcm_tag(struct tls_gcm *gcm, uint8_t *tag);
