// The fields of an HCS frame.
// Success: each field is found wherever it stands, and what isn't read may be anything. Failure: a field that
// comes twice or is spelled with an escape, and a string that is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/lookup/hcs_fields.h"
#include "tests/core/base/placed.h"

static const uint8_t *read_frame(struct hcs_fields *frame, const char *body) {
    struct lookup lookup;
    const uint8_t *text = placed(body, strlen(body));
    lookup_body(&lookup, text, (uint32_t)strlen(body), 256);
    assert_int_equal(lookup.verdict, LOOKUP_GOOD);
    assert_int_equal(lookup.kind, BODY_STREAM);
    hcs_fields_read(frame, text, (uint32_t)strlen(body));
    return text;
}

static void check_fault(const char *body, enum lookup_verdict verdict, const char *key, uint32_t at) {
    struct hcs_fields frame;
    read_frame(&frame, body);
    assert_int_equal(frame.verdict, verdict);
    assert_int_equal(frame.fault_at, at);
    if (key)
        assert_string_equal(frame.fault_key, key);
}

static void fields_are_found(void **state) {
    (void)state;
    struct hcs_fields frame;
    char out[16];
    uint64_t seq;
    const uint8_t *body = read_frame(
        &frame, " {\"text\":\"}{\\\"\",\"seq\" : 70e-1 ,\"x\":{\"seq\":1},\"type\":\"ch\\u0075nk\",\"x\":[],"
                "\"session_id\":\"s-1\",\"refused\":0} ");
    assert_int_equal(frame.verdict, LOOKUP_GOOD);
    assert_int_equal(frame.inside, 2);
    assert_true(hcs_fields_has(&frame, STREAM_REFUSED));
    assert_true(hcs_fields_is(&frame, body, STREAM_TYPE, "chunk"));
    assert_false(hcs_fields_is(&frame, body, STREAM_TYPE, "chun"));
    assert_false(hcs_fields_is(&frame, body, STREAM_LOD, ""));
    assert_true(hcs_fields_number(&frame, body, STREAM_SEQ, &seq));
    assert_int_equal(seq, 7);
    assert_int_equal(hcs_fields_text(&frame, body, STREAM_SESSION_ID, out, sizeof out), 3);
    assert_memory_equal(out, "s-1", 3);
    assert_int_equal(hcs_fields_text(&frame, body, STREAM_SEQ, out, sizeof out), SIZE_MAX);
    assert_int_equal(hcs_fields_text(&frame, body, STREAM_CODE, out, sizeof out), SIZE_MAX);
    assert_int_equal(hcs_fields_text(&frame, body, STREAM_SESSION_ID, out, 2), SIZE_MAX);
}

static void numbers_are_whole(void **state) {
    (void)state;
    static const char *const bodies[] = {"{\"type\":\"a\",\"seq\":1.5}", "{\"type\":\"a\",\"seq\":-1}",
                                         "{\"type\":\"a\",\"seq\":9007199254740992}",
                                         "{\"type\":\"a\",\"seq\":\"1\"}", "{\"type\":\"a\",\"seq\":null}"};
    for (size_t index = 0; index < sizeof bodies / sizeof *bodies; index++) {
        struct hcs_fields frame;
        uint64_t seq;
        const uint8_t *body = read_frame(&frame, bodies[index]);
        assert_true(hcs_fields_has(&frame, STREAM_SEQ));
        assert_false(hcs_fields_number(&frame, body, STREAM_SEQ, &seq));
    }
}

static void what_two_readers_could_take_differently_is_ambiguous(void **state) {
    (void)state;
    static const char *const keys[] = {"type",      "session_id", "request_id", "user_id", "targetAgent",
                                       "after_seq", "seq",        "lod",        "action",  "code"};
    for (size_t index = 0; index < sizeof keys / sizeof *keys; index++) {
        char twice[80], escaped[80];
        (void)snprintf(twice, sizeof twice, "{\"type\":\"\",\"%s\":1,\"%s\":2}", keys[index], keys[index]);
        uint32_t at = index == 0 ? 11 : (uint32_t)(11 + strlen(keys[index]) + 5);
        check_fault(twice, LOOKUP_AMBIGUOUS, keys[index], at);
        (void)snprintf(escaped, sizeof escaped, "{\"type\":\"\",\"\\u%04x%s\":1}", keys[index][0],
                       keys[index] + 1);
        check_fault(escaped, LOOKUP_AMBIGUOUS, keys[index], 11);
    }
}

static void strings_that_are_read_are_judged(void **state) {
    (void)state;
    check_fault("{\"type\":\"a\",\"lod\":\"\\x\"}", LOOKUP_NOT_JSON, NULL, 18);
    check_fault("{\"type\":\"a\",\"text\":\"\\x\"}", LOOKUP_GOOD, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(numbers_are_whole),
        cmocka_unit_test(what_two_readers_could_take_differently_is_ambiguous),
        cmocka_unit_test(strings_that_are_read_are_judged),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
