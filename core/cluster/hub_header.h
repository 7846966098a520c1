// The line of NATS headers with which a hub sends a message to another hub: everything but the frame.
//
//     NATS/1.0
//     Patchbay: HUB time=29998 user=ci agent=build-agent from=70,27:21
//
//     Content-Length: 83 …          the payload: the frame of whoever said it, header block and all
//
// A key that isn't known means nothing. Nothing that a peer writes can be taken for the line.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/cluster/hub_name.h"
#include "core/json/json.h"
#include "core/rights/users.h"
#include "core/wire/frame_offset.h"

struct hub_header {
    bool is_present;     // the line is there, and can be read
    struct hub_name hub; // that says so
    uint32_t time_ms;    // that is left for a request; 0: nothing is said of that
    struct span user;    // whose the message is; bytes 0: nobody's
    struct span agent;   // the agent of its connection that it names as its source; bytes 0: none
    struct span from;    // the text of frame_offset.h; bytes 0: there is none
};

// The fields of the line, besides the hub.
struct hub_header_source {
    uint32_t time_ms;  // 0: nothing
    const char *user;  // NULL: nobody
    const char *agent; // where agent_bytes isn't 0
    size_t agent_bytes;
    struct frame_offsets offsets;
};

enum {
    HUB_HEADER_BYTES_MAX = 10 + 10 + HUB_NAME_BYTES_MAX + 6 + 10 + 6 + USER_NAME_BYTES_MAX + 7 +
                           AGENT_ID_BYTES_MAX + 4 + 6 + FRAME_OFFSETS_BYTES_MAX
};

// Reads the headers of a message, which begin with NATS/1.0 (bytes 0: there are none).
void hub_header_read(const uint8_t *bytes, struct span headers, struct hub_header *out);
// Writes the headers, with the empty line that ends them; returns their bytes.
size_t hub_header_write(char out[HUB_HEADER_BYTES_MAX], const struct hub_name *hub,
                        const struct hub_header_source *source);
