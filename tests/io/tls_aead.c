// The cipher of records, by whichever library: what one of them seals the other opens, in whatever parts it goes
// across.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/crypto.h>

#include "io/tls_gcm.h"
#include "io/tls_records.h"

enum { BYTES_MAX = 1 << 15, HEAD_BYTES = 5, CIPHERS = 3, ROUNDS = 400 };

static uint8_t text[BYTES_MAX], sealed[BYTES_MAX], opened[BYTES_MAX];

static const EVP_CIPHER *cipher(unsigned number) {
    return number == 0 ? EVP_aes_128_gcm() : number == 1 ? EVP_aes_256_gcm() : EVP_chacha20_poly1305();
}

// By one library and the other; the same where there is only one.
static void make_both(struct tls_aead *one, struct tls_aead *other, unsigned number, bool seals) {
    tls_gcm_begin();
    assert_true(tls_aead_open(one, cipher(number), seals));
    tls_gcm_end();
    assert_true(tls_aead_open(other, cipher(number), !seals));
    assert_null(other->gcm);
}

static size_t below(size_t bound) {
    return (size_t)random() % bound;
}

static void fill(uint8_t *bytes, size_t count) {
    for (size_t at = 0; at < count; at++)
        bytes[at] = (uint8_t)random();
}

static void cross_in_parts(struct tls_aead *aead, uint8_t *to, const uint8_t *from, size_t count) {
    for (size_t at = 0, part; at < count; at += part) {
        part = below(4) ? below(40) : below(count + 1);
        part = part < count - at ? part : count - at;
        assert_true(tls_aead_cross(aead, to + at, from + at, part));
    }
}

static void what_one_seals_the_other_opens(void **state) {
    (void)state;
    static const size_t bounds[] = {1, 40, 700, BYTES_MAX};
    for (unsigned run = 0; run < CIPHERS * 2; run++) {
        struct tls_aead one, other, *seals = run % 2 ? &one : &other, *opens = run % 2 ? &other : &one;
        uint8_t key[TLS_KEY_BYTES_MAX], nonce[TLS_IV_BYTES], head[HEAD_BYTES], tag[TLS_TAG_BYTES];
        make_both(&one, &other, run / 2, run % 2);
        for (unsigned round = 0; round < ROUNDS; round++) {
            size_t count = below(bounds[round % 4]);
            if (round % 10 == 0) {
                fill(key, sizeof key);
                assert_true(tls_aead_set_key(&one, key) && tls_aead_set_key(&other, key));
            }
            fill(nonce, sizeof nonce);
            fill(head, sizeof head);
            fill(text, count);
            sealed[count] = opened[count] = 0x5a;
            assert_true(tls_aead_begin(seals, nonce, head, sizeof head));
            cross_in_parts(seals, sealed, text, count);
            assert_true(tls_aead_seal(seals, tag));
            assert_true(tls_aead_begin(opens, nonce, head, sizeof head));
            cross_in_parts(opens, opened, sealed, count);
            assert_true(tls_aead_verify(opens, tag));
            assert_memory_equal(opened, text, count);
            assert_true(sealed[count] == 0x5a && opened[count] == 0x5a);
        }
        tls_aead_close(&one);
        tls_aead_close(&other);
    }
}

// A bit of the head, the nonce, what was sealed or the tag.
static void what_was_changed_is_known(void **state) {
    (void)state;
    enum { TEXT_BYTES = 50, NONCE_AT = HEAD_BYTES, TEXT_AT = NONCE_AT + TLS_IV_BYTES };
    enum { TAG_AT = TEXT_AT + TEXT_BYTES, ALL = TAG_AT + TLS_TAG_BYTES };
    for (unsigned run = 0; run < CIPHERS * 2; run++) {
        struct tls_aead one, other, *seals = run % 2 ? &one : &other, *opens = run % 2 ? &other : &one;
        uint8_t key[TLS_KEY_BYTES_MAX], all[ALL], to[TEXT_BYTES];
        make_both(&one, &other, run / 2, run % 2);
        fill(key, sizeof key);
        assert_true(tls_aead_set_key(&one, key) && tls_aead_set_key(&other, key));
        for (unsigned bit = 0; bit <= ALL * 8; bit++) {
            fill(all, TEXT_AT);
            assert_true(tls_aead_begin(seals, all + NONCE_AT, all, HEAD_BYTES));
            assert_true(tls_aead_cross(seals, all + TEXT_AT, text, TEXT_BYTES));
            assert_true(tls_aead_seal(seals, all + TAG_AT));
            if (bit < ALL * 8)
                all[bit / 8] ^= (uint8_t)(1U << bit % 8);
            assert_true(tls_aead_begin(opens, all + NONCE_AT, all, HEAD_BYTES));
            assert_true(tls_aead_cross(opens, to, all + TEXT_AT, TEXT_BYTES));
            assert_int_equal(tls_aead_verify(opens, all + TAG_AT), bit == ALL * 8);
        }
        tls_aead_close(&one);
        tls_aead_close(&other);
    }
}

// Where its keys lie is wiped before it is given back.
static struct {
    uint8_t *memory;
    size_t bytes;
    bool given, seen;
} watched;

static const uint8_t watched_key[16] = "the key of a way";

static void *take(size_t bytes, const char *file, int line) {
    (void)file, (void)line;
    watched.memory = malloc(bytes);
    watched.bytes = bytes;
    return watched.memory;
}

static void *resize(void *memory, size_t bytes, const char *file, int line) {
    (void)file, (void)line;
    return realloc(memory, bytes);
}

static void give(void *memory, const char *file, int line) {
    (void)file, (void)line;
    if (memory && memory == watched.memory) {
        watched.given = true;
        watched.seen = memmem(memory, watched.bytes, watched_key, sizeof watched_key) != NULL;
    }
    free(memory);
}

static void keys_are_wiped(void **state) {
    (void)state;
    struct tls_aead aead;
    tls_gcm_begin();
    if (!tls_gcm_is_there())
        skip();
    assert_true(tls_aead_open(&aead, cipher(0), true));
    assert_true(tls_aead_set_key(&aead, watched_key));
    assert_non_null(memmem(watched.memory, watched.bytes, watched_key, sizeof watched_key));
    tls_aead_close(&aead);
    assert_true(watched.given && !watched.seen);
    tls_aead_close(&aead); // again: nothing
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_seals_the_other_opens),
        cmocka_unit_test(what_was_changed_is_known),
        cmocka_unit_test(keys_are_wiped),
    };
    CRYPTO_set_mem_functions(take, resize, give);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
