// A whole hub on the simulated kernel: its shards as coroutines in one thread, a virtual clock, and nothing
// that isn't decided by the seed.
#pragma once

#include "router/engine/shard/hub.h"
#include "router/engine/shard/shard.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim_io.h"

enum { WORLD_SHARDS_MAX = 3 };

struct world_options {
    uint64_t seed;
    uint64_t table_secret; // changes the key of the hash tables, and nothing else
    uint32_t shard_count;
    struct limits limits;
    uint64_t own[FEATURES_MAX][OPTIONS_OWN_MAX]; // values of features' options; 0: as by default
    bool takeover;
    bool strict;         // validation
    const char *journal; // its file's name, or NULL
    bool half_close_leaves;
    bool is_unobserved;                       // no request is observed; else all are, with 2 shards or more
    bool secure;                              // connections are, by the toy cipher
    bool keeps;                               // there is a keeper, and so there may be children
    struct child_settings *(*children)(void); // reads their sections, linked; NULL: there are none
    // Reads the users file; `before` is the one in use, or NULL. NULL: there are no users.
    struct users *(*users)(const struct users *before);
    enum governance approval_level;      // that the gate holds; 0: there is none
    const struct hub_settings *settings; // instead of all these, when given
    uint16_t no_memory;    // of a shard's turns, in thousandths, those in which an allocation fails
    uint32_t kept_room;    // of what may be kept, what is left; 0: all of it
    uint32_t mailbox_room; // a power of two, from 4 to MAILBOX_MESSAGES; 0: that
    struct sim_faults faults;
    const struct turn_bounds *bounds; // NULL: the hub's own
};

// The memory that the hub may have at each step: its memory when open and idle, the bound, and a slack. The slack is
// for memory that no bound counts, because such memory goes with connections and with steps under way.
struct resident {
    size_t base; // when the world was opened, but for what the budget counts
    uint64_t bound;
    uint64_t above; // the least that there was since the bound was lowered
};

struct world {
    struct random random;
    struct kernel *kernel;
    struct hub *hub;
    struct shard *shards[WORLD_SHARDS_MAX];
    struct fiber *fibers[WORLD_SHARDS_MAX];
    uint32_t shard_count;
    uint16_t no_memory;
    uint64_t kept_bytes; // that no shard has taken: others' (world_options.kept_room)
    bool stuck;          // files may not be cut back, so that torn lines stay
    int listener, lines_listener, http_listener;
    struct limits limits;                     // that world_reload has the hub read
    struct child_settings *(*children)(void); // likewise
    struct users *(*users)(const struct users *before);
    struct resident resident;
    struct sim_account memory;
};

// Options without faults, with the documented limits.
void world_defaults(struct world_options *options, uint64_t seed, uint32_t shard_count);

// Opens hub and shards and begins to listen. A run may have several worlds, if they agree on mailbox_room. Each world
// has a kernel, and so a clock, of its own.
void world_open(struct world *world, const struct world_options *options);
// Does one piece of the kernel's work or one turn of a shard. Returns false when all wait for time or for peers.
bool world_step(struct world *world);
// Steps until there is nothing to do without time passing.
void world_settle(struct world *world);
// Lets time pass, in the steps in which something is due.
void world_pass(struct world *world, uint64_t ns);
// When the next shard, or the kernel, has something to do by the clock; UINT64_MAX: never.
uint64_t world_next_ns(const struct world *world);
// Has the hub read its configuration again, and find these limits; not with world_options.settings.
void world_reload(struct world *world, const struct limits *limits);
struct cable *world_dial(struct world *world);
// The same where one JSON text a line is spoken.
struct cable *world_dial_lines(struct world *world);
// The same where HTTP is spoken.
struct cable *world_dial_http(struct world *world);
// While nothing is on its way: fails where one shard's agents aren't the others'.
void world_check_agents(const struct world *world);
// Returns whether all shards have had their last turn.
bool world_stopped(const struct world *world);
// Drains the hub as SIGTERM does and runs it to its end; a hub that doesn't end fails. Peers that wait for
// the hub to speak may hold it up to the drain's time.
void world_stop(struct world *world);
// Closes a world that has stopped, and checks that nothing is left: no socket, no buffer, no agent, no debt.
void world_close(struct world *world);
