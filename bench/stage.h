// The objects of the benchmarks, behind a face that C++ can read: core's own headers use C11 atomics.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- route: one request and its response through core alone

struct route_stage;

// Requests with bodies of `body_bytes`, `batch` of them side by side in one buffer, the id last or first.
struct route_stage *route_stage_open(uint32_t body_bytes, uint32_t batch, int id_last);
void route_stage_close(struct route_stage *stage);
// Routes the batch of requests to an agent's outbox, gathers that, routes the responses back, gathers those.
// Returns the bytes that would have been sent; 0 when anything went wrong.
size_t route_stage_turn(struct route_stage *stage);

// --- send: a queue of spliced frames as one send or several

struct send_stage;

struct send_stage *send_stage_open(uint32_t frame_bytes, uint32_t frames);
void send_stage_close(struct send_stage *stage);
// Each returns how many vectors it wrote to `out`, which has room for 4 a frame.
// All bytes copied together.
unsigned send_stage_copied(struct send_stage *stage, struct iovec *out);
// Each piece a vector.
unsigned send_stage_vectors(struct send_stage *stage, struct iovec *out);
// Gathers by outbox_gather, one send_op after the other; `send` is called with each.
void send_stage_gathered(struct send_stage *stage,
                         void (*send)(void *context, struct iovec *vectors, unsigned count), void *context);

// --- pending: the table of requests under way

struct pending_stage;

// `under_way` requests are in the table, whose ids have `id_bytes` bytes.
struct pending_stage *pending_stage_open(uint32_t under_way, uint32_t id_bytes);
void pending_stage_close(struct pending_stage *stage);
// The oldest one's response comes: it is found by its hub id and ends; a new one takes its place. 0 when it
// wasn't found.
int pending_stage_turn(struct pending_stage *stage);

// --- topics: from an event's name to its topics

struct topics_stage;

// `exact` topics of an exact name, and one prefix for each of `prefixes` lengths, each with a subscriber.
struct topics_stage *topics_stage_open(uint32_t exact, uint32_t prefixes);
void topics_stage_close(struct topics_stage *stage);
// The name of exact topic `index`; returns its length.
size_t topics_stage_name(uint32_t index, char *name, size_t capacity);
// How many topics an event of this name belongs to.
size_t topics_stage_match(struct topics_stage *stage, const char *name, size_t bytes);

// --- rights: a message and what its user may do

struct rights_stage;

// A user who may call so many agents, every second one of them by a beginning of names, with so many denials.
struct rights_stage *rights_stage_open(uint32_t patterns, uint32_t denials);
void rights_stage_close(struct rights_stage *stage);
// The name of an agent that pattern `index` is about; returns its length.
size_t rights_stage_name(uint32_t index, char *name, size_t capacity);
// Whether a message to that agent may pass and isn't held.
int rights_stage_call(struct rights_stage *stage, const char *agent, size_t bytes);
// Whether it is within its user's limits.
int rights_stage_limits(struct rights_stage *stage, const char *agent, size_t bytes);

// --- mailbox: pointers from one thread to another

enum mailbox_kind { MAILBOX_OURS, MAILBOX_CK };

struct mailbox_stage;

// Starts a producer that posts for ever and publishes every `batch` pieces.
struct mailbox_stage *mailbox_stage_open(enum mailbox_kind kind, uint32_t batch);
void mailbox_stage_close(struct mailbox_stage *stage);
// Takes `count` pieces; 0 when one was out of order.
int mailbox_stage_take(struct mailbox_stage *stage, uint32_t count);

#ifdef __cplusplus
}
#endif
