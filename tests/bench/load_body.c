// The bodies of the load: what is written is read back, and a body that differs where it counts is told.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "bench/load/load_body.h"

static const struct load_name target = {"bench-target", 12}, source = {"bench-source", 12};

// Room of exactly the right size, so that a sanitizer sees what is written or read beside it.
static uint8_t *write_request(const struct load_body *body, struct load_request *request, size_t *bytes) {
    request->target = &target;
    request->source = &source;
    load_nonce(request->id, request->nonce);
    *bytes = load_request_bytes(body, request);
    uint8_t *text = malloc(*bytes);
    assert_non_null(text);
    load_request_write(body, request, text);
    return text;
}

static void check_request(const struct load_body *body, uint64_t id, bool high) {
    struct load_request request = {.id = id, .high = high};
    struct load_parts parts;
    size_t bytes;
    uint8_t *text = write_request(body, &request, &bytes);
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)id);
    assert_true(bytes >= body->bytes);
    assert_true(load_request_read(body, &target, text, bytes, &parts));
    assert_int_equal(parts.id_bytes, strlen(digits));
    assert_memory_equal(parts.id, digits, parts.id_bytes);
    assert_memory_equal(parts.nonce, request.nonce, LOAD_NONCE_BYTES);
    const char *priority = high ? "\"priority\":\"high\"" : "\"priority\":\"low\"";
    assert_true(!body->priorities || memmem(text, bytes, priority, strlen(priority)) != NULL);
    free(text);
}

static void requests_come_back(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 200, 256, 1024, 16384};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int kind = 0; kind < 4; kind++) {
            struct load_body body = {.bytes = sizes[i], .id_last = kind & 1, .priorities = kind & 2};
            check_request(&body, 1, false);
            check_request(&body, 1234567, true);
            check_request(&body, UINT64_MAX, true);
        }
    }
}

static void a_request_has_the_size_that_was_asked_for(void **state) {
    (void)state;
    struct load_body body = {.bytes = 256};
    for (uint64_t id = 1; id < 1000000000; id *= 10) {
        struct load_request request = {.source = &source, .target = &target, .id = id};
        assert_int_equal(load_request_bytes(&body, &request), 256);
    }
}

static void answers_come_back(void **state) {
    (void)state;
    struct load_body body = {.bytes = 256};
    struct load_request request = {.id = 42};
    struct load_parts parts, answered;
    size_t bytes;
    uint64_t id;
    uint8_t *text = write_request(&body, &request, &bytes);
    assert_true(load_request_read(&body, &target, text, bytes, &parts));
    size_t answer_bytes = load_answer_bytes(&body, parts.id_bytes);
    uint8_t *answer = malloc(answer_bytes);
    assert_non_null(answer);
    load_answer_write(&body, &parts, answer);
    assert_true(load_answer_read(&body, answer, answer_bytes, &id, &answered));
    assert_true(id == 42);
    assert_memory_equal(answered.nonce, request.nonce, LOAD_NONCE_BYTES);
    for (size_t cut = 0; cut < answer_bytes; cut++) {
        uint8_t *part = malloc(cut + 1);
        assert_non_null(part);
        memcpy(part, answer, cut);
        assert_false(load_answer_read(&body, part, cut, &id, &answered));
        free(part);
    }
    free(answer);
    free(text);
}

static void events_come_back(void **state) {
    (void)state;
    struct load_body body = {.bytes = 300};
    struct load_event event = {.topic = &target, .sequence = 0xfedcba987654321}, read = {.topic = &target};
    load_nonce(7, event.nonce);
    size_t bytes = load_event_bytes(&body, &target);
    assert_int_equal(bytes, 300);
    uint8_t *text = malloc(bytes);
    assert_non_null(text);
    load_event_write(&body, &event, text);
    assert_true(load_event_read(&body, text, bytes, &read));
    assert_true(read.sequence == event.sequence);
    assert_memory_equal(read.nonce, event.nonce, LOAD_NONCE_BYTES);
    assert_false(load_event_read(&body, text, bytes - 1, &read));
    *(uint8_t *)memmem(text, bytes, "bench-target", 12) ^= 1;
    assert_false(load_event_read(&body, text, bytes, &read));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_come_back),
        cmocka_unit_test(a_request_has_the_size_that_was_asked_for),
        cmocka_unit_test(answers_come_back),
        cmocka_unit_test(events_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
