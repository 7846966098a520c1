// The line of NATS headers with which a hub sends a message to another hub. The line has everything but the frame.
//
//     NATS/1.0
//     Patchbay: HUB time=29998 user=ci agent=build-agent from=70,27:21
//
//     Content-Length: 83 …          the payload: the sender's frame with its header block
//
// Unknown keys are ignored. A peer's bytes can't be mistaken for the line.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"
#include "core/cluster/hub_name.h"
#include "core/json/json.h"
#include "core/rights/users.h"
#include "core/wire/frame_offset.h"

struct hub_header {
    bool is_present;     // the line is there and valid
    struct hub_name hub; // the hub that has sent the message
    uint32_t time_ms;    // time left for a request, in ms; 0: not given
    struct span user;    // the user of the message; bytes 0: none
    // The agent at the sender's connection that the message names as its source; bytes 0: none
    struct span agent;
    struct span from; // offsets as text of frame_offset.h; bytes 0: not given
};

// The fields of the line, besides the hub.
struct hub_header_source {
    uint32_t time_ms;  // 0: left out
    const char *user;  // NULL: left out
    const char *agent; // left out if agent_bytes is 0
    size_t agent_bytes;
    struct frame_offsets offsets;
};

enum {
    HUB_HEADER_BYTES_MAX = 10 + 10 + HUB_NAME_BYTES_MAX + 6 + 10 + 6 + USER_NAME_BYTES_MAX + 7 +
                           AGENT_ID_BYTES_MAX + 4 + 6 + FRAME_OFFSETS_BYTES_MAX
};

// Reads the headers of a message, which begin with NATS/1.0 (bytes 0: no headers). `last` is the hub of an earlier
// message, or NULL. If the headers have the name of `last`, that name is copied and not parsed again.
void hub_header_read(const uint8_t *bytes, struct span headers, const struct hub_name *last,
                     struct hub_header *out);
// Writes the headers and the empty line after them. Returns the number of bytes.
size_t hub_header_write(char out[HUB_HEADER_BYTES_MAX], const struct hub_name *hub,
                        const struct hub_header_source *source);
