// Keys of NATS, and the files in which they come: with the key pair of NATS' own documentation on nkeys, and RFC 8032's
// signatures.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/nats_server.h"

#define SEED "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define KEY  "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
#define JWT  "eyJ0eXAiOiJqd3QifQ.eyJqdGkiOiJBIn0.abc-_123"

static bool read_creds(const char *text, struct nats_creds *out) {
    return nats_creds_read(text, strlen(text), out);
}

static void a_seed_is_its_key(void **state) {
    static const char *const files[] = {
        SEED,
        SEED "\n",
        "\r\n  " SEED " \r\n\n",
        "-----BEGIN NATS USER JWT-----\n" JWT "\n------END NATS USER JWT------\n\n"
        "************************* IMPORTANT *************************\nkeep\n\n"
        "-----BEGIN USER NKEY SEED-----\n" SEED "\n------END USER NKEY SEED------\n\n****\n",
        "---BEGIN NATS USER JWT---\r\n" JWT "\r\n---END---\r\n---BEGIN SEED---\r\n" SEED "\r\n---END---",
    };
    (void)state;
    for (size_t at = 0; at < sizeof files / sizeof *files; at++) {
        struct nats_creds creds;
        char key[NKEY_PUBLIC_BYTES];
        assert_true(read_creds(files[at], &creds));
        assert_string_equal(creds.jwt, at < 3 ? "" : JWT);
        assert_true(nats_creds_public(&creds, key));
        assert_memory_equal(key, KEY, NKEY_PUBLIC_BYTES);
    }
}

static void what_is_none_is_refused_and_not_kept(void **state) {
    static const struct nats_creds nothing;
    static const char border[] = "---BEGIN SEED---\n", end[] = "\n---END---\n";
    char text[512];
    struct nats_creds creds;
    static const char *const bad[] = {
        "",
        "\n",
        "S",
        KEY,
        JWT,
        SEED "A",
        SEED "\n" SEED,
        // Another letter; an account's; one with bits behind its end.
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VZ",
        "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3UY",
        "SAACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
        "suacssl3uahudxkfsnvuzrf5uhpmwz6bfdtj7m6usdxiednppqyyycu3vy",
        "---BEGIN NATS USER JWT---\n" JWT "\n---END---\n",
        "---BEGIN SEED---\n" SEED,
        "---BEGIN SEED---\n" SEED "\nmore\n---END---\n",
        "---BEGIN NATS USER JWT---\na b\n---END---\n---BEGIN SEED---\n" SEED "\n---END---\n",
    };
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) {
        assert_false(read_creds(bad[at], &creds));
        assert_memory_equal(&creds, &nothing, sizeof creds);
    }
    snprintf(text, sizeof text, "%s%s%s%s%s%s", border, SEED, end, border, SEED, end);
    assert_false(read_creds(text, &creds)); // which of two it would be nobody knows
}

static void a_nonce_is_signed(void **state) {
    // RFC 8032, section 7.1, test 2.
    static const uint8_t seed[] = {0x4c, 0xcd, 0x08, 0x9b, 0x28, 0xff, 0x96, 0xda, 0x9d, 0xb6, 0xc3,
                                   0x46, 0xec, 0x11, 0x4e, 0x0f, 0x5b, 0x8a, 0x31, 0x9f, 0x35, 0xab,
                                   0xa6, 0x24, 0xda, 0x8c, 0xf6, 0xed, 0x4f, 0xb8, 0xa6, 0xfb};
    static const char signature[] =
        "kqAJqfDUyrhyDoILX2QlQKKye1QWUD-Ps3YiI-vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA";
    struct nats_creds creds = {.jwt = ""};
    char text[NKEY_SIGNATURE_BYTES];
    (void)state;
    memcpy(creds.seed, seed, sizeof seed);
    assert_true(nats_creds_sign(&creds, "\x72", 1, text));
    assert_memory_equal(text, signature, NKEY_SIGNATURE_BYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_is_its_key),
        cmocka_unit_test(what_is_none_is_refused_and_not_kept),
        cmocka_unit_test(a_nonce_is_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
