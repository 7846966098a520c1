// Counts calls of tools (tools/call) of MCP servers that the hub keeps, over all transports. Each call has a line in
// the journal when the call ends, and is counted by its outcome. A call that a server got is counted under its tool,
// too.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/shard/shard.h"

// The first TOOL_FIGURES_MAX tools that are called have figures of their own. Longer names are cut.
enum { TOOL_FIGURES_MAX = 128, TOOL_NAME_BYTES = 96, TOOL_SERVER_BYTES = 64 };

// The figures of one tool, from all shards. The names are constant once `state` is 2.
struct tool_figures {
    _Atomic uint32_t state; // 0: free, 1: the names are being written, 2: in use
    char server[TOOL_SERVER_BYTES], tool[TOOL_NAME_BYTES];
    uint32_t server_bytes, tool_bytes;
    _Atomic uint64_t calls, errors, ms, most_ms; // `ms`: of all calls; `most_ms`: of the longest call
};

// Writes the slowest tools, `most` at most, as a JSON array: slowest first, by the mean time of a call.
void tool_calls_put(const struct hub *hub, unsigned most, struct text *out);
