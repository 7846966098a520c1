// The last events of sessions' streams: a client whose connection is gone goes on behind the last event that it has
// (Last-Event-ID). What a session keeps is bounded by --mcp-history, and what all keep by an eighth of --max-memory. The
// oldest event goes first. All of it is shard 0's.
#pragma once

#include "core/base/text.h"
#include "router/features/mcp_http/mcp_client_types.h"

// A stream of events: that of GET, or of a request. It outlasts its connections, and its end as long as it has events.
struct mcp_history_stream {
    struct list link;  // in mcp_client.streams
    uint64_t number;   // in the session
    uint64_t opening;  // the number of the empty event with which it begins; 0: it begins with none
    uint64_t gone;     // the number of the last event that isn't kept any more; 0: all events are kept
    uint64_t sent;     // the number of the last event that went out on a connection
    uint32_t count;    // of events that are kept
    bool is_listening; // the stream is GET's
    bool is_over;      // no more events follow
};

// An event that is kept.
struct mcp_event {
    struct list by_session; // in mcp_client.events
    struct list by_age;     // in mcp_http.events
    struct mcp_client *client;
    struct mcp_history_stream *stream;
    uint64_t number; // among all events of the session
    uint32_t bytes;
    bool is_answer;
    char body[];
};

enum { MCP_EVENT_ID_BYTES = 2 * 20 + 2 }; // "STREAM-NUMBER", and a zero

// Whether a client's events are kept at all.
bool mcp_history_is_on(const struct shard *shard, const struct mcp_client *client);
// Makes a stream of a session. NULL without memory.
struct mcp_history_stream *mcp_history_begin(struct shard *shard, struct mcp_client *client);
// Ends a stream: no event is added from now on, and the stream is given back with its last event.
void mcp_history_end(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream);
// Numbers the next event of a session.
uint64_t mcp_history_number(struct mcp_client *client);
// Keeps a copy of an undressed body as the event of this number. False without room: then no client may go on before the event.
bool mcp_history_add(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream,
                     uint64_t number, const struct parcel *body, bool is_answer);
// Drops the oldest events until all bounds hold. An event that never went out is counted as lost.
void mcp_history_bound(struct shard *shard, const struct mcp_client *client);
void mcp_history_put_id(const struct mcp_history_stream *stream, uint64_t number,
                        char out[MCP_EVENT_ID_BYTES]);
// The stream of an event that its client has, and that event's number. NULL: there is no such event, or one behind it isn't
// kept any more.
struct mcp_history_stream *mcp_history_find(const struct mcp_client *client, const uint8_t *id, size_t bytes,
                                            uint64_t *number);
// The first event of a stream behind that number; NULL: there is none.
const struct mcp_event *mcp_history_next(const struct mcp_client *client,
                                         const struct mcp_history_stream *stream, uint64_t number);
// Returns an undressed parcel with a copy of an event's body; NULL without memory.
struct parcel *mcp_history_body(struct shard *shard, const struct mcp_event *event);
// Moves the events of a stream that never went out to another one of the session, under numbers of their own.
void mcp_history_move(struct mcp_client *client, struct mcp_history_stream *from,
                      struct mcp_history_stream *to);
// Gives back the events and streams of a session that ends. Events that never went out are counted as lost.
void mcp_history_free(struct shard *shard, struct mcp_client *client);
// Drops events, the oldest first, until half of the bytes of all sessions are left. False: there are no events.
bool mcp_history_relieve(struct shard *shard);
