// The line in which hubs tell each other what their peers can't.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/hub_header.h"

static const char hub[] = "0123456789abcdef0123456789abcdef";
static const struct hub_header_source nobody;

static void read_text(const char *text, struct hub_header *header) {
    hub_header_read((const uint8_t *)text, (struct span){0, (uint32_t)strlen(text)}, header);
}

static void what_is_written_is_read(void **state) {
    struct text text;
    struct hub_header header;
    (void)state;
    text_init(&text);
    hub_header_begin(&text, hub);
    hub_header_number(&text, "time", 29998);
    hub_header_number(&text, "level", GOVERNANCE_HUMAN);
    hub_header_number(&text, "cancel", UINT64_C(0x1fffffffffffff));
    hub_header_end(&text);
    size_t own = text.length;
    text_put(&text, "Patchbay: 1 time=1\r\nContent-Length: 2\r\n\r\n");
    hub_header_read((const uint8_t *)text.bytes, (struct span){0, (uint32_t)text.length}, &header);
    assert_true(header.given && header.has_hub);
    assert_int_equal(header.bytes, own);
    assert_memory_equal(header.hub, hub, HUB_NAME_BYTES);
    assert_int_equal(header.time_ms, 29998);
    assert_int_equal(header.level, GOVERNANCE_HUMAN);
    assert_true(header.cancelled == UINT64_C(0x1fffffffffffff));
    text_deinit(&text);
}

static void offers_are_read(void **state) {
    char line[HUB_HEADER_BYTES_MAX];
    struct hub_header header;
    (void)state;
    size_t bytes = hub_header_write(line, hub, UINT32_MAX >> 4, GOVERNANCE_MANUAL, UINT32_MAX, 0,
                                    HUB_HEADER_REFUSED, &nobody);
    hub_header_read((const uint8_t *)line, (struct span){0, (uint32_t)bytes}, &header);
    assert_true(header.given && header.offered == UINT32_MAX && header.refused && !header.probes &&
                !header.is_back && !header.answered && !header.is_joint);
    bytes = hub_header_write(line, hub, 7, GOVERNANCE_AUTONOMOUS, 0, 0x1f3a, HUB_HEADER_PROBES, &nobody);
    hub_header_read((const uint8_t *)line, (struct span){0, (uint32_t)bytes}, &header);
    assert_true(header.given && header.time_ms == 7 && header.offered == 0 && header.answered == 0x1f3a &&
                !header.refused && header.probes && !header.attaches);
    bytes = hub_header_write(line, hub, 7, GOVERNANCE_AUTONOMOUS, 0, 0, HUB_HEADER_ATTACHES, &nobody);
    hub_header_read((const uint8_t *)line, (struct span){0, (uint32_t)bytes}, &header);
    assert_true(header.given && header.probes && header.attaches && !header.unsaid);
    bytes = hub_header_write(line, hub, 0, GOVERNANCE_AUTONOMOUS, 0, 0x1f3a, HUB_HEADER_UNSAID, &nobody);
    hub_header_read((const uint8_t *)line, (struct span){0, (uint32_t)bytes}, &header);
    assert_true(header.given && header.unsaid && !header.refused && !header.probes &&
                header.answered == 0x1f3a);
    read_text("NATS/1.0\r\nPatchbay: 1 leaves=1\r\n\r\n", &header);
    assert_true(header.given && header.leaves);
    read_text("NATS/1.0\r\nPatchbay: 1 back=0\r\n\r\n", &header);
    assert_true(header.is_back && header.owed == 0 && !header.offered);
    read_text("NATS/1.0\r\nPatchbay: 1 back=1f\r\n\r\n", &header);
    assert_true(header.is_back && header.owed == 31);
    read_text("NATS/1.0\r\nPatchbay: 1 back=x offer=-1\r\n\r\n", &header);
    assert_true(header.given && !header.is_back && !header.offered);
}

static void a_whole_line_is_read(void **state) {
    char longest[USER_NAME_BYTES_MAX + 1], line[HUB_HEADER_BYTES_MAX], agent[AGENT_ID_BYTES_MAX];
    const char *const users[] = {NULL, "a", "ci/build-1:x@example+y.z_", longest};
    (void)state;
    memset(longest, 'u', USER_NAME_BYTES_MAX);
    memset(agent, 'a', sizeof agent);
    longest[USER_NAME_BYTES_MAX] = '\0';
    for (size_t at = 0; at < sizeof users / sizeof *users; at++) {
        struct hub_header header;
        struct hub_header_source source = {users[at], agent, at % 2 ? sizeof agent : 0};
        size_t count = hub_header_write(line, hub, UINT32_MAX >> 1, GOVERNANCE_MANUAL, UINT32_MAX, UINT64_MAX,
                                        HUB_HEADER_REFUSED, &source);
        hub_header_read((const uint8_t *)line, (struct span){0, (uint32_t)count}, &header);
        assert_true(count <= sizeof line && header.given && header.has_hub && header.bytes == count);
        assert_true(header.level == GOVERNANCE_MANUAL && header.offered == UINT32_MAX);
        assert_int_equal(header.user.bytes, users[at] ? strlen(users[at]) : 0);
        assert_memory_equal(line + header.user.at, users[at] ? users[at] : "", header.user.bytes);
        assert_int_equal(header.agent.bytes, source.agent_bytes);
        assert_memory_equal(line + header.agent.at, agent, header.agent.bytes);
    }
}

