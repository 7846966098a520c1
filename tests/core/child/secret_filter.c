// Secrets in a child's output, wherever the output is cut and however long its lines are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/child/secret_filter.h"

static struct secret_filter filter;
static char passed[1 << 17];
static size_t passed_bytes;

static void sink(void *context, const char *bytes, size_t count) {
    (void)context;
    memcpy(passed + passed_bytes, bytes, count);
    passed_bytes += count;
    passed[passed_bytes] = '\0';
}

static void begin(const char *secrets, size_t bytes) {
    filter = (struct secret_filter){.secrets = secrets, .secrets_bytes = bytes};
    passed_bytes = 0;
    passed[0] = '\0';
}

static void add(const char *text, size_t bytes, size_t at_a_time) {
    for (size_t at = 0; at < bytes; at += at_a_time) {
        size_t left = bytes - at;
        secret_filter_add(&filter, text + at, left < at_a_time ? left : at_a_time, sink, NULL);
    }
}

static void secrets_however_they_are_cut(void **state) {
    (void)state;
    static const char secrets[] = "s3cret\0other-one";
    const char *text = "a s3cret\nother-one s3cr\nnats://u:p@h x\ns3cret";
    for (size_t at_a_time = 1; at_a_time <= strlen(text); at_a_time++) {
        begin(secrets, sizeof secrets);
        add(text, strlen(text), at_a_time);
        assert_string_equal(passed, "a ***\n*** s3cr\nnats://***@h x\n");
        secret_filter_end(&filter, sink, NULL);
        assert_string_equal(passed, "a ***\n*** s3cr\nnats://***@h x\n***");
    }
}

static void values_by_their_name(void **state) {
    (void)state;
    const char *text = "password=hunter2 x\n{\"token\": \"abcd\"}\n";
    for (size_t at_a_time = 1; at_a_time <= strlen(text); at_a_time++) {
        begin("", 0);
        add(text, strlen(text), at_a_time);
        assert_string_equal(passed, "password=*** x\n{\"token\": \"***\"}\n");
    }
}

// A line that has no end, with the secret at each place of a stretch around the filter's bounds.
static void lines_without_an_end(void **state) {
    (void)state;
    static char text[40000], secret[SECRET_FILTER_SECRET_BYTES_MAX + 1];
    static const size_t lengths[] = {4, 100, SECRET_FILTER_SECRET_BYTES_MAX - 1,
                                     SECRET_FILTER_SECRET_BYTES_MAX};
    for (size_t kind = 0; kind < sizeof lengths / sizeof *lengths; kind++) {
        size_t length = lengths[kind];
        memset(secret, 's', length);
        secret[0] = '<';
        secret[length - 1] = '>';
        secret[length] = '\0';
        for (size_t at = 0; at + length < sizeof text; at += 1021) {
            memset(text, '.', sizeof text);
            memcpy(text + at, secret, length);
            begin(secret, length + 1);
            add(text, sizeof text, 4096);
            secret_filter_end(&filter, sink, NULL);
            assert_int_equal(passed_bytes, sizeof text - length + 3);
            assert_null(memchr(passed, '<', passed_bytes));
            assert_null(memchr(passed, 's', passed_bytes));
            assert_memory_equal(passed + at, "***", 3);
        }
    }
}

static void without_secrets(void **state) {
    (void)state;
    begin(NULL, 0);
    add("one\ntwo\0three\nfour", 18, 5);
    secret_filter_end(&filter, sink, NULL);
    assert_int_equal(passed_bytes, 18);
    assert_memory_equal(passed, "one\ntwo\0three\nfour", 18);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_however_they_are_cut),
        cmocka_unit_test(values_by_their_name),
        cmocka_unit_test(lines_without_an_end),
        cmocka_unit_test(without_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
