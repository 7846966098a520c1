// How a simulated peer speaks: in frames, in lines, over WebSocket, by requests of HTTP, or not at all. The last
// listens to a stream of events. Each way also goes behind the toy cipher, of which the peer knows nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/naive.h"

struct cable;
struct world;

enum way { FRAMES, LINES, SOCKET, POSTS, EVENTS };

struct voice {
    struct cable *cable; // NULL: it has left
    enum way way;
    bool is_upgraded; // of SOCKET; of EVENTS: there is a stream
    bool is_closed;   // of SOCKET: the hub has said that it closes it
    unsigned status; // of POSTS and EVENTS: of the answer that has come; of SOCKET: where that was no upgrade
};

// Connects; what it says first waits for voice_greet. False: nobody listens.
bool voice_dial(struct voice *http_owner, struct world *world, enum way way);
void voice_greet(struct voice *http_owner);
// Says a body. Header fields (lines that end in CR LF) are said where there is a place for them.
void voice_write(struct voice *http_owner, const char *body, size_t count, const char *fields);
// Asks for a stream of events (EVENTS).
void voice_listen(struct voice *http_owner, const char *query, const char *fields);
// Reads what comes first in these bytes: a message, or something that is none; then its body isn't there.
enum naive_result voice_read(struct voice *http_owner, struct naive_frame *frame, const uint8_t *bytes,
                             size_t count);
