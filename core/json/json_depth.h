// Finds the end of a container, 64 bytes at a time, by counting brackets. A block's brackets outside strings
// are two masks, and as long as fewer close than are open the block is done. Only a block in which the count
// could come to zero is looked at bracket by bracket. Any depth costs the same, and needs no memory. The
// count can't see which kind of bracket closes which inside. For json_skip.c and the walks of the lookup
// alone.
#pragma once

#include <assert.h>
#include <stdint.h>

#include "core/json/json_block.h"

// State from block to block; it begins as zeros, at the bracket that opens.
struct json_depth {
    uint64_t open;   // brackets that are
    uint64_t inside; // all ones when the block begins in a string
};

// Where in this block the bracket lies that brings `depth` to zero; JSON_BLOCK_BYTES when none does.
JSON_INLINE uint32_t json_last_close(uint64_t open, uint64_t close, uint64_t depth) {
    assert((open & close) == 0);
    while (close != 0) {
        uint64_t below = (close & -close) - 1;
        depth--;
        if (depth + (uint64_t)__builtin_popcountll(open & below) == 0)
            return json_lowest(close);
        close &= close - 1;
    }
    return JSON_BLOCK_BYTES;
}

// Goes through a block: `quotes` are those that aren't escaped, `open` and `close` all brackets. Returns where the
// last bracket closes, or JSON_BLOCK_BYTES.
JSON_INLINE uint32_t json_depth_block(struct json_depth *depth, json_parity_of *parity_of, uint64_t quotes,
                                      uint64_t open, uint64_t close) {
    uint64_t in_string = parity_of(quotes) ^ depth->inside;
    depth->inside = (uint64_t)((int64_t)in_string >> 63);
    open &= ~in_string;
    close &= ~in_string;
    uint64_t closes = (uint64_t)__builtin_popcountll(close);
    if (closes >= depth->open && closes != 0) {
        uint32_t last = json_last_close(open, close, depth->open);
        if (last < JSON_BLOCK_BYTES)
            return last;
    }
    depth->open += (uint64_t)__builtin_popcountll(open) - closes;
    assert(depth->open > 0);
    return JSON_BLOCK_BYTES;
}
