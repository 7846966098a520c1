// Presence: the hub's events about agents that have come or gone.
//
// The last shard applies each order when all others have. What that shard has applied therefore holds everywhere: an
// agent that came can be reached, an agent that went can't. The last shard notes such changes, in the order of the
// registry, and publishes the changes once a turn (router/events/events.h). Without subscribers nothing is noted.
//
// Agents of other hubs are noted on shard 0 (remote_presence.h), and published with the name of their hub. Other hubs
// with subscribers get the changes of this hub's agents that they can reach.
//
// A child comes when it is first ready, and again when its description changes. A child that restarts hasn't left. The
// instances of a pool are one agent.
#pragma once

#include "router/engine/shard/shard.h"
#include "router/registry/orders.h"

#define PRESENCE_REGISTERED_EVENT EVENT_OF_HUB "agent-registered"
#define PRESENCE_LEFT_EVENT       EVENT_OF_HUB "agent-left"

enum {
    PRESENCE_CHANGES_MAX = 4096,                   // changes that some subscribers haven't got yet
    PRESENCE_CAPABILITIES_BYTES_MAX = 1024 * 1024, // capabilities that these changes hold
    PRESENCE_TOLD_BYTES_MAX = 4 * 1024,            // capabilities in an event
};

enum presence_reason {
    PRESENCE_REGISTERED, // the agent has come; the other reasons say why it left
    PRESENCE_UNREGISTERED,
    PRESENCE_DISCONNECTED,
    PRESENCE_REPLACED,
    PRESENCE_RIGHTS,
    PRESENCE_STOPPED,
};

struct presence_change {
    struct list link; // in shard.presence.changes, until the change is published
    uint32_t references;
    enum presence_reason reason;
    enum governance governance;
    uint64_t connection; // of the agent; it gets no events about its own agents
    bool local_only;     // other hubs can't reach the agent
    struct hub_name hub; // of the agent; bytes 0: this hub
    // One reference; NULL: neither told nor needed to judge who may see the agent
    struct capabilities *capabilities;
    uint32_t agent_id_bytes;
    char agent_id[AGENT_ID_BYTES_MAX];
};

// The state of an agent that is about to be registered.
struct presence_state {
    // The same connection has registered the agent with the same description
    bool is_unchanged;
    struct presence_change *replaced; // the change of the agent of that name on another connection; or NULL
};

// Notes a change of an agent of another hub, on shard 0. Takes a reference of the capabilities, which may be NULL.
void presence_note_remote(struct shard *shard, const struct presence_change *change);
// Tells subscribers that they have missed a change with this reason.
void presence_miss(struct shard *shard, enum presence_reason reason);
// Called before and after a registration is applied on this shard.
void presence_prepare(struct shard *shard, const struct order *order, struct presence_state *previous);
void presence_follow(struct shard *shard, const struct order *order, const struct presence_state *previous);
// Notes that an agent is about to be removed from this shard.
void presence_leave(struct shard *shard, struct agent *agent, enum presence_reason reason);
// Notes that a child's program has ended and isn't started again.
void presence_stop(struct shard *shard, struct agent *agent);

struct presence_change *presence_hold(struct presence_change *change);
void presence_drop(struct shard *shard, struct presence_change *change);
// Returns whether a user (NULL: any) may see the agent, as in hub/agents. Any shard may ask.
bool presence_is_seen(const struct presence_change *change, const struct user *user);
// Returns the reason's name, static.
const char *presence_reason_text(enum presence_reason reason);
// Returns the reason of this name; PRESENCE_REGISTERED: the text names none.
enum presence_reason presence_reason_read(const char *text, size_t bytes);
