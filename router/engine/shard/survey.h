// Results of a look at all connections of a shard (survey_scan.h), published for all shards to read.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/wheel.h"

enum { SURVEY_ROWS_MAX = 10 };

struct survey_row {
    uint64_t connection;
    uint64_t value; // by which rows are ranked, the highest first
    uint64_t count;
};

struct survey_list {
    uint64_t count; // of rows
    struct survey_row rows[SURVEY_ROWS_MAX];
};

// A session of HCS. The session's name isn't here: a client that knows the name may join.
struct survey_session {
    uint64_t producer;   // connection
    uint64_t flow_state; // enum hcs_flow_state: what the producer has been told
    uint64_t clients, over, stuck;
    uint64_t seq; // of the last chunk
    uint64_t history_bytes;
};

struct survey_sessions {
    uint64_t count; // of rows
    struct survey_session rows[SURVEY_ROWS_MAX];
};

struct survey_page {
    uint64_t at_ms;                  // when it was finished
    struct survey_sessions sessions; // those that most clients don't keep up with
    struct survey_list deepest;      // bytes and frames that wait for a connection
    struct survey_list
        slowest; // ms since the oldest request came that it owes this shard, and how many it owes
};

enum { SURVEY_WORDS = sizeof(struct survey_page) / sizeof(uint64_t) };

struct survey {
    // The shard's own.
    struct timer timer; // armed while it is wanted
    uint64_t began_ms;
    uint64_t looked_ns;             // when the processor was last looked at
    bool looking;                   // one is under way
    uint32_t next_slot, next_chain; // where to go on
    uint64_t bytes, frames;         // that wait, so far
    struct survey_page page;        // so far
    // The last two that were finished; the edition says which is the last one.
    _Atomic uint32_t edition;
    _Atomic uint64_t words[2][SURVEY_WORDS];
};

// `kind` is its timer's.
void survey_init(struct survey *survey, uint8_t kind);
// Puts a row in its place; the least one falls out where there are too many.
void survey_rank(struct survey_list *list, struct survey_row row);
void survey_rank_session(struct survey_sessions *list, const struct survey_session *row);
// Publishes its page, as finished now. On the thread of its shard.
void survey_publish(struct survey *survey, uint64_t now_ms);
// Reads the last one, on any thread; false when there is none.
bool survey_read(const struct survey *survey, struct survey_page *page);
