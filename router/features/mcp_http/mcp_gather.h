// Asks all servers that a user reaches one question, in the order of the configuration, and collects the answers.
#pragma once

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/message/message.h"
#include "router/features/mcp_http/mcp_client_types.h"

struct child_settings;
struct mcp_post;

// A server's part of a gather.
struct mcp_part {
    const char *name; // of the server, in the gather's memory
    uint32_t name_bytes;
    uint32_t pages;             // pages that have arrived
    struct mcp_call *call;      // the call that asks the server now; or NULL
    struct parcel_list answers; // good answers; an error is kept only as the first answer
    bool failed;                // the last answer is an error, or there is none
};

struct mcp_gather {
    struct mcp_call *call; // the client's call, which waits for the gather; its exchange is open
    // Called when all servers that were asked have answered, or can't. Must answer the call and free the gather by
    // mcp_gather_free, or ask on.
    void (*ended)(struct shard *shard, struct mcp_gather *gather);
    // Writes the question to a server. If `bytes` isn't 0, the question has this cursor, a JSON string.
    void (*put)(const struct mcp_gather *gather, struct text *body, const char *cursor, size_t bytes);
    // Takes a notification for a part's subscription; false: the notification isn't taken. NULL: no notification is
    // taken.
    bool (*take_notification)(struct shard *shard, struct mcp_gather *gather, struct parcel *parcel);
    // Called when a part has ended and others haven't; or NULL.
    void (*part_ended)(struct shard *shard, struct mcp_gather *gather);
    // Returns the client that asks the server of this name; NULL: there is no room. If the function is NULL, the call's
    // own client asks.
    struct mcp_client *(*client_for)(struct shard *shard, struct mcp_client *own, const char *name,
                                     size_t bytes);
    // Called when --mcp-gather has passed and some servers haven't answered; or NULL.
    void (*late)(struct shard *shard, struct mcp_gather *gather);
    uint32_t count, open;   // of all parts; of parts that haven't ended
    uint32_t acknowledged;  // how many parts' subscriptions were acknowledged
    uint32_t honoured;      // a bit for each kind of change that any server honours
    bool is_acknowledged;   // the client has its acknowledgement
    bool ends_well;         // the hub has cancelled the gather, and the client gets a result
    const char *subject;    // the member of params with the name or URI; static
    bool is_reference;      // `subject` is a member of params.ref
    uint32_t step;          // for mcp_all.c: the list that is asked for, or the part
    bool is_cancelled;      // the call was given up, by the client or by the hub
    bool is_passed;         // servers got the client's message itself
    bool is_answered;       // the hub has answered the call with a result
    enum error error;       // the hub's answer to the call, or ERROR_CANCELLED; else ERROR_NONE
    bool pages;             // all pages of a list are asked for
    const char *list;       // with `pages`: the result's member with the list; static
    const char *method;     // static, or in the gather's memory
    struct message message; // the client's message
    struct frame frame;
    struct unit unit;
    char *names;
    struct mcp_part parts[];
};

// Returns the body of the client's message.
static inline const uint8_t *mcp_gather_body(const struct mcp_gather *gather) {
    return frame_body(&gather->frame);
}
// Returns whether a section is of an MCP server that the user may call.
bool mcp_gather_reaches(const struct child_settings *child, const struct user *user);
// Returns whether a section's server serves the user's clients. `in_session`: a server without sessions doesn't.
bool mcp_gather_serves(const struct shard *shard, const struct child_settings *child, const struct user *user,
                       bool in_session);
// Begins a gather for a call whose exchange is open, and keeps the client's message. Asks no server yet. Returns NULL
// without memory.
struct mcp_gather *mcp_gather_begin(struct shard *shard, struct mcp_call *call, const struct mcp_post *post);
// Writes the client's message unchanged, as a gather's `put`. There is no cursor.
void mcp_gather_put_same(const struct mcp_gather *gather, struct text *body, const char *cursor,
                         size_t bytes);
// Asks all servers. `ended` may be called before this returns.
void mcp_gather_ask(struct shard *shard, struct mcp_gather *gather);
// Asks the server of one part. `ended` may be called before this returns.
void mcp_gather_ask_one(struct shard *shard, struct mcp_gather *gather, uint32_t index);
// Cancels all calls of a gather, for its client or for the hub. `ended` may be called before this returns.
void mcp_gather_cancel(struct shard *shard, struct mcp_gather *gather);
// Cancels the questions to servers alone. `ended` isn't called: the caller answers the call and frees the gather.
void mcp_gather_cancel_questions(struct shard *shard, struct mcp_gather *gather);
// Frees a gather and the answers, and cancels questions that another client asks.
void mcp_gather_free(struct shard *shard, struct mcp_gather *gather);
