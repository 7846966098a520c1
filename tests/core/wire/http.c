// Requests of HTTP: tables of those that must be taken and those that must be refused. Each is judged whole,
// byte by byte and at every split, and again with the dead bytes behind a chunked body cut out at once. All
// input ends at an unreadable page, so a read past it is a crash.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/http.h"
#include "tests/core/base/placed.h"
#include "tests/core/wire/http_requests.h"

enum { INPUT_BYTES_MAX = 64 * 1024, SHORT_BYTES = 100 };

static const struct unit_limits usual_limits = {.header_bytes_max = 8192, .body_bytes_max = 100};

// A request that comes in, as whoever reassembles it has it.
struct incoming {
    struct unit unit;
    enum unit_result result;
    bool cuts; // what is dead, as soon as it is
    unsigned asides;
    size_t come;  // of the text
    size_t count; // of the bytes that there are
    uint8_t bytes[INPUT_BYTES_MAX];
};

static struct incoming whole, cut;

static void begin(struct incoming *in, bool cuts) {
    unit_begin(&in->unit);
    in->result = UNIT_OPEN;
    in->cuts = cuts;
    in->asides = 0;
    in->come = in->count = 0;
}

static void cut_dead(struct incoming *in) {
    struct unit *unit = &in->unit;
    uint32_t end = unit->body_at + unit->body_bytes;
    if (!in->cuts || in->result != UNIT_OPEN || !unit->body_at || unit->at == end)
        return;
    memmove(in->bytes + end, in->bytes + unit->at, in->count - unit->at);
    in->count -= unit->at - end;
    unit->at = end;
}

// Goes on with the scan when so many bytes of the text have come. The bytes lie right before the unreadable
// page, so they move at each call.
static void go_on(struct incoming *in, const char *text, size_t come, const struct unit_limits *limits) {
    memcpy(in->bytes + in->count, text + in->come, come - in->come);
    in->count += come - in->come;
    in->come = come;
    do {
        uint8_t *bytes = placed_end - in->count;
        memcpy(bytes, in->bytes, in->count);
        in->result = http_scan(&in->unit, bytes, in->count, limits);
        memcpy(in->bytes, bytes, in->count);
        in->asides += in->result == UNIT_CONTROL;
    } while (in->result == UNIT_CONTROL);
    cut_dead(in);
}

static void scan_whole(const char *text, size_t bytes, const struct unit_limits *limits) {
    begin(&whole, false);
    go_on(&whole, text, bytes, limits);
}

static void assert_same(void) {
    const struct unit *left = &cut.unit, *right = &whole.unit;
    assert_int_equal(cut.result, whole.result);
    assert_int_equal(left->fault, right->fault);
    assert_int_equal(left->fault_at, right->fault_at);
    assert_int_equal(left->body_at, right->body_at);
    assert_int_equal(left->body_bytes, right->body_bytes);
    assert_int_equal(left->length_known, right->length_known);
    assert_int_equal(left->bytes + (cut.come - cut.count),
                     right->bytes + (right->bytes ? 0 : cut.come - cut.count));
    assert_memory_equal(&left->directives, &right->directives, sizeof left->directives);
    assert_memory_equal(cut.bytes + left->body_at, whole.bytes + left->body_at,
                        left->body_at ? left->body_bytes : 0);
}

static void assert_cut_agrees(const char *text, size_t first, size_t second, size_t bytes,
                              const struct unit_limits *limits) {
    for (int cuts = 0; cuts < 2; cuts++) {
        begin(&cut, cuts);
        go_on(&cut, text, first, limits);
        go_on(&cut, text, second, limits);
        go_on(&cut, text, bytes, limits);
        assert_same();
    }
}

// Every byte by itself, every way of cutting it in two, and a short one in three, ends as the whole does.
static void assert_splits_agree(const char *text, size_t bytes, const struct unit_limits *limits) {
    scan_whole(text, bytes, limits);
    for (int cuts = 0; cuts < 2; cuts++) {
        begin(&cut, cuts);
        for (size_t come = 0; come <= bytes; come++)
            go_on(&cut, text, come, limits);
        assert_same();
    }
    for (size_t first = 0; first <= bytes; first++)
        for (size_t second = first; second <= (bytes <= SHORT_BYTES ? bytes : first); second++)
            assert_cut_agrees(text, first, second, bytes, limits);
}

