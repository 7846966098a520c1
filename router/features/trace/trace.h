// Traces: how many requests have a span, and where spans go. router/features/observe decides what a span tells.
//
//     a request is taken in ──sampled?──▶ it is observed ──ends──▶ its span ──mail──▶ shard 0 ──a POST a second──▶ collector
//
// No request waits for a span: a span past a bound is dropped, and counted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/siphash.h"
#include "core/base/text.h"
#include "core/requests/trace_context.h"
#include "router/engine/shard/shard.h"
#include "router/features/feature_list.h"

enum {
    TRACE_SPANS_MAX = 8192,         // spans of the whole hub that wait
    TRACE_SPAN_BYTES_MAX = 4 << 20, // bytes of these spans
};

#define TRACE_UNDRAWN UINT64_MAX // is no value of --trace-sample

// Values of the feature's options (OPTION_OWN).
enum { TRACE_OWN_SAMPLE, TRACE_OWN_RATE, TRACE_OWN_PARENT };

// Counters (trace_feature.c has their rows).
enum trace_counter {
    TRACE_COUNT_EXPORTED,
    TRACE_COUNT_DROPPED_QUEUE,
    TRACE_COUNT_DROPPED_RATE,
    TRACE_COUNT_DROPPED_REFUSED,
    TRACE_COUNT_ANSWERS_UNREAD,
    TRACE_COUNTERS
};

// Kinds of the feature's mail, timers and tokens.
enum trace_mail { TRACE_MAIL_SPAN };
enum trace_timer { TRACE_TIMER_EXPORTER };
enum trace_token { TRACE_TOKEN_CONNECT, TRACE_TOKEN_SEND, TRACE_TOKEN_RECEIVE, TRACE_TOKEN_RESOLVER };

struct span_exporter;

struct trace {
    uint64_t coin;                  // the state of the random generator for requests without a context
    uint64_t passed_over;           // how many of these requests come before the next one with a span
    uint64_t drawn_for;             // the --trace-sample for which passed_over was drawn; or TRACE_UNDRAWN
    uint64_t made;                  // how many names of 16 bytes were made, for traces and spans
    uint8_t spare[SIPHASH_BYTES];   // 16 bytes that name two spans
    bool has_spare;                 // the second half is unused
    struct text json;               // of the span that is being written, whose memory serves the next one
    struct span_exporter *exporter; // at shard 0; elsewhere NULL
};

// Counts that all shards share.
struct trace_hub {
    _Atomic uint64_t
        second; // the second in the upper half, the requests sampled in that second in the lower half
    _Atomic uint32_t spans;      // spans that wait for the collector
    _Atomic uint64_t span_bytes; // bytes of these spans
};

// A span that waits. The mailbox owns the record, then the exporter.
struct span_record {
    struct mail mail;
    struct list link; // in the exporter's queue
    uint32_t bytes;
    char json[]; // a comma and the span
};

static inline struct trace *trace_of(const struct shard *shard) {
    return shard->states[FEATURE_TRACE];
}
static inline struct trace_hub *trace_hub_of(const struct shard *shard) {
    return shard->hub->states[FEATURE_TRACE];
}
// Returns whether the hub has a collector.
static inline bool trace_is_on(const struct shard *shard) {
    return trace_of(shard) != NULL;
}
// Returns whether the hub's spans take the place of their parents in forwarded messages.
static inline bool trace_replaces_parent(const struct shard *shard) {
    return shard->settings->own[FEATURE_TRACE][TRACE_OWN_PARENT] != 0;
}
// Draws how many requests are passed over until the next one with a span. Returns whether this request has one.
bool trace_draw(struct shard *shard);
// Passes over a request without a context if the last draw says so. Returns false if the next request must be drawn
// for.
static inline bool trace_passes(struct shard *shard) {
    struct trace *trace = trace_of(shard);
    bool passes =
        trace->passed_over > 0 && trace->drawn_for == shard->settings->own[FEATURE_TRACE][TRACE_OWN_SAMPLE];
    trace->passed_over -= passes;
    return passes;
}
// Returns whether a request without a context has a span, by chance.
static inline bool trace_draws(struct shard *shard) {
    return !trace_passes(shard) && trace_draw(shard);
}
// Returns whether a sampled request is within the rate. Counts a dropped span if not.
bool trace_admits(struct shard *shard);
// Writes the digits of a new trace and of a new span; `trace` NULL: of a span alone. No two are alike, and nobody can
// foretell them.
void trace_name(struct shard *shard, char *trace, char span[TRACE_PARENT_DIGITS]);
// Returns an empty text for the JSON of a span. The text is the shard's.
struct text *trace_text_begin(struct shard *shard);
// Posts the span of the shard's text to shard 0, as a copy. Past a bound, without memory, or if the text has failed,
// the span is dropped and counted.
void trace_submit(struct shard *shard);
// Frees a record whose span waits no more.
void trace_give(struct shard *shard, struct span_record *record);
// Adds to one of the feature's counters.
void trace_count(struct shard *shard, enum trace_counter counter, uint64_t count);
