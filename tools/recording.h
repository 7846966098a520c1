// A recording (`patchbay record`) in memory: the messages with their bodies, how the requests ended, and between whom they
// went.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash_table.h"
#include "core/json/json.h"
#include "core/lookup/lookup.h"

enum {
    RECORDING_NONE = -1,
    RECORDING_NAME_BYTES_MAX = 1024, // longer than any that a hub gives
};

// A source or target, by the name that entries give it.
struct recorded_peer {
    struct hash_node by_name;
    int32_t index; // in recording.peers
    bool is_agent; // the name is an agentId, and no connection's number, nor a capability elsewhere
    bool sends;    // a message of the recording is the peer's
    bool serves;   // a message went to the peer
    size_t name_bytes;
    char name[];
};

struct recorded_message {
    uint64_t time_ms, number;
    int32_t source, target; // of recording.peers; the target may be RECORDING_NONE
    uint8_t *body;          // slack behind it
    uint32_t body_bytes;
    struct lookup found; // of the body
    // The end of a request, from its second entry.
    bool has_ended, is_error;
    uint32_t answer_bytes; // of the target's answer; 0: not known
    int64_t code;          // of the error
    uint64_t target_us;    // with the target
    uint64_t whole_us;     // in all
};

struct recorded_end;

struct recording {
    struct recorded_message *messages; // by their times
    size_t count;
    struct recorded_peer **peers;
    size_t peer_count;
    // While it is read.
    struct hash_table by_name;
    struct recorded_end *ends;
    size_t end_count, capacity, peer_capacity, end_capacity;
};

// Reads a file. False, with the fault and where it lies on standard error: the file can't be read, is no recording, or
// memory is used up. recording_deinit is due in either case.
bool recording_read(struct recording *recording, const char *path);
void recording_deinit(struct recording *recording);

static inline bool recorded_is_request(const struct recorded_message *message) {
    return message->found.kind == BODY_REQUEST;
}
// Where the id's JSON lies in the body of a request.
static inline struct span recorded_id(const struct recorded_message *message) {
    return message->found.value[KEY_ID];
}
