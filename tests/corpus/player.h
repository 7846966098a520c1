// A peer of a case: one connection, with what has arrived on it and nobody has looked at.
#pragma once

#include <stdbool.h>

#include "core/base/text.h"
#include "tests/corpus/backend.h"
#include "tests/sim/naive.h"

enum { PLAYER_NAME_MAX = 72 };

struct player {
    char name[PLAYER_NAME_MAX];
    bool lines;        // it speaks lines
    bool child;        // its line is a child's standard input and output
    bool web;          // or HTTP (hcs_http_ingress.h)
    bool asks_head;    // what it asked last has an answer without a body
    struct line *line; // NULL: it has closed
    enum line_state state;
    bool half_closed; // by the peer
    struct text tail; // what it has sent behind its last whole frame
    uint8_t *bytes;   // arrived, from `at` to `end`
    size_t at, end, capacity;
    struct naive_frame *frames; // that arrived while something else was awaited; their memory is their own
    unsigned frame_at, frame_end, frame_capacity;
};

// Connects; false when nobody listens.
bool player_open(struct player *peer, const struct backend *backend, const char *name, enum line_wire wire);
// Makes the player a child that has been started, with this line.
void player_be_child(struct player *peer, const char *name, struct line *line, bool lines);
// Closes the connection, if it is open, and frees what there is.
void player_end(struct player *peer, const struct backend *backend);
bool player_send(struct player *peer, const struct backend *backend, const struct text *bytes);
// Makes one unit of the body, behind the header lines in `fields`. A line has none, and spaces for its body's
// line breaks.
void player_wrap(const struct player *peer, const struct text *fields, const struct text *body,
                 struct text *out);
// Makes spaces of line breaks.
void player_flatten(char *bytes, size_t count);

// Reads more of what has arrived; false when nothing comes.
bool player_more(struct player *peer, const struct backend *backend);
// The frame that arrived first, to be given back with player_done. False, with the reason in `why`, when none
// comes.
bool player_take(struct player *peer, const struct backend *backend, struct naive_frame *frame,
                 struct text *why);
void player_done(struct naive_frame *frame);
// Returns whether it can be asked for a sign of life.
bool player_can_ping(const struct player *peer);
bool player_ping(struct player *peer, const struct backend *backend, unsigned number);
// Waits for the answer, keeping what comes before it.
bool player_pong(struct player *peer, const struct backend *backend, unsigned number, struct text *why);
// A frame that has arrived and nobody has taken; NULL: none.
const struct naive_frame *player_left_over(const struct player *peer);
// Waits for the end of what the hub sends, of which nothing may be left. False with the reason.
bool player_at_end(struct player *peer, const struct backend *backend, bool reset_allowed, struct text *why);
