// The header block: tables of blocks that must be taken or refused, each judged whole, byte by byte and at every split.
// All input ends at an unreadable page, so a read past it is a crash.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/frame.h"
#include "tests/core/base/placed.h"
#include "tests/core/wire/frame_blocks.h"

static const struct unit_limits usual_limits = {.header_bytes_max = 8192, .body_bytes_max = 1 << 24};

// Goes on with the scan, the frame's first `bytes` lying right before the unreadable page; so they move at
// each call.
static enum unit_result go_on(struct unit *scan, const void *text, size_t bytes,
                              const struct unit_limits *limits) {
    assert_true(bytes <= PLACED_BYTES_MAX);
    memcpy(placed_end - bytes, text, bytes);
    return frame_scan(scan, placed_end - bytes, bytes, limits);
}

static enum unit_result scan_whole(struct unit *scan, const void *text, size_t bytes,
                                   const struct unit_limits *limits) {
    unit_begin(scan);
    return go_on(scan, text, bytes, limits);
}

static void assert_same(const struct unit *left, const struct unit *right) {
    assert_int_equal(left->fault, right->fault);
    assert_int_equal(left->fault_at, right->fault_at);
    assert_int_equal(left->body_at, right->body_at);
    assert_int_equal(left->body_bytes, right->body_bytes);
    assert_int_equal(left->length_line_at, right->length_line_at);
    assert_int_equal(left->length_line_bytes, right->length_line_bytes);
    assert_int_equal(left->canonical, right->canonical);
    assert_int_equal(left->directives.version, right->directives.version);
    assert_int_equal(left->directives.has_governance, right->directives.has_governance);
    assert_int_equal(left->directives.governance_bad, right->directives.governance_bad);
    assert_int_equal(left->directives.governance, right->directives.governance);
    assert_int_equal(left->directives.has_timeout, right->directives.has_timeout);
    assert_int_equal(left->directives.timeout_bad, right->directives.timeout_bad);
    assert_int_equal(left->directives.timeout_ms, right->directives.timeout_ms);
    assert_int_equal(left->directives.has_idle, right->directives.has_idle);
    assert_int_equal(left->directives.idle_bad, right->directives.idle_bad);
    assert_int_equal(left->directives.idle_ms, right->directives.idle_ms);
}

// Every way of cutting the input in two or three, and every byte by itself, ends as the whole does.
static void assert_splits_agree(const char *text, size_t bytes, const struct unit_limits *limits) {
    struct unit whole, cut;
    enum unit_result expected = scan_whole(&whole, text, bytes, limits);
    unit_begin(&cut);
    enum unit_result result = UNIT_OPEN;
    for (size_t come = 0; come <= bytes; come++)
        result = go_on(&cut, text, come, limits);
    assert_int_equal(result, expected);
    assert_same(&cut, &whole);
    for (size_t first = 0; first <= bytes; first++) {
        for (size_t second = first; second <= bytes; second++) {
            unit_begin(&cut);
            go_on(&cut, text, first, limits);
            go_on(&cut, text, second, limits);
            assert_int_equal(go_on(&cut, text, bytes, limits), expected);
            assert_same(&cut, &whole);
        }
    }
}

static void takes_good_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof good_blocks / sizeof *good_blocks; i++) {
        const struct good *good = &good_blocks[i];
        char text[256];
        size_t block = strlen(good->block), bytes = block + good->body_bytes;
        snprintf(text, sizeof text, "%s....................", good->block);
        struct unit scan;
        for (size_t come = 0; come < bytes; come++) {
            assert_int_equal(scan_whole(&scan, text, come, &usual_limits),
                             come < block ? UNIT_OPEN : UNIT_PARTIAL);
            assert_int_equal(scan.body_at, come < block ? 0 : block);
        }
        for (size_t come = bytes; come <= bytes + 5; come++)
            assert_int_equal(scan_whole(&scan, text, come, &usual_limits), UNIT_WHOLE);
        assert_int_equal(scan.fault, UNIT_FAULT_NONE);
        assert_int_equal(scan.body_at, block);
        assert_int_equal(scan.body_bytes, good->body_bytes);
        assert_int_equal(scan.canonical, good->canonical);
        assert_int_equal(scan.directives.version, good->version);
        assert_int_equal(strncasecmp(text + scan.length_line_at, "Content-Length:", 15), 0);
        assert_memory_equal(text + scan.length_line_at + scan.length_line_bytes - 2, "\r\n", 2);
        assert_splits_agree(text, bytes + 2, &usual_limits);
    }
}

