// Reads a recording (`patchbay record`) into memory: the messages with their bodies, sources and targets, and the ends
// of the requests.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash_table.h"
#include "core/json/json.h"
#include "core/lookup/lookup.h"

enum {
    RECORDING_NONE = -1,
    RECORDING_NAME_BYTES_MAX = 1024, // longer than any name that a hub gives
};

// A source or target, under the name that entries give.
struct recorded_peer {
    struct hash_node by_name;
    int32_t index; // in recording.peers
    bool is_agent; // the name is an agentId, not a connection's number or a remote capability
    bool sends;    // the peer is the source of a message
    bool serves;   // the peer is the target of a message
    size_t name_bytes;
    char name[];
};

struct recorded_message {
    uint64_t time_ms, number;
    int32_t source, target; // indexes in recording.peers; the target may be RECORDING_NONE
    uint8_t *body;          // with slack behind the bytes
    uint32_t body_bytes;
    struct lookup found; // of the body
    // The end of a request, from its second entry.
    bool has_ended, is_error;
    uint32_t answer_bytes; // of the target's answer; 0: not known
    int64_t code;          // of the error
    uint64_t target_us;    // the time at the target
    uint64_t whole_us;     // the time from arrival to answer
};

struct recorded_end;

struct recording {
    struct recorded_message *messages; // in the order of their times
    size_t count;
    struct recorded_peer **peers;
    size_t peer_count;
    // Used while the file is read.
    struct hash_table by_name;
    struct recorded_end *ends;
    size_t end_count, capacity, peer_capacity, end_capacity;
};

// Reads a file. Returns false, and prints the fault and its place on standard error, if the file can't be read, is no
// recording, or without memory. The caller calls recording_deinit in either case.
bool recording_read(struct recording *recording, const char *path);
void recording_deinit(struct recording *recording);

static inline bool recorded_is_request(const struct recorded_message *message) {
    return message->found.kind == BODY_REQUEST;
}
// Returns the place of the id's JSON in the body of a request.
static inline struct span recorded_id(const struct recorded_message *message) {
    return message->found.value[KEY_ID];
}