static void takes_good_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good_requests / sizeof *good_requests; i++) {
        const struct good *good = &good_requests[i];
        char text[400];
        size_t bytes = strlen(good->text), body_bytes = strlen(good->body);
        snprintf(text, sizeof text, "%sGET", good->text);
        for (size_t come = 0; come < bytes; come++) {
            scan_whole(text, come, &usual_limits);
            assert_true(whole.result == UNIT_OPEN || whole.result == UNIT_PARTIAL);
        }
        for (size_t come = bytes; come <= bytes + 3; come++) {
            scan_whole(text, come, &usual_limits);
            assert_int_equal(whole.result, UNIT_WHOLE);
            assert_int_equal(whole.unit.bytes, bytes);
            assert_int_equal(whole.unit.body_bytes, body_bytes);
            assert_memory_equal(whole.bytes + whole.unit.body_at, good->body, body_bytes);
            assert_memory_equal(whole.bytes + bytes, "GET", come - bytes);
            assert_false(whole.unit.canonical || whole.unit.length_line_bytes || whole.unit.length_line_at);
        }
        assert_splits_agree(text, bytes, &usual_limits);
        assert_splits_agree(text, bytes + 3, &usual_limits);
    }
}

static void assert_refused(const char *text, size_t bytes, enum unit_fault fault, size_t fault_at) {
    scan_whole(text, bytes - 1, &usual_limits);
    assert_int_not_equal(whole.result, UNIT_BAD);
    assert_int_not_equal(whole.result, UNIT_WHOLE);
    for (size_t come = bytes; come <= bytes + 4; come++) {
        scan_whole(text, come, &usual_limits);
        assert_int_equal(whole.result, UNIT_BAD);
        assert_int_equal(whole.unit.fault, fault);
        assert_int_equal(whole.unit.fault_at, fault_at);
    }
    go_on(&whole, text, bytes + 4, &usual_limits);
    assert_int_equal(whole.result, UNIT_BAD);
    assert_splits_agree(text, bytes + 4, &usual_limits);
}

static void refuses_bad_requests(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_requests / sizeof *bad_requests; i++) {
        const struct bad *bad = &bad_requests[i];
        char text[256];
        size_t bytes = strlen(bad->text);
        snprintf(text, sizeof text, "%s\r\n{}", bad->text);
        assert_refused(text, bytes, bad->fault, bad->fault_at < 0 ? bytes - 1 : (size_t)bad->fault_at);
    }
}

static void refuses_bad_chunks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_chunks / sizeof *bad_chunks; i++) {
        const struct bad *bad = &bad_chunks[i];
        char text[256];
        size_t head = strlen(CHUNKED), bytes = head + strlen(bad->text);
        snprintf(text, sizeof text, "%s%s\r\n{}", CHUNKED, bad->text);
        assert_refused(text, bytes, bad->fault, head + (size_t)bad->fault_at);
    }
}

static void refuses_a_zero_byte_anywhere_but_in_a_body(void **state) {
    (void)state;
    static const char text[] = "\r\n" CHUNKED "2;a\r\n{}\r\n0\r\nA: b\r\n\r\n";
    const size_t bytes = sizeof text - 1, body = sizeof "\r\n" CHUNKED "2;a\r\n" - 1;
    for (size_t at = 0; at < bytes; at++) {
        char changed[sizeof text];
        memcpy(changed, text, sizeof text);
        changed[at] = '\0';
        scan_whole(changed, bytes, &usual_limits);
        assert_int_equal(whole.result, at == body || at == body + 1 ? UNIT_WHOLE : UNIT_BAD);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_good_requests),
        cmocka_unit_test(refuses_bad_requests),
        cmocka_unit_test(refuses_bad_chunks),
        cmocka_unit_test(refuses_a_zero_byte_anywhere_but_in_a_body),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
