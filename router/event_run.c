#include "router/event_run.h"

#include <string.h>

#include "router/events.h"

// Whether the event lies behind the run and goes the same way.
static bool goes_on(const struct event_run *run, const struct message *message, const char *name,
                    uint32_t name_bytes) {
    const struct frame *frame = message->frame;
    return run->count > 0 && run->count < EVENT_RUN_MAX && run->buffer == frame->buffer &&
           run->at + run->ends[run->count - 1] == frame->at && run->source == message->peer->name &&
           run->required == frame->header->governance && run->lane == message_lane(message) &&
           run->name_bytes == name_bytes && memcmp(run->name, name, name_bytes) == 0;
}

static void begin_run(struct shard *shard, const struct message *message, const char *name,
                      uint32_t name_bytes) {
    struct event_run *run = &shard->run;
    events_flush(shard);
    buffer_hold(message->frame->buffer);
    run->buffer = message->frame->buffer;
    run->source = message->peer->name;
    run->at = message->frame->at;
    run->required = message->frame->header->governance;
    run->lane = (uint8_t)message_lane(message);
    run->name_bytes = name_bytes;
    memcpy(run->name, name, name_bytes);
}

void event_run_add(struct shard *shard, const struct message *message, const char *name,
                   uint32_t name_bytes) {
    struct event_run *run = &shard->run;
    if (!goes_on(run, message, name, name_bytes))
        begin_run(shard, message, name, name_bytes);
    uint32_t before = run->count ? run->ends[run->count - 1] : 0;
    run->ends[run->count++] = before + message->frame->header->header_bytes + message->frame->body.bytes;
}