static void refuses_bad_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_blocks / sizeof *bad_blocks; i++) {
        const struct bad *bad = &bad_blocks[i];
        char text[256];
        size_t bytes = strlen(bad->block);
        snprintf(text, sizeof text, "%sA: b\r\n\r\n{}", bad->block);
        struct unit scan;
        assert_int_equal(scan_whole(&scan, text, bytes - 1, &usual_limits), UNIT_OPEN);
        for (size_t come = bytes; come <= bytes + 10; come++) {
            assert_int_equal(scan_whole(&scan, text, come, &usual_limits), UNIT_BAD);
            assert_int_equal(scan.fault, bad->fault);
            assert_int_equal(scan.fault_at, bad->fault_at);
        }
        assert_splits_agree(text, bytes + 4, &usual_limits);
    }
}

static void reads_governance_and_timeout(void **state) {
    (void)state;
    static const struct {
        const char *level;
        bool bad;
        enum governance governance;
    } levels[] = {
        {"autonomous", false, GOVERNANCE_AUTONOMOUS},
        {"supervised", false, GOVERNANCE_SUPERVISED},
        {"human-in-the-loop", false, GOVERNANCE_HUMAN},
        {"manual", false, GOVERNANCE_MANUAL},
        {"manual \t", false, GOVERNANCE_MANUAL},
        {"Manual", true, 0},
        {"manua", true, 0},
        {"manual2", true, 0},
        {"", true, 0},
    };
    static const struct {
        const char *value;
        bool bad;
        uint32_t ms;
    } timeouts[] = {
        {"1", false, 1},
        {"2", false, 2},
        {"3599999", false, 3599999},
        {"3600000", false, 3600000},
        {"3600001", true, 0},
        {"0", true, 0},
        {"007", false, 7},
        {"0000000007", false, 7},
        {"00000000007", true, 0},
        {"4294967297", true, 0},
        {"99999999999", true, 0},
        {"", true, 0},
        {"-1", true, 0},
        {"+1", true, 0},
        {"1s", true, 0},
        {"1.0", true, 0},
    };
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        for (size_t j = 0; j < sizeof timeouts / sizeof *timeouts; j++) {
            char text[256];
            int bytes = snprintf(text, sizeof text,
                                 "Governance-Level: %s\r\nCustom-Timeout-Ms: %s\r\n"
                                 "CUSTOM-idle-Timeout-Ms: %s\r\n" LENGTH "\r\n...",
                                 levels[i].level, timeouts[j].value, timeouts[j].value);
            struct unit scan;
            assert_int_equal(scan_whole(&scan, text, (size_t)bytes, &usual_limits), UNIT_WHOLE);
            assert_true(scan.directives.has_governance && scan.directives.has_timeout);
            assert_int_equal(scan.directives.governance_bad, levels[i].bad);
            assert_int_equal(scan.directives.governance, levels[i].governance);
            assert_int_equal(scan.directives.timeout_bad, timeouts[j].bad);
            assert_int_equal(scan.directives.timeout_ms, timeouts[j].ms);
            assert_true(scan.directives.has_idle);
            assert_int_equal(scan.directives.idle_bad, timeouts[j].bad);
            assert_int_equal(scan.directives.idle_ms, timeouts[j].ms);
            if (i == j)
                assert_splits_agree(text, (size_t)bytes, &usual_limits);
        }
    }
}

static void absent_fields_stay_absent(void **state) {
    (void)state;
    struct unit scan;
    assert_int_equal(scan_whole(&scan, LENGTH "\r\n...", 24, &usual_limits), UNIT_WHOLE);
    assert_int_equal(scan.directives.version, VERSION_ABSENT);
    assert_false(scan.directives.has_governance || scan.directives.governance_bad ||
                 scan.directives.has_timeout || scan.directives.timeout_bad || scan.directives.has_idle ||
                 scan.directives.idle_bad);
}

