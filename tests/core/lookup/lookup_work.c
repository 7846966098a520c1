// Work of the lookup for keys with escapes, counted: each is decoded once, however many names there are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/limits.h"
#include "core/json/json.h"
#include "core/lookup/lookup.h"

enum { KEYS = 100 };

// The linker puts these between the lookup and what decodes strings.
size_t __real_json_string_decode(const uint8_t *text, struct span string, char *out, size_t capacity);
bool __real_json_string_is(const uint8_t *text, struct span string, const char *literal);
size_t __wrap_json_string_decode(const uint8_t *text, struct span string, char *out, size_t capacity);
bool __wrap_json_string_is(const uint8_t *text, struct span string, const char *literal);

static unsigned decoded;

size_t __wrap_json_string_decode(const uint8_t *text, struct span string, char *out, size_t capacity) {
    decoded++;
    return __real_json_string_decode(text, string, out, capacity);
}

bool __wrap_json_string_is(const uint8_t *text, struct span string, const char *literal) {
    decoded++;
    return __real_json_string_is(text, string, literal);
}

// A notification with so many members at one level, whose keys begin as a guarded one's do and have an
// escape.
static uint32_t write_body(char *out, const char *head, const char *tail, const char *key) {
    size_t count = (size_t)sprintf(out, "%s", head);
    for (unsigned number = 0; number < KEYS; number++)
        count += (size_t)sprintf(out + count, "%s\"%s%u\":0", number ? "," : "", key, number);
    return (uint32_t)(count + (size_t)sprintf(out + count, "%s", tail));
}

static void a_key_with_escapes_is_decoded_once(void **state) {
    (void)state;
    static const struct {
        const char *head, *tail;
    } levels[] = {{"{\"jsonrpc\":\"2.0\",\"method\":\"m\",", "}"},
                  {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{", "}}"},
                  {"{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"_meta\":{", "}}}"}};
    static const char *const keys[] = {
        "i\\u0064", "\\u0074argetAgen",
        "\\u0065vent and more bytes than a block has, as no guarded key does "};
    static char body[KEYS * 128 + BUFFER_SLACK_BYTES];
    for (unsigned level = 0; level < 3; level++)
        for (unsigned key = 0; key < 3; key++) {
            struct lookup lookup;
            uint32_t bytes = write_body(body, levels[level].head, levels[level].tail, keys[key]);
            decoded = 0;
            lookup_body(&lookup, (const uint8_t *)body, bytes, 256);
            assert_int_equal(lookup.verdict, LOOKUP_GOOD);
            assert_int_equal(decoded, KEYS);
            // Strictly, it might still be a guarded key but for its case.
            decoded = 0;
            lookup_body_strict(&lookup, (const uint8_t *)body, bytes, 256);
            assert_int_equal(lookup.verdict, LOOKUP_GOOD);
            assert_int_equal(decoded, 2 * KEYS);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_key_with_escapes_is_decoded_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
