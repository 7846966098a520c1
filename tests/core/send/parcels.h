// Vocabulary of tests of parcels: a frame as it came in, and the bytes of a receiver.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/limits.h"
#include "core/base/memory.h"
#include "core/send/envelope.h"
#include "core/send/parcel.h"
#include "core/wire/frame.h"

struct fixture {
    struct buffer_budget budget;
    struct buffer_pool buffers;
    struct parcel_pool parcels;
    struct buffer *buffer;
    struct unit scan;
    struct frame frame;
};

static inline void set_up(struct fixture *fixture, const char *text) {
    static const struct unit_limits limits = {8192, 1 << 24};
    enum { AT = 7 }; // a frame rarely begins where its buffer does
    *fixture = (struct fixture){.budget.bytes_max = 1 << 24};
    buffer_pool_init(&fixture->buffers, &fixture->budget);
    parcel_pool_init(&fixture->parcels, &fixture->budget, 3);
    fixture->buffer = buffer_take(&fixture->buffers);
    memset(fixture->buffer->bytes, '#', fixture->buffer->capacity);
    memcpy(fixture->buffer->bytes + AT, text, strlen(text));
    unit_begin(&fixture->scan);
    assert_int_equal(frame_scan(&fixture->scan, fixture->buffer->bytes + AT, strlen(text), &limits),
                     UNIT_WHOLE);
    fixture->frame = frame_at(fixture->buffer, AT, &fixture->scan);
}

static inline void tear_down(struct fixture *fixture) {
    buffer_drop(fixture->buffer);
    assert_true(parcel_pool_full(&fixture->parcels));
    parcel_pool_deinit(&fixture->parcels);
    assert_true(buffer_pool_full(&fixture->buffers));
    buffer_pool_deinit(&fixture->buffers);
    assert_int_equal(fixture->budget.bytes, 0);
}

// Asserts the bytes that a receiver of this wire gets.
static inline void assert_reads_on(struct parcel *parcel, const struct wire *wire, const char *expected) {
    char out[2048];
    if (!parcel->is_encoded)
        parcel_encode(parcel, wire);
    assert_int_equal(parcel->bytes, strlen(expected));
    assert_int_equal(parcel->hole_count, 0);
    parcel_copy(parcel, (uint8_t *)out);
    assert_memory_equal(out, expected, parcel->bytes);
}

static inline bool fill(struct parcel *parcel, const char *text) {
    return parcel_fill(parcel, &(struct piece){text, strlen(text)});
}
