// The other side of a case: the hub on the simulated kernel, or a real patchbayd behind sockets.
//
// Each backend waits for the effect of a call, and gives up after PATIENCE_NS; none waits for a while and
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
    const char
        *config; // simulated: a configuration file's text, with children that the case plays; NULL: none
    const char *users;            // simulated: a users file's text; NULL: none
    const char *const *hub_users; // of several hubs: what each has instead of that one; NULL: that one
    // For several hubs: further options of each. 0: a backend that has several gives peers to them in turns.
    const char *const *hub_options;
    unsigned hub_count;
    // Or at which of two a peer is, an x or y for each, the last of them for all that follow; "": in turns.
    const char *order;
    bool silent; // what doesn't hold isn't told: it is known
};

// A connection, as the backend keeps it.
struct line;
// The wire of a line.
enum line_wire { LINE_FRAMES, LINE_LINES, LINE_HTTP };
enum line_state { LINE_OPEN, LINE_ENDED, LINE_RESET };

struct backend {
    const char *name;
    bool simulated;
    // Rounds of pings after which all earlier effects have arrived. With several shards, messages may take
    // some hops from one to another, and a ping is a hop at least.
    unsigned rounds;

    // Gets a hub that nobody is connected to. False, with the reason appended to `why`.
    bool (*begin)(const struct setup *setup, struct text *why);
    // Ends the case once all lines are closed. False when the hub doesn't let go of what the case left, or
    // ends badly. After a case that `failed` the hub may be in any state.
    bool (*end)(bool failed, struct text *why);
    // Stops what still runs. False when it ends badly.
    bool (*stop)(struct text *why);

    // Where those connect who come from now on, one of the setup's hubs. NULL: there is one hub.
    void (*at)(unsigned hub);
    struct line *(*dial)(enum line_wire wire);
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
    // By how much a counter of hub/stats has risen since the case began; UINT64_MAX: there is no such one. A real hub
    // is given time to count as many as are `wanted`.
    uint64_t (*count)(const char *name, uint64_t wanted);
    // Returns the lines of the audit journal since the case began, until the next call; NULL: there is none.
    const char *(*journal)(size_t *count);

    // --- For the simulated one alone

    // Waits until the keeper is to start this child, and starts it, or has it fail (errno). *line is its
    // standard input and output, but where it fails; *lines tells its wire. False: it isn't to be started.
    bool (*start)(const char *child, int error, struct line **line, bool *lines);
    // Whether that is so now.
    bool (*is_ordered)(const char *child);
    // Acts of a child: it ends with this status (as of wait; closes the line), closes its input, leaves
    // others in its group that outlast it.
    void (*exit)(struct line *line, int status);
    void (*close_input)(struct line *line);
    void (*leave_others)(struct line *line);
    // Waits until its group has been sent this signal.
    bool (*signalled)(struct line *line, int number);
    // The configuration file reads so from now on, and the hub is sent SIGHUP; the hub is sent SIGTERM; its keeper
    // is killed, or takes nothing, or takes it again.
    void (*reload)(const char *config);
    void (*reload_users)(const char *users); // likewise its users file
    void (*terminate)(void);
    void (*lose_keeper)(void);
    void (*occupy_keeper)(bool busy);
};

extern const struct backend backend_sim;
// Several hubs, joined through a simulated NATS server.
extern const struct backend backend_apart;
// On WebSocket peers of lines are carried by it.
extern const struct backend backend_tcp, backend_unix, backend_websocket;

// The program that the real backends start.
void real_use(const char *program);
