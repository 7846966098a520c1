// Which stream a message for a client of MCP over HTTP goes on, and in what form a call is answered.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// A message of a server that is no answer: takes it.
void mcp_stream_take(struct shard *shard, struct mcp_client *client, struct parcel *parcel);
// Progress of a call, which may be NULL: takes it.
void mcp_stream_report(struct shard *shard, struct mcp_call *call, struct peer *seat, struct parcel *parcel);
// The answer to a call, which isn't freed: as JSON, with this status and these lines of the head, or as the last event.
// Takes the parcel, and `lines`, which may be NULL.
void mcp_stream_answer(struct shard *shard, struct mcp_call *call, struct parcel *answer, unsigned status,
                       char *lines);
// The call isn't answered.
void mcp_stream_end(struct shard *shard, struct mcp_call *call);
// GET has come: its stream is the client's from now on.
void mcp_stream_open(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http);
// GET goes on behind the event with this id. False: there is no such place, or what was behind it isn't all kept; nothing has
// happened.
bool mcp_stream_resume(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http,
                       const uint8_t *id, size_t bytes);
// Whether streams begin with an empty event in this version of the legacy era, decoded.
bool mcp_stream_primes(const char *version, size_t bytes);
// Ends what GET has opened, and drops what waits.
void mcp_stream_close(struct shard *shard, struct mcp_client *client);
// The client's timer went off: comments on streams that have been silent, and the end of one that has been idle.
void mcp_stream_expire(struct shard *shard, struct mcp_client *client);