static void points_at_the_length_line(void **state) {
    (void)state;
    const char text[] = "Custom-A: b\r\ncontent-length:  003 \r\nCustom-C: d\r\n\r\n...";
    struct unit scan;
    assert_int_equal(scan_whole(&scan, text, sizeof text - 1, &usual_limits), UNIT_WHOLE);
    assert_int_equal(scan.length_line_at, 13);
    assert_int_equal(scan.length_line_bytes, 23);
    assert_int_equal(scan_whole(&scan, LENGTH "\r\n...", 24, &usual_limits), UNIT_WHOLE);
    assert_int_equal(scan.length_line_at, 0);
    assert_int_equal(scan.length_line_bytes, 19);
}

static void every_byte_in_a_name(void **state) {
    (void)state;
    for (size_t at = 0; at < 40; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[] = "aB0-aB0-aB0-aB0-aB0-aB0-aB0-aB0-aB0-aB0-aB0-aB0-: v\r\n\r\n";
            text[at] = (char)byte;
            bool good = byte && (strchr("!#$%&'*+-.^_`|~", (int)byte) || (byte >= '0' && byte <= '9') ||
                                 (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z'));
            bool line_end = (byte == '\r' || byte == '\n') && at == 0;
            if (line_end || (byte == ':' && at > 0))
                continue; // these have tests of their own
            struct unit scan;
            assert_int_equal(scan_whole(&scan, text, at + 1, &usual_limits), good ? UNIT_OPEN : UNIT_BAD);
            assert_int_equal(scan_whole(&scan, text, sizeof text - 1, &usual_limits), UNIT_BAD);
            assert_int_equal(scan.fault, good ? UNIT_FAULT_LENGTH_MISSING : UNIT_FAULT_NAME);
            assert_int_equal(scan.fault_at, good ? 53 : at);
        }
    }
}

static void every_byte_in_a_value(void **state) {
    (void)state;
    for (size_t at = 3; at < 43; at++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char text[] = "A: 0123456789012345678901234567890123456789012345678\r\n\r\n";
            text[at] = (char)byte;
            bool good = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
            enum unit_fault fault = good           ? UNIT_FAULT_LENGTH_MISSING
                                    : byte == '\r' ? UNIT_FAULT_LINE_END
                                    : byte == '\n' ? UNIT_FAULT_LINE_END
                                                   : UNIT_FAULT_VALUE;
            size_t fault_at = good ? 54 : byte == '\r' ? at + 1 : at;
            struct unit scan;
            assert_int_equal(scan_whole(&scan, text, sizeof text - 1, &usual_limits), UNIT_BAD);
            assert_int_equal(scan.fault, fault);
            assert_int_equal(scan.fault_at, fault_at);
        }
    }
}

// A name is known by every letter in either case and by nothing else: a field that the hub knows can't come
// twice.
static void knows_names_exactly(void **state) {
    (void)state;
    static const char *const lines[] = {"content-length: 3",    "content-type: a/b",
                                        "hugai-version: 2",     "governance-level: manual",
                                        "custom-timeout-ms: 1", "custom-idle-timeout-ms: 1"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t name_bytes = strcspn(lines[i], ":");
        for (size_t at = 0; at < name_bytes; at++) {
            for (unsigned byte = 0x21; byte < 0x7f; byte++) {
                if (strchr("\"(),/:;<=>?@[\\]{}", (int)byte))
                    continue;
                char line[64], text[160];
                snprintf(line, sizeof line, "%s", lines[i]);
                line[at] = (char)byte;
                int bytes = snprintf(text, sizeof text, "%s\r\n%s\r\n\r\n", line, line);
                unsigned known = (unsigned char)lines[i][at];
                bool same = byte == known || (known >= 'a' && byte == known - 'a' + 'A');
                struct unit scan;
                assert_int_equal(scan_whole(&scan, text, (size_t)bytes, &usual_limits), UNIT_BAD);
                assert_int_equal(scan.fault, same ? UNIT_FAULT_REPEATED : UNIT_FAULT_LENGTH_MISSING);
            }
        }
    }
}

