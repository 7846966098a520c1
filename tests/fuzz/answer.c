// Fuzzes the scanner of answers of HTTP to the hub. The input's first two bytes choose the limits and how the rest is
// cut. The rest must be read alike whole and cut, in memory of just its size, and no step may be taken back.
#include <stdlib.h>
#include <string.h>

#include "core/wire/http_answer.h"
#include "tests/fuzz/cutting.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds)
        abort();
}

struct story {
    enum http_answer_step step;
    unsigned status;
    uint32_t body_bytes;
    uint8_t *body;
    bool asks;
    uint64_t wait_ms;
};

static void check(const struct http_answer *answer, uint32_t count, const struct unit_limits *limits) {
    const struct unit *unit = &answer->unit;
    require(unit->at <= count && unit->body_at <= count);
    require(!unit->body_at || (answer->status >= 200 && answer->status <= 599));
    require(unit->body_bytes <= limits->body_bytes_max || unit->fault == UNIT_FAULT_BODY_TOO_LARGE);
    require(answer->retry_after_at + answer->retry_after_bytes <= count);
}

static struct story read_all(const uint8_t *text, size_t bytes, uint32_t seed, bool cuts, bool ends,
                             const struct unit_limits *limits) {
    struct http_answer answer = {.status = 0};
    struct story story = {.step = HTTP_ANSWER_OPEN};
    uint8_t *memory = NULL;
    size_t came = 0;
    while (story.step == HTTP_ANSWER_OPEN && came < bytes) {
        size_t count = cutting_next(&seed, bytes - came, cuts);
        uint8_t *fresh = malloc(came + count ? came + count : 1);
        require(fresh != NULL);
        if (came)
            memcpy(fresh, memory, came);
        memcpy(fresh + came, text + came, count);
        free(memory);
        memory = fresh;
        came += count;
        story.step = http_answer_scan(&answer, memory, (uint32_t)came, false, limits);
        check(&answer, (uint32_t)came, limits);
    }
    if (story.step == HTTP_ANSWER_OPEN && ends && memory)
        story.step = http_answer_scan(&answer, memory, (uint32_t)came, true, limits);
    require(!ends || !memory || story.step != HTTP_ANSWER_OPEN);
    story.status = answer.unit.body_at ? answer.status : 0;
    story.asks =
        story.status && http_answer_retry_ms(&answer, memory, UINT64_C(1700000000000), &story.wait_ms);
    if (story.step == HTTP_ANSWER_WHOLE) {
        story.body_bytes = answer.unit.body_bytes;
        story.body = malloc(story.body_bytes + 1u);
        require(story.body && answer.unit.body_at + story.body_bytes <= came);
        memcpy(story.body, memory + answer.unit.body_at, story.body_bytes);
    }
    free(memory);
    return story;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t header_limits[] = {24, 64, 200, 1000}, body_limits[] = {1, 16, 200, 1u << 16};
    if (size < 3)
        return 0;
    const struct unit_limits limits = {header_limits[data[0] & 3], body_limits[data[0] >> 2 & 3]};
    for (int ends = 0; ends < 2; ends++) {
        struct story whole = read_all(data + 2, size - 2, 0, false, ends, &limits);
        struct story cut = read_all(data + 2, size - 2, data[1] + 1u, true, ends, &limits);
        require(whole.step == cut.step && whole.status == cut.status && whole.asks == cut.asks &&
                whole.wait_ms == cut.wait_ms && whole.body_bytes == cut.body_bytes);
        require(!whole.body_bytes || memcmp(whole.body, cut.body, whole.body_bytes) == 0);
        free(whole.body);
        free(cut.body);
    }
    return 0;
}
