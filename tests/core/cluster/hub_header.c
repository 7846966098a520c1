// The line of NATS headers between hubs: written, read, and what is no such line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/hub_header.h"

static const char node[] = "0123456789abcdef0123456789abcdef";

// Reads a line alone, and by each of several names that may have been heard before: the result must be the same.
static struct hub_header read_text(const char *text) {
    static const char other[] = "fedcba9876543210fedcba9876543210";
    static const uint32_t numbers[] = {1, 3, 12, 42, 4294967295};
    struct span all = {0, (uint32_t)strlen(text)};
    struct hub_header header, by_last;
    hub_header_read((const uint8_t *)text, all, NULL, &header);
    for (size_t at = 0; at < 2 * sizeof numbers / sizeof *numbers; at++) {
        struct hub_name last;
        hub_name_write(&last, at % 2 ? node : other, numbers[at / 2]);
        hub_header_read((const uint8_t *)text, all, &last, &by_last);
        assert_true(by_last.is_present == header.is_present);
        if (!header.is_present)
            continue;
        assert_int_equal(by_last.hub.bytes, header.hub.bytes);
        assert_memory_equal(by_last.hub.text, header.hub.text, header.hub.bytes);
        assert_int_equal(by_last.hub.number, header.hub.number);
        assert_int_equal(by_last.time_ms, header.time_ms);
        assert_memory_equal(&by_last.user, &header.user, sizeof header.user);
        assert_memory_equal(&by_last.agent, &header.agent, sizeof header.agent);
    }
    return header;
}

static void assert_span(const char *text, struct span span, const char *wanted) {
    assert_int_equal(span.bytes, strlen(wanted));
    assert_memory_equal(text + span.at, wanted, span.bytes);
}

static void a_line_is_written_and_read(void **state) {
    char out[HUB_HEADER_BYTES_MAX + 1];
    struct hub_name hub;
    struct hub_header_source source = {
        .time_ms = 29998, .user = "ci", .agent = "build-agent", .agent_bytes = 11};
    (void)state;
    hub_name_write(&hub, node, 3);
    out[hub_header_write(out, &hub, &source)] = '\0';
    assert_string_equal(out, "NATS/1.0\r\nPatchbay: 0123456789abcdef0123456789abcdef-3 time=29998 user=ci "
                             "agent=build-agent\r\n\r\n");
    struct hub_header header = read_text(out);
    assert_true(header.is_present && header.hub.bytes == hub.bytes);
    assert_memory_equal(header.hub.text, hub.text, hub.bytes);
    assert_int_equal(header.time_ms, 29998);
    assert_span(out, header.user, "ci");
    assert_span(out, header.agent, "build-agent");
}

static void offsets_are_the_sources_own(void **state) {
    // The source: 50 bytes of head, an id of 3 bytes at 10, a token of 1 byte at 30. Between hubs both have 9 bytes.
    struct hub_header_source source = {
        .offsets = {.is_known = true, .body_at = 50, .cut_count = 2, .cuts = {{19, 13}, {45, 31}}}};
    static const uint64_t offsets[][2] = {{0, 50}, {9, 59}, {19, 63}, {35, 79}, {45, 81}, {100, 136}};
    char out[HUB_HEADER_BYTES_MAX + 1];
    struct hub_name hub;
    (void)state;
    hub_name_write(&hub, node, 3);
    out[hub_header_write(out, &hub, &source)] = '\0';
    struct hub_header header = read_text(out);
    assert_span(out, header.from, "50,19:13,45:31");
    for (size_t at = 0; at < sizeof offsets / sizeof *offsets; at++)
        assert_int_equal(
            frame_offset_original((const uint8_t *)out + header.from.at, header.from.bytes, offsets[at][0]),
            offsets[at][1]);
    static const char *const bad[] = {"", "x", ",", "7,", "7,3", "99999999999,1:2", "7,:,:"};
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) // anybody may write one: it is read to its end
        (void)frame_offset_original((const uint8_t *)bad[at], (uint32_t)strlen(bad[at]), 5);
}

