// Which stream a message for a client of MCP over HTTP goes on, and in what form a call is answered.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// Takes a message of a server that is no answer: a question, or a notification.
void mcp_stream_take(struct shard *shard, struct mcp_client *client, struct parcel *parcel);
// Takes progress of a call. NULL: no call is known, and the progress is dropped.
void mcp_stream_report(struct shard *shard, struct mcp_call *call, struct peer *seat, struct parcel *parcel);
// Answers a call: as JSON, with this status and these lines of the head, or as the last event of its stream. Takes the parcel,
// and `lines`, which may be NULL. The caller still owns the call.
void mcp_stream_answer(struct shard *shard, struct mcp_call *call, struct parcel *answer, unsigned status,
                       char *lines);
// Ends the exchange of a call that gets no answer.
void mcp_stream_end(struct shard *shard, struct mcp_call *call);
// Opens the stream of a GET, which takes the place of the client's earlier GET.
void mcp_stream_open(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http);
// Has a GET go on behind the event with this id. False: there is no such event, or an event behind it isn't kept any more; then
// nothing has happened.
bool mcp_stream_resume(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http,
                       const uint8_t *id, size_t bytes);
// Whether streams begin with an empty event in this version of the legacy era, decoded.
bool mcp_stream_primes(const char *version, size_t bytes);
// Ends what GET has opened, and drops what waits.
void mcp_stream_close(struct shard *shard, struct mcp_client *client);
// The client's timer went off: comments on streams that have been silent, and the end of one that has been idle.
void mcp_stream_expire(struct shard *shard, struct mcp_client *client);
