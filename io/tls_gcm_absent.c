// For a hub that is built without libipsec-mb.
#include <stdlib.h>

#include "io/tls_gcm.h"

void tls_gcm_begin(void) {}

void tls_gcm_end(void) {}

bool tls_gcm_is_there(void) {
    return false;
}

struct tls_gcm *tls_gcm_create(size_t key_bytes, bool seals) {
    (void)key_bytes, (void)seals;
    return NULL;
}

void tls_gcm_destroy(struct tls_gcm *gcm) {
    (void)gcm;
}

void tls_gcm_set_key(struct tls_gcm *gcm, const uint8_t *key) {
    (void)gcm, (void)key;
    abort();
}

void tls_gcm_begin_record(struct tls_gcm *gcm, const uint8_t *nonce, const uint8_t *head, size_t head_bytes) {
    (void)gcm, (void)nonce, (void)head, (void)head_bytes;
    abort();
}

void tls_gcm_cross(struct tls_gcm *gcm, uint8_t *to, const uint8_t *from, size_t count) {
    (void)gcm, (void)to, (void)from, (void)count;
    abort();
}

void tls_gcm_tag(struct tls_gcm *gcm, uint8_t *tag) {
    (void)gcm, (void)tag;
    abort();
}
