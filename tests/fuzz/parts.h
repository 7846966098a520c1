// Several requests, or answers, as the body of one message between hubs: as a naive reader has them, which shares nothing with the
// hub's, and as the hub's own reader has them in memory of just that size.
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster/bundle.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"

enum { PARTS_MAX = 256 };

// Where one of these stands there is the number of the part, with blanks behind it.
static const char placeholder[] = "################";
static const char good_request[] =
    "{\"jsonrpc\":\"2.0\",\"id\":################,\"method\":\"work\",\"params\":{}}";
static const char good_answer[] = "{\"jsonrpc\":\"2.0\",\"id\":################,\"result\":1}";

static inline void require(bool holds, const char *what) {
    if (!holds)
        kernel_fail("%s", what);
}

struct part {
    uint64_t number;
    struct bit body;
    unsigned answers;
};

struct parts {
    struct part all[PARTS_MAX];
    unsigned count;
    bool bad; // something is left that is none
};

static inline uint64_t read_least_first(const uint8_t *bytes, unsigned count) {
    uint64_t number = 0;
    while (count-- > 0)
        number = number << 8 | bytes[count];
    return number;
}

static inline void read_parts(const uint8_t *bytes, size_t count, struct parts *out) {
    size_t at = 0;
    out->count = 0;
    out->bad = false;
    while (at < count && out->count < PARTS_MAX) {
        uint64_t body = count - at > 16 ? read_least_first(bytes + at + 8, 4) : 0;
        size_t end = at + 16 + body;
        out->bad = body == 0 || end > count || (end < count && count - end < 2) ||
                   (end < count && memcmp(bytes + end, "\r\n", 2) != 0);
        if (out->bad)
            return;
        out->all[out->count++] = (struct part){read_least_first(bytes + at, 8), {bytes + at + 16, body}, 0};
        at = end < count ? end + 2 : end;
    }
}

static inline unsigned times(const struct parts *parts, uint64_t number) {
    unsigned count = 0;
    for (unsigned at = 0; at < parts->count; at++)
        count += parts->all[at].number == number;
    return count;
}

// Whether it is the first of its number, and as it should be.
static inline bool is_good(const struct parts *parts, unsigned at, const char *good) {
    const struct part *part = &parts->all[at];
    char text[sizeof good_request], digits[24];
    size_t before = (size_t)(strstr(good, placeholder) - good);
    for (unsigned earlier = 0; earlier < at; earlier++)
        if (parts->all[earlier].number == part->number)
            return false;
    snprintf(digits, sizeof digits, "%-16" PRIu64, part->number);
    strcpy(text, good);
    memcpy(text + before, digits, sizeof placeholder - 1);
    return part->number && strlen(digits) == sizeof placeholder - 1 && bit_is(part->body, text);
}

static inline void read_alone(const uint8_t *bytes, size_t count, const struct parts *parts) {
    uint8_t *copy = malloc(count ? count : 1);
    struct span rest = {0, (uint32_t)count}, body;
    struct bundled bundled;
    uint64_t number;
    unsigned at = 0;
    require(copy != NULL, "there is no memory");
    if (count)
        memcpy(copy, bytes, count);
    for (; bundle_next(copy, &rest, &bundled, &body) && at < PARTS_MAX; at++) {
        const struct part *part = &parts->all[at];
        require(at < parts->count && bundled.number == part->number, "what is no part is read as one");
        require(body.bytes == part->body.count && body.at == (size_t)(part->body.bytes - bytes),
                "a part has another body");
        require(bundled.time_ms <= 3600 * 1000 && bundled.level < GOVERNANCE_COUNT, "what is said of a part");
    }
    require(at == parts->count && (at == PARTS_MAX || (rest.bytes > 0) == parts->bad), "a part isn't read");
    rest = (struct span){0, (uint32_t)count};
    for (at = 0; bundle_next_number(copy, &rest, &number); at++)
        require(number == read_least_first(bytes + (size_t)at * 8, 8), "a number is another one");
    require(at == count / 8 && rest.bytes == count % 8, "a number isn't read");
    free(copy);
}
