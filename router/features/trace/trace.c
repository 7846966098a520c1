#include "router/features/trace/trace.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/feature.h"
#include "router/engine/shard/post.h"

void trace_count(struct shard *shard, enum trace_counter counter, uint64_t count) {
    assert(counter < TRACE_COUNTERS);
    stats_add(&shard->stats, FEATURE_COUNTER(FEATURE_TRACE, counter), count);
}

// --- Sampling

// Returns 32 random bits by Marsaglia's xorshift64. They decide about sampling alone, so they may be foretold.
static uint32_t toss(struct trace *trace) {
    assert(trace->coin);
    trace->coin ^= trace->coin << 13;
    trace->coin ^= trace->coin >> 7;
    trace->coin ^= trace->coin << 17;
    return (uint32_t)(trace->coin >> 32);
}

// Draws how many requests come before the next sampled one: any number up to twice the average, each as likely as the
// others. The average is exact: the number is drawn with 32 bits behind the point, and rounded up or down by chance.
static uint64_t draw_gap(struct trace *trace, uint64_t part) {
    assert(part > 0 && part <= UNITS_WHOLE);
    uint64_t most = (2 * (UNITS_WHOLE - part) << 32) / part;
    uint64_t gap = (uint64_t)((unsigned __int128)most * toss(trace) >> 32);
    return (gap + toss(trace)) >> 32;
}

bool trace_draw(struct shard *shard) {
    struct trace *trace = trace_of(shard);
    uint64_t part = shard->settings->own[FEATURE_TRACE][TRACE_OWN_SAMPLE];
    bool is_sampled = part > 0 && trace->drawn_for == part;
    if (!is_sampled) {
        trace->drawn_for = part;
        trace->passed_over = part > 0 ? draw_gap(trace, part) : UINT64_MAX;
        is_sampled = trace->passed_over == 0;
    }
    if (is_sampled)
        trace->passed_over = draw_gap(trace, part);
    else
        trace->passed_over--;
    return is_sampled;
}

