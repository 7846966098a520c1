#include "core/hcs/history.h"

#include <assert.h>

enum { CAPACITY_MIN = 8 };

void history_init(struct history *history, struct quota *quota) {
    *history = (struct history){.quota = quota};
}

void history_deinit(struct history *history) {
    assert(history->first == history->end && history->bytes == 0);
    quota_give(history->quota, history->ring);
    history->ring = NULL;
}

bool history_reserve(struct history *history) {
    uint64_t count = history->end - history->first;
    if (count < history->capacity)
        return true;
    uint32_t capacity = history->capacity ? 2 * history->capacity : CAPACITY_MIN;
    struct chunk *ring = quota_take(history->quota, capacity * sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t number = history->first; number < history->end; number++)
        ring[number & (capacity - 1)] = *history_at(history, number);
    quota_give(history->quota, history->ring);
    history->ring = ring;
    history->capacity = capacity;
    return true;
}

bool history_add(struct history *history, struct chunk chunk) {
    assert(history_rises(history, chunk.seq));
    bool added = history_reserve(history);
    history->last_seq = chunk.seq;
    if (added) {
        history->ring[history->end++ & (history->capacity - 1)] = chunk;
        history->bytes += chunk.bytes;
        return true;
    }
    assert(history->first == history->end);
    history->lost_seq = chunk.seq;
    history->first = ++history->end;
    return false;
}

struct parcel *history_take(struct history *history) {
    const struct chunk *oldest = history_at(history, history->first);
    if (!oldest)
        return NULL;
    assert(history->bytes >= oldest->bytes);
    history->bytes -= oldest->bytes;
    history->lost_seq = oldest->seq;
    history->first++;
    return oldest->parcel;
}

struct parcel *history_trim(struct history *history, size_t bytes_max) {
    return history->bytes > bytes_max ? history_take(history) : NULL;
}

uint64_t history_after(const struct history *history, uint64_t seq) {
    uint64_t low = history->first, high = history->end;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (history_at(history, middle)->seq > seq)
            high = middle;
        else
            low = middle + 1;
    }
    assert(low >= history->first && low <= history->end);
    return low;
}
