// Text of a parcel's own: what fills holes, a head, a body that was written anew.
#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/send/copy.h"
#include "core/send/parcel.h"

// Text of the parcel's own is taken over.
static void own(struct parcel *parcel, char *text, size_t bytes) {
    assert(bytes <= UINT32_MAX);
    parcel->text = text;
    parcel->text_bytes = (uint32_t)bytes;
}

// Perhaps on another shard than the pool's, so that the budget is told at once.
char *parcel_text_take(struct parcel *parcel, size_t bytes) {
    struct buffer_budget *budget = parcel->pool->budget;
    size_t counted = memory_bytes_for(bytes);
    if (!buffer_budget_take(budget, counted, BUDGET_OWED))
        return NULL;
    char *text = memory_take(bytes);
    if (!text)
        buffer_budget_give(budget, counted);
    return text;
}

static bool make_text(struct parcel *parcel, size_t bytes) {
    assert(parcel->text == parcel->inline_text);
    char *text = parcel_text_take(parcel, bytes);
    if (text)
        own(parcel, text, memory_bytes_for(bytes));
    return text != NULL;
}

// What the old text took is given back at once, too. It was counted before what the new one takes.
void parcel_retext(struct parcel *parcel, char *text, size_t count) {
    assert(!parcel->dressed && !parcel->origin && parcel->hole_count == 0);
    if (parcel->text != parcel->inline_text) {
        buffer_budget_give(parcel->pool->budget, parcel->text_bytes);
        memory_give(parcel->text);
    }
    own(parcel, text, memory_bytes_for(count));
    parcel->pieces[0] = (struct piece){text, count};
    parcel->piece_count = 1;
    parcel->bytes = count;
}

char *parcel_head_take(struct parcel *parcel, size_t count) {
    assert(!parcel->dressed && !parcel->has_head && count > 0 && count <= UINT32_MAX);
    char *to = parcel->inline_text; // what fills holes lies behind what a short one takes
    if (count > PARCEL_HEAD_BYTES_MAX) {
        to = parcel->head = parcel_text_take(parcel, count);
        if (!to)
            return NULL;
        parcel->head_text_bytes = (uint32_t)memory_bytes_for(count);
        parcel->long_head = true;
        parcel->has_added = false; // its place is taken
    }
    parcel->head_count = (uint32_t)count;
    parcel->has_head = true;
    return to;
}

bool parcel_set_head(struct parcel *parcel, const char *head, size_t count) {
    char *to = parcel_head_take(parcel, count);
    assert(head);
    if (to)
        memcpy(to, head, count);
    return to != NULL;
}

// As nearly all are, whose only text lies in the parcel itself.
static inline bool fill_only(struct parcel *parcel, struct piece text) {
    char *to = parcel->inline_text + PARCEL_HEAD_BYTES_MAX;
    if (parcel->hole_count != 1 || text.count > PARCEL_TEXT_BYTES - PARCEL_HEAD_BYTES_MAX)
        return false;
    copy_short(to, text.bytes, text.count);
    parcel->pieces[parcel->holes[0]] = (struct piece){to, text.count};
    parcel->hole_count = 0;
    parcel->bytes += text.count;
    return true;
}

// The length line may want the begin of the text in the parcel itself.
static bool fill_all(struct parcel *parcel, const struct piece *texts) {
    size_t sum = 0;
    for (unsigned index = 0; index < parcel->hole_count; index++)
        sum += texts[index].count;
    char *to = parcel->inline_text + PARCEL_HEAD_BYTES_MAX;
    if (sum > PARCEL_TEXT_BYTES - PARCEL_HEAD_BYTES_MAX) {
        if (!make_text(parcel, sum))
            return false;
        to = parcel->text;
    }
    for (unsigned index = 0; index < parcel->hole_count; index++) {
        memcpy(to, texts[index].bytes, texts[index].count);
        parcel->pieces[parcel->holes[index]] = (struct piece){.bytes = to, .count = texts[index].count};
        to += texts[index].count;
    }
    parcel->hole_count = 0;
    parcel->bytes += sum;
    return true;
}

bool parcel_fill(struct parcel *parcel, const struct piece *texts) {
    assert(parcel->hole_count > 0 && !parcel->dressed);
    if (fill_only(parcel, texts[0]))
        return true;
    return fill_all(parcel, texts);
}
