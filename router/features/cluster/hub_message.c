#include "router/features/cluster/hub_message.h"

#include <assert.h>
#include <string.h>

// How much longer a message may be than this hub's limits. The other hub has checked the message by the same limits,
// and then replaced its ids and its head.
enum { GROWTH_BYTES_MAX = 1024 };

static bool open_bare(struct hub_message *message) {
    const struct unit *unit = message->arrival->unit;
    assert(!message->member);
    message->unit.length_known = true;
    message->unit.body_at = unit->body_at;
    message->unit.body_bytes = unit->body_bytes;
    message->unit.bytes = unit->body_at + unit->body_bytes;
    message->frame = frame_at(message->arrival->buffer, message->arrival->at, &message->unit);
    return unit->body_bytes > 0;
}

static bool open_frame(struct hub_message *message, const struct unit_limits *limits) {
    const struct unit *unit = message->arrival->unit;
    struct unit_limits any = {limits->header_bytes_max + GROWTH_BYTES_MAX, UINT32_MAX};
    bool whole = frame_scan(&message->unit, message->body, unit->body_bytes, &any) == UNIT_WHOLE;
    assert(message->header.is_present);
    if (!whole || message->unit.bytes != unit->body_bytes)
        return false;
    message->frame = frame_at(message->arrival->buffer, message->arrival->at + unit->body_at, &message->unit);
    if (message->header.time_ms) {
        message->unit.directives.timeout_is_left = !message->unit.directives.has_timeout;
        message->unit.directives.has_timeout = true;
        message->unit.directives.timeout_ms = message->header.time_ms;
    }
    return true;
}

enum error hub_message_open(struct shard *shard, struct hub_message *message) {
    const struct unit_limits *limits = &shard->unit_limits;
    struct unit *unit = &message->unit;
    assert(!unit->length_known && !unit->fault);
    bool has_hub = message->header.is_present;
    bool is_whole = has_hub ? open_frame(message, limits) : open_bare(message);
    uint64_t max = limits->body_bytes_max + (has_hub ? GROWTH_BYTES_MAX : 0);
    message->excess = 0;
    if (is_whole && unit->body_bytes <= max)
        return ERROR_NONE;
    if (unit->length_known && unit->body_bytes > max)
        message->excess = unit->body_bytes;
    return message->excess || (unit->fault && unit_fault_is_limit(unit->fault)) ? ERROR_FRAME_TOO_LARGE
                                                                                : ERROR_PARSE;
}

const struct user *hub_message_user(const struct link *link, const struct hub_message *message) {
    const struct users *users = link->shard->settings->users;
    struct span name = message->header.user;
    assert(link->shard->index == 0);
    return users && name.bytes ? users_by_name(users, (const char *)message->bytes + name.at, name.bytes)
                               : NULL;
}