// The block with its blank line may have header_bytes_max bytes and no more, and all splits agree on it.
static void holds_the_header_limit(void **state) {
    (void)state;
    static const char *const blocks[] = {LENGTH "\r\n", LENGTH "Custom-A: 0123456789abcdef0123\r\n\r\n",
                                         "A: b\r\ncontent-length: 3\r\n\r\n"};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        char text[128];
        size_t block = strlen(blocks[i]);
        snprintf(text, sizeof text, "%s...", blocks[i]);
        for (uint32_t max = 0; max <= block + 2; max++) {
            struct unit_limits limits = {.header_bytes_max = max, .body_bytes_max = 3};
            struct unit scan;
            enum unit_result result = scan_whole(&scan, text, block + 3, &limits);
            assert_int_equal(result, max < block ? UNIT_BAD : UNIT_WHOLE);
            assert_int_equal(scan.fault, max < block ? UNIT_FAULT_HEADER_TOO_LARGE : UNIT_FAULT_NONE);
            assert_int_equal(scan.fault_at, max < block ? max : 0);
            if (max > 0 && max < block) // no byte over the limit is waited for
                assert_int_equal(scan_whole(&scan, text, max - 1, &limits), UNIT_OPEN);
            if (max < block)
                assert_int_equal(scan_whole(&scan, text, max, &limits), UNIT_BAD);
            assert_splits_agree(text, block + 3, &limits);
        }
    }
}

// A fault at a lower offset than the limit wins over the limit, one at or past it doesn't.
static void the_lower_fault_wins(void **state) {
    (void)state;
    const char text[] = "A: b\r\nContent-Length: 0\r\n\r\n";
    for (uint32_t max = 20; max < 30; max++) {
        struct unit_limits limits = {.header_bytes_max = max, .body_bytes_max = 3};
        struct unit scan;
        assert_int_equal(scan_whole(&scan, text, sizeof text - 1, &limits), UNIT_BAD);
        assert_int_equal(scan.fault, max < 25 ? UNIT_FAULT_HEADER_TOO_LARGE : UNIT_FAULT_LENGTH_ZERO);
        assert_int_equal(scan.fault_at, max < 25 ? max : 22);
        assert_splits_agree(text, sizeof text - 1, &limits);
    }
    const char control[] = "A: bcd\x01\r\n\r\n";
    for (uint32_t max = 5; max < 10; max++) {
        struct unit_limits limits = {.header_bytes_max = max, .body_bytes_max = 3};
        struct unit scan;
        assert_int_equal(scan_whole(&scan, control, sizeof control - 1, &limits), UNIT_BAD);
        assert_int_equal(scan.fault, max <= 6 ? UNIT_FAULT_HEADER_TOO_LARGE : UNIT_FAULT_VALUE);
        assert_splits_agree(control, sizeof control - 1, &limits);
    }
}

// Beside each power of ten, in a piece and cut where the quick way doesn't take it.
static void reads_lengths_of_every_size(void **state) {
    (void)state;
    struct unit_limits limits = {.header_bytes_max = 64, .body_bytes_max = UINT32_MAX - 64};
    for (uint32_t power = 1; power <= 100000000; power *= 10)
        for (uint32_t length = power - (power > 1); length <= power + 1; length++) {
            char text[128];
            int bytes = snprintf(text, sizeof text, "Content-Length: %u\r\n\r\n%30s", length, "");
            struct unit whole, cut;
            scan_whole(&whole, text, (size_t)bytes, &limits);
            unit_begin(&cut);
            frame_scan(&cut, (const uint8_t *)text, 9, &limits);
            frame_scan(&cut, (const uint8_t *)text, (size_t)bytes, &limits);
            assert_int_equal(whole.body_bytes, length);
            assert_int_equal(cut.body_bytes, length);
            assert_int_equal(whole.at, cut.at);
        }
}

