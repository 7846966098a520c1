#include "io/tls_gcm.h"

#include <assert.h>
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#include <stdalign.h>

enum { KEY_BYTES_LONG = 32, TAG_BYTES = 16 };

// The library's functions for one key length.
struct suite {
    aes_gcm_pre_t set_key;
    aes_gcm_init_t begin;
    aes_gcm_enc_dec_update_t seal, open;
    aes_gcm_enc_dec_finalize_t seal_end, open_end;
};

struct tls_gcm {
    struct gcm_key_data key;
    struct gcm_context_data context;
    const struct suite *suite;
    aes_gcm_enc_dec_update_t cross;
    aes_gcm_enc_dec_finalize_t end;
    void *memory; // the allocation that has this struct
};

static struct suite suites[2]; // for keys of 16 bytes, and of 32
static bool is_there;

// Returns whether the processor has AES and carry-less multiplication, and the library's self-tests have passed.
static bool is_usable(const IMB_MGR *library) {
    const uint64_t wanted = IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ | IMB_FEATURE_SELF_TEST_PASS;
    return (library->features & wanted) == wanted;
}

// Stores the functions that the library chooses for this processor. The functions need no manager, which is for jobs.
void tls_gcm_begin(void) {
    IMB_MGR *library = alloc_mb_mgr(0);
    if (!library)
        return;
    init_mb_mgr_auto(library, NULL);
    is_there = is_usable(library);
    suites[0] = (struct suite){library->gcm128_pre,          library->gcm128_init,
                               library->gcm128_enc_update,   library->gcm128_dec_update,
                               library->gcm128_enc_finalize, library->gcm128_dec_finalize};
    suites[1] = (struct suite){library->gcm256_pre,          library->gcm256_init,
                               library->gcm256_enc_update,   library->gcm256_dec_update,
                               library->gcm256_enc_finalize, library->gcm256_dec_finalize};
    free_mb_mgr(library);
}

void tls_gcm_end(void) {
    is_there = false;
}

bool tls_gcm_is_there(void) {
    return is_there;
}

// Makes the state of one direction. The library's keys must be aligned, which counted memory isn't.
struct tls_gcm *tls_gcm_create(size_t key_bytes, bool seals) {
    assert(is_there && (key_bytes == KEY_BYTES_LONG / 2 || key_bytes == KEY_BYTES_LONG));
    const uintptr_t line = alignof(struct tls_gcm);
    void *memory = OPENSSL_malloc(sizeof(struct tls_gcm) + line - 1);
    if (!memory)
        return NULL;
    struct tls_gcm *gcm = (struct tls_gcm *)(((uintptr_t)memory + line - 1) & ~(line - 1));
    const struct suite *suite = &suites[key_bytes == KEY_BYTES_LONG];
    gcm->suite = suite;
    gcm->cross = seals ? suite->seal : suite->open;
    gcm->end = seals ? suite->seal_end : suite->open_end;
    gcm->memory = memory;
    return gcm;
}

void tls_gcm_destroy(struct tls_gcm *gcm) {
    if (!gcm)
        return;
    void *memory = gcm->memory;
    OPENSSL_cleanse(gcm, sizeof *gcm);
    OPENSSL_free(memory);
}

void tls_gcm_set_key(struct tls_gcm *gcm, const uint8_t *key) {
    gcm->suite->set_key(key, &gcm->key);
}

void tls_gcm_begin_record(struct tls_gcm *gcm, const uint8_t *nonce, const uint8_t *head, size_t head_bytes) {
    gcm->suite->begin(&gcm->key, &gcm->context, nonce, head, head_bytes);
}

void tls_gcm_cross(struct tls_gcm *gcm, uint8_t *to, const uint8_t *from, size_t count) {
    gcm->cross(&gcm->key, &gcm->context, to, from, count);
}

void tls_gcm_tag(struct tls_gcm *gcm, uint8_t *tag) {
    gcm->end(&gcm->key, &gcm->context, tag, TAG_BYTES);
}
