// Skips members of an object that the hub doesn't need, many at a time: members whose keys aren't guarded and whose
// values are strings or scalars. For the walks of the lookup alone.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/json/json_block.h"

// Skips such members, from the comma at `at` on. Returns the offset of a later comma behind which another member may
// come, or `at`. `level` is the level of the object, which decides the guarded keys. Members are judged as the walk
// would judge them.
uint32_t members_skip(const uint8_t *text, uint32_t at, uint32_t end, unsigned level);

enum {
    MEMBERS_ROW_BEGINS = 2,
    MEMBERS_ROW_BYTES_MIN = 2 * JSON_BLOCK_BYTES,
};

// Estimates when members_skip is likely to pay, by the number of such members in a row. The number that must come
// before the next try doubles after each vain try.
struct members_row {
    uint32_t count;
    uint32_t wanted;
};

// Counts a member, at the comma behind it, and tries members_skip if that is likely to pay. `plain`: members_skip could
// have skipped the member. Returns the offset of the comma where the walk must go on.
JSON_INLINE uint32_t members_row(struct members_row *row, bool plain, const uint8_t *text, uint32_t at,
                                 uint32_t end, unsigned level) {
    assert(row->wanted >= MEMBERS_ROW_BEGINS);
    assert(at <= end && text[at] == ',');
    row->count = plain ? row->count + 1 : 0;
    if (__builtin_expect(row->count < row->wanted || end - at < MEMBERS_ROW_BYTES_MIN, 1))
        return at;
    uint32_t behind = members_skip(text, at, end, level);
    assert(behind >= at && behind < end);
    row->wanted = behind == at ? 2 * row->wanted : MEMBERS_ROW_BEGINS;
    row->count = behind == at ? 0 : row->wanted - 1;
    return behind;
}
