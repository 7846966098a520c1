#include <string.h>

#include "io/keeper.h"

size_t keeper_read_log(struct keeper_place *place, uint64_t since, char out[KEEPER_LOG_BYTES]) {
    uint64_t end = atomic_load_explicit(&place->log_end, memory_order_acquire), written = end - since;
    size_t bytes = written < KEEPER_LOG_BYTES ? (size_t)written : KEEPER_LOG_BYTES;
    for (size_t at = 0; at < bytes; at++)
        out[at] = place->log[(end - bytes + at) % KEEPER_LOG_BYTES];
    if (written <= KEEPER_LOG_BYTES)
        return bytes;
    char *line = memchr(out, '\n', bytes); // the first line may be overwritten in part
    size_t left = line ? (size_t)(out + bytes - line - 1) : 0;
    if (left)
        memmove(out, line + 1, left);
    return left;
}
