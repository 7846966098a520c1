#include "router/transport/seconds.h"

#include <assert.h>

#include "core/cluster/mark.h"
#include "router/route/elsewhere.h"
#include "router/send/send.h"

struct second {
    struct list link; // in seconds.all
    uint64_t number;
    uint64_t ping; // that is said behind it; 0: it isn't said yet
    struct parcel *parcel;
};

void seconds_init(struct seconds *seconds, struct shard *shard) {
    assert(shard->index == 0);
    *seconds = (struct seconds){.shard = shard};
    list_init(&seconds->all);
}

static struct second *oldest(const struct seconds *seconds) {
    return seconds_wait(seconds) ? list_entry(seconds->all.next, struct second, link) : NULL;
}

static struct parcel *let_go(struct seconds *seconds, struct second *second) {
    struct parcel *parcel = second->parcel;
    assert(seconds->bytes >= parcel->bytes);
    seconds->bytes -= parcel->bytes;
    list_remove(&second->link);
    kept_give(&seconds->shard->kept, second);
    return parcel;
}

void seconds_forget(struct seconds *seconds) {
    for (struct second *second; (second = oldest(seconds));)
        send_release(seconds->shard, let_go(seconds, second));
    assert(seconds->bytes == 0);
}

// What a server that says nothing has kept here is bounded as what waits for it.
static struct second *add(struct seconds *seconds, struct parcel *parcel) {
    bool has_room = seconds->bytes < shard_limits(seconds->shard)->queue_bytes_max;
    struct second *second = has_room ? kept_take(&seconds->shard->kept, sizeof *second) : NULL;
    if (!second)
        return NULL;
    *second = (struct second){.number = ++seconds->last, .parcel = parcel};
    seconds->bytes += parcel->bytes;
    list_append(&seconds->all, &second->link);
    return second;
}

void seconds_keep(struct seconds *seconds, struct parcel *parcel, uint32_t inbox_bytes) {
    const struct bearing *bearing = &parcel->bearing;
    char *head = parcel->long_head ? parcel->head : parcel->inline_text;
    uint32_t reply_at = (uint32_t)bearing->token_at + bearing->token_bytes + 1;
    uint32_t at = reply_at + inbox_bytes + ELSEWHERE_SECOND_AT;
    struct parcel *kept = parcel->second;
    assert(parcel->has_second && parcel->has_head && at + 16 < parcel->head_count);
    parcel->has_second = false;
    const struct second *second = add(seconds, kept);
    if (second)
        mark_all_digits(head + at, second->number);
    else
        send_release(seconds->shard, kept);
}

bool seconds_follow(struct seconds *seconds, uint64_t ping) {
    bool any = false;
    assert(ping > 0);
    for (struct list *node = seconds->all.prev; node != &seconds->all; node = node->prev) {
        struct second *second = list_entry(node, struct second, link);
        if (second->ping)
            break;
        second->ping = ping;
        any = true;
    }
    return any;
}

void seconds_answered(struct seconds *seconds, uint64_t pongs) {
    for (struct second *second; (second = oldest(seconds)) && second->ping && second->ping <= pongs;)
        send_release(seconds->shard, let_go(seconds, second));
}

struct parcel *seconds_take(struct seconds *seconds, uint64_t number) {
    for (struct list *node = seconds->all.next; node != &seconds->all; node = node->next) {
        struct second *second = list_entry(node, struct second, link);
        if (second->number == number)
            return let_go(seconds, second);
    }
    return NULL;
}
