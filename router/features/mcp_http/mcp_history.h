// Keeps the last events of sessions' streams. A client that connects again continues after the last event that it has
// (Last-Event-ID). --mcp-history bounds the events of one session, and an eighth of --max-memory the events of all
// sessions. The oldest events are dropped first. Shard 0 keeps all events.
#pragma once

#include "core/base/text.h"
#include "router/features/mcp_http/mcp_client_types.h"

// A stream of events: of a GET, or of a request. A stream outlasts its connections. When a stream has ended, it stays
// as long as it has events.
struct mcp_history_stream {
    struct list link;  // in mcp_client.streams
    uint64_t number;   // of the stream, in its session
    uint64_t opening;  // the number of the empty event with which it begins; 0: it begins with none
    uint64_t gone;     // the number of the last event that isn't kept any more; 0: all events are kept
    uint64_t sent;     // the number of the last event that went out on a connection
    uint32_t count;    // how many events are kept
    bool is_listening; // the stream is GET's
    bool is_over;      // no more events follow
};

// An event of a stream, kept for a client that connects again.
struct mcp_event {
    struct list by_session; // in mcp_client.events
    struct list by_age;     // in mcp_http.events
    struct mcp_client *client;
    struct mcp_history_stream *stream;
    uint64_t number; // among all events of the session
    uint32_t bytes;  // of the body
    bool is_answer;
    char body[];
};

enum { MCP_EVENT_ID_BYTES = 2 * 20 + 2 }; // "STREAM-NUMBER", and a zero

// Returns whether a client's events are kept at all.
bool mcp_history_is_on(const struct shard *shard, const struct mcp_client *client);
// Makes a stream of a session. Returns NULL without memory.
struct mcp_history_stream *mcp_history_begin(struct shard *shard, struct mcp_client *client);
// Ends a stream: no more events may be added. The stream is freed with its last event.
void mcp_history_end(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream);
// Returns the number for the next event of a session.
uint64_t mcp_history_number(struct mcp_client *client);
// Keeps a copy of an unencoded body as the event of this number. Returns false without room; no client may then
// continue before this event.
bool mcp_history_add(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream,
                     uint64_t number, const struct parcel *body, bool is_answer);
// Drops the oldest events until all bounds hold. An event that was never sent is counted as lost.
void mcp_history_bound(struct shard *shard, const struct mcp_client *client);
// Writes the id of an event.
void mcp_history_put_id(const struct mcp_history_stream *stream, uint64_t number,
                        char out[MCP_EVENT_ID_BYTES]);
// Returns the stream of the event with this id, and the event's number. Returns NULL if no such event was sent, or a
// later event of the stream isn't kept any more.
struct mcp_history_stream *mcp_history_find(const struct mcp_client *client, const uint8_t *id, size_t bytes,
                                            uint64_t *number);
// Returns the first event of a stream after that number; or NULL.
const struct mcp_event *mcp_history_next(const struct mcp_client *client,
                                         const struct mcp_history_stream *stream, uint64_t number);
// Returns an unencoded parcel with a copy of an event's body; NULL without memory.
struct parcel *mcp_history_body(struct shard *shard, const struct mcp_event *event);
// Moves the events of `from` that were never sent to `to`, and gives them new numbers.
void mcp_history_move(struct mcp_client *client, struct mcp_history_stream *from,
                      struct mcp_history_stream *to);
// Frees the events and streams of a session that ends. Events that were never sent are counted as lost.
void mcp_history_free(struct shard *shard, struct mcp_client *client);
// Drops the oldest events until half of the bytes of all sessions are left. Returns false if there are no events.
bool mcp_history_relieve(struct shard *shard);
