// One question to all servers that a user reaches, in the order of the configuration, and their answers.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/message/message.h"
#include "router/features/mcp_http/mcp_client_types.h"

struct child_settings;
struct mcp_post;

// A server's part.
struct mcp_part {
    const char *name; // of the server, in the gather's memory
    uint32_t name_bytes;
    uint32_t pages;             // that have arrived
    struct mcp_call *call;      // that asks it now; or NULL
    struct parcel_list answers; // without those that are errors, but for the last of no other
    bool failed;                // the last answer is an error, or there is none
};

struct mcp_gather {
    struct mcp_call *call; // the client's, that waits for it; its exchange is open
    // All have answered, or won't: frees the gather by mcp_gather_free, and answers the call.
    void (*ended)(struct shard *shard, struct mcp_gather *gather);
    // Writes the question, with this id and, where bytes isn't 0, this cursor, a JSON string.
    void (*put)(const struct mcp_gather *gather, struct text *body, const char *cursor, size_t bytes);
    // Takes a notification about a part that listens; false: it isn't taken. NULL: none is taken.
    bool (*take_notification)(struct shard *shard, struct mcp_gather *gather, struct parcel *parcel);
    // A part has been answered, and others haven't. NULL: nothing is to be done.
    void (*part_ended)(struct shard *shard, struct mcp_gather *gather);
    // Returns the client that asks the server of this name, or NULL where there is no room. NULL as a function: the call's own.
    struct mcp_client *(*client_for)(struct shard *shard, struct mcp_client *own, const char *name,
                                     size_t bytes);
    // The time for all of them (--mcp-gather) is over, and some haven't answered. NULL: each has a time of its own.
    void (*late)(struct shard *shard, struct mcp_gather *gather);
    uint32_t count, open;
    uint32_t acknowledged;  // of parts that listen, how many have been
    uint32_t honoured;      // the kinds of changes that any part honours, as bits
    bool is_acknowledged;   // the client has its acknowledgement
    bool ends_well;         // it was cancelled by the hub, and has a result
    const char *subject;    // the member of params with the name or URI; static
    bool is_reference;      // of params.ref
    uint32_t step;          // the caller's
    bool is_cancelled;      // the client has given up the call
    bool is_unsent_call;    // a tools/call that no server has got
    enum error error;       // by which the hub has answered the call
    bool pages;             // all of a list are asked for
    const char *list;       // then, its member of results; static
    const char *method;     // static, or in the gather's memory
    struct message message; // the client's
    struct frame frame;
    struct unit unit;
    char *names;
    struct mcp_part parts[];
};

// Returns the body of the client's message.
static inline const uint8_t *mcp_gather_body(const struct mcp_gather *gather) {
    return frame_body(&gather->frame);
}
// Whether a section is of a server that a user may call.
bool mcp_gather_reaches(const struct child_settings *child, const struct user *user);
// Whether it serves a user's clients, be it in a session: a server without sessions doesn't there.
bool mcp_gather_serves(const struct shard *shard, const struct child_settings *child, const struct user *user,
                       bool in_session);
// Begins a gather for a call whose exchange is open, and keeps the client's message. NULL without memory. Nothing is asked yet.
struct mcp_gather *mcp_gather_begin(struct shard *shard, struct mcp_call *call, const struct mcp_post *post);
// A gather's `put`: writes the client's message unchanged. There is no cursor.
void mcp_gather_put_same(const struct mcp_gather *gather, struct text *body, const char *cursor,
                         size_t bytes);
// Asks all; `ended` may have been called before it returns.
void mcp_gather_ask(struct shard *shard, struct mcp_gather *gather);
// Asks one of them; likewise.
void mcp_gather_ask_one(struct shard *shard, struct mcp_gather *gather, uint32_t index);
// Gives up a gather whose client has given up the call.
void mcp_gather_cancel(struct shard *shard, struct mcp_gather *gather);
void mcp_gather_free(struct shard *shard, struct mcp_gather *gather);