static void lists_are_read(void **state) {
    static const char text[] = "NATS/1.0\r\nPatchbay: 1 taken=1,ff,0 ask=10 gone=zz\r\n\r\n";
    struct hub_header header;
    uint64_t number;
    (void)state;
    read_text(text, &header);
    const uint8_t *bytes = (const uint8_t *)text;
    assert_true(hub_header_next(bytes, &header.taken, &number) && number == 1);
    assert_true(hub_header_next(bytes, &header.taken, &number) && number == 255);
    assert_true(hub_header_next(bytes, &header.taken, &number) && number == 0);
    assert_false(hub_header_next(bytes, &header.taken, &number));
    assert_true(hub_header_next(bytes, &header.asked, &number) && number == 16);
    assert_false(hub_header_next(bytes, &header.gone, &number));
    struct span rest = {0, 23};
    assert_true(hub_header_next((const uint8_t *)"1,2,00000000000000003,4", &rest, &number) && number == 1);
    assert_true(hub_header_next((const uint8_t *)"1,2,00000000000000003,4", &rest, &number) && number == 2);
    assert_false(hub_header_next((const uint8_t *)"1,2,00000000000000003,4", &rest, &number));
    assert_false(hub_header_next((const uint8_t *)"1,2,00000000000000003,4", &rest, &number));
}

static void what_is_sought_is_read(void **state) {
    static const char text[] =
        "NATS/1.0\r\nPatchbay: 1 seek=a none=b,c agents=7 can=x_2Fy part=8 more=1 cut=0\r\n\r\n";
    struct hub_header header;
    uint64_t number;
    (void)state;
    read_text(text, &header);
    const uint8_t *bytes = (const uint8_t *)text;
    assert_true(hub_header_next(bytes, &header.sought, &number) && number == 10);
    assert_true(hub_header_next(bytes, &header.none, &number) && number == 11);
    assert_true(hub_header_next(bytes, &header.none, &number) && number == 12);
    assert_false(hub_header_next(bytes, &header.none, &number));
    assert_true(header.inquired == 7 && header.part == 8 && header.more && !header.cut);
    assert_int_equal(header.capability.bytes, 5);
    assert_memory_equal(bytes + header.capability.at, "x_2Fy", 5);
}

static void what_is_held_is_read(void **state) {
    static const char text[] = "NATS/1.0\r\nPatchbay: 1 holder=1f over=1 free=2,3 held=4 claim=5 claims=6 "
                               "last=7 yield=1 settle=1 names=1\r\n\r\n";
    struct hub_header header;
    uint64_t number;
    (void)state;
    read_text(text, &header);
    const uint8_t *bytes = (const uint8_t *)text;
    assert_true(header.given && header.holder == 31 && header.takes_over);
    assert_true(hub_header_next(bytes, &header.free, &number) && number == 2);
    assert_true(hub_header_next(bytes, &header.free, &number) && number == 3);
    assert_true(hub_header_next(bytes, &header.held, &number) && number == 4);
    assert_true(header.claim == 5 && header.claims == 6 && header.last == 7 && header.yields &&
                header.settle && header.names);
    read_text("NATS/1.0\r\nPatchbay: 1 over=0 yield=0 settle=0\r\n\r\n", &header);
    assert_true(header.given && !header.takes_over && !header.yields && !header.settle && !header.holder);
}