static void holds_the_body_limit(void **state) {
    (void)state;
    static const struct {
        const char *digits;
        uint32_t max;
        bool good;
    } cases[] = {
        {"99", 100, true},
        {"100", 100, true},
        {"101", 100, false},
        {"0000000100", 100, true},
        {"0000000101", 100, false},
        {"4294967230", UINT32_MAX - 64, true},
        {"4294967231", UINT32_MAX - 64, true},
        {"4294967232", UINT32_MAX - 64, false},
        {"8589934595", UINT32_MAX - 64, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct unit_limits limits = {.header_bytes_max = 64, .body_bytes_max = cases[i].max};
        char text[128];
        int bytes = snprintf(text, sizeof text, "Content-Length: %s\r\n\r\n...", cases[i].digits);
        struct unit scan;
        enum unit_result result = scan_whole(&scan, text, (size_t)bytes, &limits);
        assert_int_equal(result, cases[i].good ? UNIT_PARTIAL : UNIT_BAD);
        assert_int_equal(scan.fault, cases[i].good ? UNIT_FAULT_NONE : UNIT_FAULT_BODY_TOO_LARGE);
        assert_int_equal(scan.fault_at, cases[i].good ? 0 : 16);
        assert_int_equal(scan.body_bytes, cases[i].good ? strtoull(cases[i].digits, NULL, 10) : 0);
        assert_splits_agree(text, (size_t)bytes, &limits);
    }
}

// A block of the default size limit, of one field with a value of thousands of bytes.
static void takes_a_long_value(void **state) {
    (void)state;
    static char text[9000];
    for (uint32_t extra = 0; extra < 2; extra++) {
        size_t value = 8192 + extra - strlen(LENGTH) - strlen("A: \r\n\r\n");
        int bytes = snprintf(text, sizeof text, LENGTH "A: %0*d\r\n\r\n...", (int)value, 0);
        struct unit scan;
        enum unit_result result = scan_whole(&scan, text, (size_t)bytes, &usual_limits);
        assert_int_equal(result, extra ? UNIT_BAD : UNIT_WHOLE);
        assert_int_equal(scan.fault, extra ? UNIT_FAULT_HEADER_TOO_LARGE : UNIT_FAULT_NONE);
        assert_int_equal(scan.fault_at, extra ? 8192 : 0);
    }
}

static void a_fault_is_for_ever(void **state) {
    (void)state;
    struct unit scan;
    assert_int_equal(scan_whole(&scan, "GET / HTTP/1.1", 14, &usual_limits), UNIT_BAD);
    assert_int_equal(go_on(&scan, LENGTH "\r\n...", 24, &usual_limits), UNIT_BAD);
    assert_int_equal(scan.fault, UNIT_FAULT_NAME);
    assert_int_equal(scan.fault_at, 3);
}

static void every_fault_has_a_text(void **state) {
    (void)state;
    for (enum unit_fault fault = UNIT_FAULT_NONE + 1; fault < UNIT_FAULTS_COUNT; fault++) {
        const char *text = unit_fault_text(fault);
        assert_true(strlen(text) > 0);
        for (const char *at = text; *at; at++)
            assert_true(*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\');
        bool limit = fault == UNIT_FAULT_HEADER_TOO_LARGE || fault == UNIT_FAULT_BODY_TOO_LARGE;
        assert_int_equal(unit_fault_is_limit(fault), limit);
    }
    assert_string_equal(unit_fault_text(UNIT_FAULT_LINE_END), "lines end in CR LF");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_good_blocks),
        cmocka_unit_test(refuses_bad_blocks),
        cmocka_unit_test(reads_governance_and_timeout),
        cmocka_unit_test(absent_fields_stay_absent),
        cmocka_unit_test(points_at_the_length_line),
        cmocka_unit_test(every_byte_in_a_name),
        cmocka_unit_test(every_byte_in_a_value),
        cmocka_unit_test(knows_names_exactly),
        cmocka_unit_test(holds_the_header_limit),
        cmocka_unit_test(the_lower_fault_wins),
        cmocka_unit_test(reads_lengths_of_every_size),
        cmocka_unit_test(holds_the_body_limit),
        cmocka_unit_test(takes_a_long_value),
        cmocka_unit_test(a_fault_is_for_ever),
        cmocka_unit_test(every_fault_has_a_text),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
