// See load_bytes.h.
#include "bench/load/load_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"

bool bytes_room(struct bytes *bytes, size_t more) {
    if (bytes->capacity - bytes->count >= more) {
        return true;
    }
    size_t capacity = bytes->capacity * 2 > bytes->count + more ? bytes->capacity * 2 : bytes->count + more;
    uint8_t *moved = realloc(bytes->at, capacity + BUFFER_SLACK_BYTES);
    if (moved == NULL) {
        return false;
    }
    memset(moved + capacity, 0, BUFFER_SLACK_BYTES);
    bytes->at = moved;
    bytes->capacity = capacity;
    return true;
}