// What most messages say is looked for where hubs write it; it counts elsewhere, too.
static void order_means_nothing(void **state) {
    static const char *const good[] = {" time=1f re=a0",
                                       " re=a0 time=1f",
                                       " new=1 time=1f re=a0",
                                       " time=1f level=1 re=a0",
                                       " time= re=a0 time=1f",
                                       " re=g time=1f re=a0",
                                       " time=1f re=000000000000000a0 re=a0"};
    static const char *const bad[] = {" time=1f,re=a0",
                                      " time=-1 re=a0x",
                                      " time=0 re=11111111111111111",
                                      " time=fffffff re=",
                                      " times=1f are=a0",
                                      " time = 1f re =a0",
                                      " time=",
                                      " re"};
    char text[160];
    struct hub_header header;
    (void)state;
    for (size_t at = 0; at < sizeof good / sizeof *good; at++) {
        snprintf(text, sizeof text, "NATS/1.0\r\nPatchbay: 1 hub=%s%s\r\n\r\n", hub, good[at]);
        read_text(text, &header);
        assert_true(header.given && header.has_hub && header.time_ms == 31 && header.answered == 160);
    }
    for (size_t at = 0; at < sizeof bad / sizeof *bad; at++) {
        snprintf(text, sizeof text, "NATS/1.0\r\nPatchbay: 1 hub=%s%s\r\n\r\n", hub, bad[at]);
        read_text(text, &header);
        assert_true(header.given && header.has_hub && header.time_ms == 0 && header.answered == 0);
    }
}

static void what_isnt_known_means_nothing(void **state) {
    struct hub_header header;
    (void)state;
    read_text("NATS/1.0\r\nPatchbay: 1 new=thing time=5  odd = level=9 time=\r\n\r\n", &header);
    assert_true(header.given && !header.has_hub && header.time_ms == 5 &&
                header.level == GOVERNANCE_AUTONOMOUS);
    read_text("NATS/1.0\r\nPatchbay: 1\r\n\r\n", &header);
    assert_true(header.given);
    read_text("NATS/1.0\r\nPatchbay: 1 hub=0123 time=0\r\n\r\n", &header);
    assert_true(header.given && !header.has_hub && header.time_ms == 0);
}

static void other_headers_are_no_mark(void **state) {
    static const char *const texts[] = {"",
                                        "NATS/1.0\r\n\r\n",
                                        "NATS/1.0 503\r\n\r\n",
                                        "NATS/1.0\r\nOther: 1\r\nPatchbay: 1 time=5\r\n\r\n",
                                        "NATS/1.0\r\nPatchbay: 2 time=5\r\n\r\n",
                                        "NATS/1.0\r\nPatchbay: 12 time=5\r\n\r\n",
                                        "NATS/1.0\r\nPatchbay: 1 time=5\n\r\n"};
    struct hub_header header;
    (void)state;
    for (size_t at = 0; at + 1 < sizeof texts / sizeof *texts; at++) {
        read_text(texts[at], &header);
        assert_false(header.given);
    }
}

static void numbers_are_hexadecimal(void **state) {
    char out[16];
    uint64_t number;
    (void)state;
    assert_int_equal(hub_header_digits(out, 0), 1);
    assert_int_equal(out[0], '0');
    assert_int_equal(hub_header_digits(out, UINT64_MAX), 16);
    assert_memory_equal(out, "ffffffffffffffff", 16);
    assert_true(hub_header_read_digits((const uint8_t *)out, (struct span){0, 16}, &number) &&
                number == UINT64_MAX);
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t wanted = UINT64_C(0xfedcba9876543210) >> bit;
        char wide[17];
        size_t count = hub_header_digits(out, wanted);
        assert_true(hub_header_read_digits((const uint8_t *)out, (struct span){0, (uint32_t)count}, &number));
        assert_true(number == wanted && out[0] != '0');
        snprintf(wide, sizeof wide, "%016llx", (unsigned long long)wanted);
        assert_memory_equal(out, wide + 16 - count, count);
        hub_header_all_digits(out, wanted);
        assert_memory_equal(out, wide, 16);
        assert_true(hub_header_read_digits((const uint8_t *)out, (struct span){0, 16}, &number) &&
                    number == wanted);
    }
    for (unsigned byte = 0; byte < 256; byte++)
        for (unsigned at = 0; at < 16; at++) {
            bool good = byte && strchr("0123456789abcdef", (int)byte);
            memset(out, '0', sizeof out);
            out[at] = (char)byte;
            assert_int_equal(hub_header_read_digits((const uint8_t *)out, (struct span){0, 16}, &number),
                             good);
            out[at % 9] = (char)byte;
            assert_int_equal(hub_header_read_digits((const uint8_t *)out, (struct span){0, 9}, &number),
                             good);
        }
    assert_false(hub_header_read_digits((const uint8_t *)"FF", (struct span){0, 2}, &number));
    assert_false(hub_header_read_digits((const uint8_t *)"", (struct span){0, 0}, &number));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),   cmocka_unit_test(offers_are_read),
        cmocka_unit_test(a_whole_line_is_read),      cmocka_unit_test(lists_are_read),
        cmocka_unit_test(order_means_nothing),       cmocka_unit_test(what_isnt_known_means_nothing),
        cmocka_unit_test(other_headers_are_no_mark), cmocka_unit_test(numbers_are_hexadecimal),
        cmocka_unit_test(what_is_sought_is_read),    cmocka_unit_test(what_is_held_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
