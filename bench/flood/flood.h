// Floods: one peer, or a few, ask a hub for much at a time, again and again, while a bystander looks at its own service
// (bystander.c). Floods use plain sockets, which are read and written as epoll tells of them. The hub alone paces each
// flood: the next messages are sent when the earlier ones have come to their end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One connection.
struct flood_side {
    int socket; // -1: not open
    uint32_t index;
    const uint8_t *out; // still to be written
    size_t left;
    bool crowded;         // the socket has no room
    uint32_t frame_bytes; // that all frames that come have; 0: their header blocks say it
    char head[128];       // of the frame that is coming, as far as it is there
    uint32_t head_bytes;
    uint64_t body_left; // of it
    uint64_t seen;      // bytes of the frame that is coming, where all have one length
    uint64_t owed;      // frames that come before it goes on
};

struct flood {
    const struct flood_kind *kind;
    const char *hub;
    int epoll;
    struct flood_side *sides;
    uint32_t count;
    uint8_t **scripts; // what sides send, one each or shared
    size_t *script_bytes;
    uint32_t script_count;
    uint64_t owed; // by all sides together
    uint64_t done; // messages that have come to their end
    bool leaves;   // the source goes next
    const char *fault;
};

struct flood_kind {
    const char *name;
    const char *message; // what is counted
    bool (*open)(struct flood *flood);
    void (*begin)(struct flood *flood);
    // Called when so many frames came whole.
    void (*heard)(struct flood *flood, struct flood_side *side, uint64_t frames);
};

// Connects and greets. False with flood->fault set. flood_close is due in either case.
bool flood_open(struct flood *flood, const struct flood_kind *kind, const char *hub);
void flood_begin(struct flood *flood);
// Goes on until load_now_ns() is `until_ns`, or a fault.
void flood_run(struct flood *flood, uint64_t until_ns);
void flood_close(struct flood *flood);

// --- For the kinds

void flood_fail(struct flood *flood, const char *fault);
bool flood_sides(struct flood *flood, uint32_t count);
bool flood_scripts(struct flood *flood, uint32_t count);
// Connects a side; with a method, asks that first and waits for its answer.
bool flood_dial(struct flood *flood, struct flood_side *side, const char *method, const char *params);
void flood_hang_up(struct flood *flood, struct flood_side *side);
// Adds a frame with this body to a script.
bool flood_script_add(struct flood *flood, uint32_t script, const char *body, size_t bytes);
// Writes a script, as far as there is room now, and the rest when there is.
void flood_say(struct flood *flood, struct flood_side *side, uint32_t script);
