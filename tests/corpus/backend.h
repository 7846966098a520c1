// What a case is played against: the hub on the simulated kernel, or a real patchbayd behind sockets.
//
// Each waits for what it is asked to bring about, and gives up after PATIENCE_NS; none waits for a while and
// hopes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

#define PATIENCE_NS UINT64_C(10000000000)

struct setup {
    const char *options; // of the hub, as on its command line; <journal> is a path for a journal
    bool strict;
    uint32_t shard_count;
    uint64_t rough;        // simulated: arrivals and sends are cut and late, as this seed has it; 0: smooth
    uint32_t window_bytes; // simulated: what the kernel keeps for a peer that doesn't read
};

// A connection, as the backend keeps it.
struct line;
enum line_state { LINE_OPEN, LINE_ENDED, LINE_RESET };

struct backend {
    const char *name;
    bool simulated;
    // Rounds of pings after which whatever was caused before has arrived: with several shards, messages may
    // take some hops from one to another, and a ping is a hop at least.
    unsigned rounds;

    // Gets a hub that nobody is connected to. False, with the reason appended to `why`.
    bool (*begin)(const struct setup *setup, struct text *why);
    // Ends the case once all lines are closed. False when the hub doesn't let go of what the case left, or
    // ends badly. After a case that `failed` the hub may be in any state.
    bool (*end)(bool failed, struct text *why);
    // Stops what still runs. False when it ends badly.
    bool (*stop)(struct text *why);

    // `lines`: where one JSON text a line is spoken.
    struct line *(*dial)(bool lines);
    bool (*write)(struct line *line, const void *bytes, size_t count);
    // Waits for bytes; 0 when patience is over, or at the end of the stream, which *state tells.
    size_t (*read)(struct line *line, void *out, size_t capacity, enum line_state *state);
    // Whether there is nothing to read now, not even the end.
    bool (*quiet)(struct line *line);
    void (*half_close)(struct line *line);
    // Makes the hub read an error instead of an end; closing follows.
    void (*reset)(struct line *line);
    // Closes and frees the line; `wait`: until the hub has noticed.
    void (*close)(struct line *line, bool wait);
    // Waits until the hub has closed its end.
    bool (*hub_closed)(struct line *line);
    void (*pass)(uint64_t ns);
    // By how much a counter of hub/stats has risen since the case began; UINT64_MAX: there is no such one.
    uint64_t (*count)(const char *name);
    // What has been written to the audit journal since the case began, until the next call; NULL: there is
    // none.
    const char *(*journal)(size_t *count);
};

extern const struct backend backend_sim;
extern const struct backend backend_tcp, backend_unix;

// The program that the real backends start.
void real_use(const char *program);
