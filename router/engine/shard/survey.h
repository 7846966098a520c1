// Surveys: the results of a scan of all connections of a shard (survey_scan.h), which all shards may read.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/wheel.h"

enum { SURVEY_ROWS_MAX = 10 };

struct survey_row {
    uint64_t connection;
    uint64_t value; // the rank, highest first
    uint64_t count;
};

struct survey_list {
    uint64_t count; // of rows
    struct survey_row rows[SURVEY_ROWS_MAX];
};

// A session of HCS, without its name: a client that knows the name may join.
struct survey_session {
    uint64_t producer;   // the producer's connection
    uint64_t flow_state; // the enum hcs_flow_state that the producer was told last
    uint64_t clients, over, stuck;
    uint64_t seq; // of the last chunk
    uint64_t history_bytes;
};

struct survey_sessions {
    uint64_t count; // of rows
    struct survey_session rows[SURVEY_ROWS_MAX];
};

struct survey_page {
    uint64_t at_ms;                  // when the survey was finished
    struct survey_sessions sessions; // the sessions with the most clients that don't keep up
    struct survey_list deepest;      // the connections with the longest queues: bytes and frames
    // The connections with the oldest pending requests of this shard: age in ms, and count
    struct survey_list slowest;
};

enum { SURVEY_WORDS = sizeof(struct survey_page) / sizeof(uint64_t) };

struct survey {
    // Of the shard's thread alone.
    struct timer timer; // armed while surveys are wanted
    uint64_t began_ms;
    uint64_t looked_ns;             // when the shard's use of the processor was last read
    bool looking;                   // a survey is under way
    uint32_t next_slot, next_chain; // where the survey goes on
    uint64_t bytes, frames;         // in queues, so far
    struct survey_page page;        // the page so far
    // The last two pages; `edition` tells which is the last.
    _Atomic uint32_t edition;
    _Atomic uint64_t words[2][SURVEY_WORDS];
};

// Initialises a survey. `kind` is the kind of its timer.
void survey_init(struct survey *survey, uint8_t kind);
// Adds a row by its rank. The lowest row of a full list is dropped.
void survey_rank(struct survey_list *list, struct survey_row row);
void survey_rank_session(struct survey_sessions *list, const struct survey_session *row);
// Publishes the page, finished now, on the shard's thread.
void survey_publish(struct survey *survey, uint64_t now_ms);
// Reads the last page, on any thread. Returns false if there is none.
bool survey_read(const struct survey *survey, struct survey_page *page);
