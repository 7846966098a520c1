// Calls of tools (tools/call) of MCP servers that the hub keeps, from whatever transport. Each call has a line in the journal
// when the call ends, and is counted by its outcome. A call that a server got is counted under its tool, too.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/shard/shard.h"

// Tools whose calls are told apart: the first so many that are called. Names are cut.
enum { TOOL_FIGURES_MAX = 128, TOOL_NAME_BYTES = 96, TOOL_SERVER_BYTES = 64 };

// What all shards have measured of one tool. The names are constant once `state` is 2.
struct tool_figures {
    _Atomic uint32_t state; // 0: free, 1: its names are being written, 2: it is there
    char server[TOOL_SERVER_BYTES], tool[TOOL_NAME_BYTES];
    uint32_t server_bytes, tool_bytes;
    _Atomic uint64_t calls, errors, ms, most_ms;
};

// Puts the slowest tools, up to `most`, as a JSON array: slowest first, by their mean.
void tool_calls_put(const struct hub *hub, unsigned most, struct text *out);