bool trace_admits(struct shard *shard) {
    uint64_t rate = shard->settings->own[FEATURE_TRACE][TRACE_OWN_RATE], next;
    uint64_t second = io_now(shard->io) / UINT64_C(1000000000) << 32;
    _Atomic uint64_t *counted = &trace_hub_of(shard)->second;
    uint64_t seen = atomic_load_explicit(counted, memory_order_relaxed);
    assert(rate > 0 && rate < UINT32_MAX);
    do {
        // Another shard may have begun to count the next second already.
        bool goes_on = seen >> 32 >= second >> 32;
        if (goes_on && (uint32_t)seen >= rate) {
            trace_count(shard, TRACE_COUNT_DROPPED_RATE, 1);
            return false;
        }
        next = goes_on ? seen + 1 : second + 1;
    } while (!atomic_compare_exchange_weak_explicit(counted, &seen, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

// Writes the hexadecimal digits of four bytes. First each byte becomes two lanes of 16 bits, then each lane two digits.
static void write_eight_digits(const uint8_t *bytes, char *out) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    uint64_t lanes = le32toh(word);
    lanes = (lanes | lanes << 16) & UINT64_C(0x0000ffff0000ffff);
    lanes = (lanes | lanes << 8) & UINT64_C(0x00ff00ff00ff00ff);
    uint64_t digits = (lanes >> 4 | lanes << 8) & ones * 15;
    uint64_t letters = (digits + ones * 6) >> 4 & ones;
    digits = htole64(digits + ones * '0' + letters * ('a' - '0' - 10));
    memcpy(out, &digits, sizeof digits);
}

static void write_digits(const uint8_t *bytes, size_t count, char *out) {
    assert(count % 4 == 0);
    for (size_t at = 0; at < count; at += 4)
        write_eight_digits(bytes + at, out + 2 * at);
}

// Makes 16 bytes that no other call makes, and not all zeros, which W3C calls invalid.
static void make_bits(struct shard *shard, uint8_t bits[SIPHASH_BYTES]) {
    const uint64_t parts[2] = {shard->index, ++trace_of(shard)->made};
    siphash_name(&shard->hub->start_settings.secrets.spans, parts, sizeof parts, bits);
    bits[0] |= 1;
}

// Makes 8 bytes for a span: a half of what one call makes.
static void make_span(struct shard *shard, char span[TRACE_PARENT_DIGITS]) {
    enum { HALF = SIPHASH_BYTES / 2 };
    struct trace *trace = trace_of(shard);
    if (!trace->has_spare) {
        make_bits(shard, trace->spare);
        trace->spare[HALF] |= 1;
    }
    write_digits(trace->spare + (trace->has_spare ? HALF : 0), HALF, span);
    trace->has_spare = !trace->has_spare;
}

void trace_name(struct shard *shard, char *trace, char span[TRACE_PARENT_DIGITS]) {
    uint8_t bits[SIPHASH_BYTES];
    static_assert((int)TRACE_ID_DIGITS == 2 * SIPHASH_BYTES && (int)TRACE_PARENT_DIGITS == (int)SIPHASH_BYTES,
                  "a trace has a whole name, and a span a half");
    if (trace) {
        make_bits(shard, bits);
        write_digits(bits, SIPHASH_BYTES, trace);
    }
    make_span(shard, span);
}

// --- Spans under way

// Counts one more span that waits. Returns false, and counts nothing, if too many wait.
static bool count_in(struct shard *shard, uint64_t bytes) {
    struct trace_hub *hub = trace_hub_of(shard);
    uint32_t before = atomic_fetch_add_explicit(&hub->spans, 1, memory_order_relaxed);
    uint64_t bytes_before = atomic_fetch_add_explicit(&hub->span_bytes, bytes, memory_order_relaxed);
    uint64_t quarter = quota_bytes_max(&shard->quota) / 4;
    uint64_t most = quarter < TRACE_SPAN_BYTES_MAX ? quarter : TRACE_SPAN_BYTES_MAX;
    if (before < TRACE_SPANS_MAX && bytes_before + bytes <= most)
        return true;
    atomic_fetch_sub_explicit(&hub->spans, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&hub->span_bytes, bytes, memory_order_relaxed);
    return false;
}

static void count_out(struct shard *shard, uint64_t bytes) {
    assert(atomic_load_explicit(&trace_hub_of(shard)->spans, memory_order_relaxed) > 0);
    atomic_fetch_sub_explicit(&trace_hub_of(shard)->spans, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&trace_hub_of(shard)->span_bytes, bytes, memory_order_relaxed);
}

struct text *trace_text_begin(struct shard *shard) {
    struct text *json = &trace_of(shard)->json;
    json->length = 0;
    json->failed = false;
    return json;
}

void trace_submit(struct shard *shard) {
    const struct text *json = &trace_of(shard)->json;
    struct span_record *record = NULL;
    uint64_t bytes = sizeof *record + 1 + json->length;
    bool is_counted = !json->failed && count_in(shard, bytes);
    if (is_counted)
        record = quota_take(&shard->quota, bytes);
    if (!record) {
        if (is_counted)
            count_out(shard, bytes);
        trace_count(shard, TRACE_COUNT_DROPPED_QUEUE, 1);
        return;
    }
    assert(json->length > 0 && json->bytes[0] == '{');
    *record = (struct span_record){.bytes = (uint32_t)json->length + 1};
    record->json[0] = ',';
    memcpy(record->json + 1, json->bytes, json->length);
    list_init(&record->link);
    record->mail.kind = FEATURE_KIND(FEATURE_TRACE, TRACE_MAIL_SPAN);
    post_mail(shard, 0, &record->mail);
}

void trace_give(struct shard *shard, struct span_record *record) {
    count_out(shard, sizeof *record + record->bytes);
    quota_give(&shard->quota, record);
}