static void what_is_not_said_is_not_there(void **state) {
    char out[HUB_HEADER_BYTES_MAX + 1];
    struct hub_name hub;
    (void)state;
    hub_name_write(&hub, node, 4294967295);
    out[hub_header_write(out, &hub, &(struct hub_header_source){0})] = '\0';
    struct hub_header header = read_text(out);
    assert_true(header.is_present);
    assert_true(header.time_ms == 0 && header.user.bytes == 0 && header.agent.bytes == 0);
}

static void the_longest_has_room(void **state) {
    static char user[USER_NAME_BYTES_MAX + 1], agent[AGENT_ID_BYTES_MAX];
    char out[HUB_HEADER_BYTES_MAX];
    struct hub_name hub;
    (void)state;
    memset(user, 'u', USER_NAME_BYTES_MAX);
    memset(agent, 'a', sizeof agent);
    hub_name_write(&hub, node, 4294967295);
    struct hub_header_source source = {
        .time_ms = 3600000,
        .user = user,
        .agent = agent,
        .agent_bytes = sizeof agent,
        .offsets = {.is_known = true, .body_at = UINT32_MAX, .cut_count = FRAME_CUTS_MAX}};
    for (unsigned at = 0; at < FRAME_CUTS_MAX; at++)
        source.offsets.cuts[at] = (struct frame_cut){UINT32_MAX, UINT32_MAX};
    size_t bytes = hub_header_write(out, &hub, &source);
    assert_in_range(bytes, 1, HUB_HEADER_BYTES_MAX);
    struct hub_header header;
    hub_header_read((const uint8_t *)out, (struct span){0, (uint32_t)bytes}, NULL, &header);
    assert_int_equal(header.user.bytes, USER_NAME_BYTES_MAX);
    assert_int_equal(header.agent.bytes, AGENT_ID_BYTES_MAX);
    assert_int_equal(header.time_ms, 3600000);
}

#define LINE "NATS/1.0\r\nPatchbay: 0123456789abcdef0123456789abcdef-1"

static void keys_that_are_not_known_mean_nothing(void **state) {
    static const char text[] = LINE " x=y time=7 user= word agent=a=b\r\nOther: 1\r\n\r\n";
    (void)state;
    struct hub_header header = read_text(text);
    assert_true(header.is_present);
    assert_int_equal(header.time_ms, 7);
    assert_int_equal(header.user.bytes, 0);
    assert_span(text, header.agent, "a=b");
}

static void times_out_of_bounds_say_nothing(void **state) {
    static const char *const bad[] = {LINE " time=\r\n\r\n", LINE " time=3600001\r\n\r\n",
                                      LINE " time=-1\r\n\r\n", LINE " time=12345678\r\n\r\n",
                                      LINE " time=1x\r\n\r\n"};
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) {
        struct hub_header header = read_text(bad[at]);
        assert_true(header.is_present && header.time_ms == 0);
    }
}

static void what_is_no_line_is_not_given(void **state) {
    static const char *const bad[] = {
        "",
        "NATS/1.0\r\n\r\n",
        "NATS/1.0 503\r\n\r\n",
        "NATS/1.0 503\r\nPatchbay: 0123456789abcdef0123456789abcdef-1\r\n\r\n",
        "NATS/1.0\r\npatchbay: 0123456789abcdef0123456789abcdef-1\r\n\r\n",
        "NATS/1.0\r\nOther: 1\r\nPatchbay: 0123456789abcdef0123456789abcdef-1\r\n\r\n",
        "NATS/1.0\r\nPatchbay: hub\r\n\r\n",
        "NATS/1.0\r\nPatchbay: \r\n\r\n",
        "NATS/1.0\r\nPatchbay: 0123456789abcdef0123456789abcdef-1\n\n",
        "NATS/1.0\r\nPatchbay: 0123456789abcdef0123456789abcdef-1"};
    (void)state;
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++)
        assert_false(read_text(bad[at]).is_present);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_written_and_read),
        cmocka_unit_test(offsets_are_the_sources_own),
        cmocka_unit_test(what_is_not_said_is_not_there),
        cmocka_unit_test(the_longest_has_room),
        cmocka_unit_test(keys_that_are_not_known_mean_nothing),
        cmocka_unit_test(times_out_of_bounds_say_nothing),
        cmocka_unit_test(what_is_no_line_is_not_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
