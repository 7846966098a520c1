// Chooses the stream for a message to a client of MCP over HTTP, and the form in which a call is answered.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// Takes a server's request or notification to a client.
void mcp_stream_take(struct shard *shard, struct mcp_client *client, struct parcel *parcel);
// Takes progress of a call. NULL: the call isn't known, and the progress is dropped.
void mcp_stream_report(struct shard *shard, struct mcp_call *call, struct peer *seat, struct parcel *parcel);
// Answers a call: as JSON, with this status and these lines of the head, or as the last event of its stream. Takes the
// parcel and `lines`, which may be NULL. The caller still owns the call.
void mcp_stream_answer(struct shard *shard, struct mcp_call *call, struct parcel *answer, unsigned status,
                       char *lines);
// Ends the exchange of a call that gets no answer.
void mcp_stream_end(struct shard *shard, struct mcp_call *call);
// Opens the stream of a GET, which replaces the client's earlier GET.
void mcp_stream_open(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http);
// Continues a stream on a GET, after the event with this id. Returns false, and does nothing, if there is no such
// event, or a later event isn't kept any more.
bool mcp_stream_resume(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http,
                       const uint8_t *id, size_t bytes);
// Returns whether streams begin with an empty event in this version of the legacy era. `version` is decoded.
bool mcp_stream_primes(const char *version, size_t bytes);
// Ends the stream of GET, if there is one. Later messages wait for the next GET.
void mcp_stream_end_listener(struct shard *shard, struct mcp_client *client);
// Ends the stream of GET, and drops the messages that wait and the events that are kept.
void mcp_stream_close(struct shard *shard, struct mcp_client *client);
// Handles the client's timer: sends comments on silent streams, ends what has waited for --mcp-gather, and closes an
// idle client.
void mcp_stream_expire(struct shard *shard, struct mcp_client *client);
