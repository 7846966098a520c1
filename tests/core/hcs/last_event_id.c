// The names of sessions, and of places in them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/hcs/last_event_id.h"

static void names_have_their_letters(void **state) {
    (void)state;
    char longest[SESSION_ID_BYTES_MAX + 1];
    memset(longest, 'x', sizeof longest);
    assert_true(session_id_valid("AZaz09-_.:~", 11));
    assert_true(session_id_valid(longest, SESSION_ID_BYTES_MAX));
    assert_false(session_id_valid(longest, SESSION_ID_BYTES_MAX + 1));
    assert_false(session_id_valid("", 0));
    for (unsigned byte = 0; byte < 256; byte++) {
        char name = (char)byte;
        bool allowed = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') || (byte && strchr("-_.:~", (int)byte));
        assert_int_equal(session_id_valid(&name, 1), allowed);
    }
}

static void check(const char *text, enum session_place place, const char *id, uint64_t seq) {
    size_t id_bytes = 0;
    uint64_t found = 0;
    assert_int_equal(last_event_id_read(text, strlen(text), &id_bytes, &found), place);
    if (place == PLACE_BAD)
        return;
    assert_int_equal(id_bytes, strlen(id));
    assert_memory_equal(text, id, id_bytes);
    if (place == PLACE_BEHIND)
        assert_int_equal(found, seq);
}

static void places_are_read(void **state) {
    (void)state;
    check("s:0", PLACE_BEHIND, "s", 0);
    check("a:b:17", PLACE_BEHIND, "a:b", 17);
    check("s:9007199254740991", PLACE_BEHIND, "s", UINT64_C(9007199254740991));
    check("s:9007199254740992", PLACE_BAD, NULL, 0);
    check("s:00000000000000000", PLACE_BAD, NULL, 0);
    check("s:-", PLACE_BEGIN, "s", 0);
    check("s:end", PLACE_END, "s", 0);
    check("s:", PLACE_BAD, NULL, 0);
    check("s:1x", PLACE_BAD, NULL, 0);
    check("s:-1", PLACE_BAD, NULL, 0);
    check(":1", PLACE_BAD, NULL, 0);
    check("s 1:1", PLACE_BAD, NULL, 0);
    check("s", PLACE_BAD, NULL, 0);
    check("", PLACE_BAD, NULL, 0);
}

// What is written is read as the same place.
static void check_written(enum session_place place, uint64_t seq, const char *expected) {
    char out[LAST_EVENT_ID_BYTES_MAX], text[LAST_EVENT_ID_BYTES_MAX + 1];
    size_t bytes = last_event_id_write(out, "a:b", 3, place, seq);
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(out, expected, bytes);
    memcpy(text, out, bytes);
    text[bytes] = 0;
    check(text, place, "a:b", seq);
}

static void places_are_written(void **state) {
    (void)state;
    check_written(PLACE_BEGIN, 0, "a:b:-");
    check_written(PLACE_END, 0, "a:b:end");
    check_written(PLACE_BEHIND, 0, "a:b:0");
    check_written(PLACE_BEHIND, UINT64_C(9007199254740991), "a:b:9007199254740991");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_their_letters),
        cmocka_unit_test(places_are_read),
        cmocka_unit_test(places_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
