// Guests that listen to a stream of events (server-sent events): they say once what they want to hear of, and
// then only read. Lines are put together again as EventSource does it.
#include <stdio.h>
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/parts.h"

#define SECOND_NS UINT64_C(1000000000)

enum { COMMENT_S = 15, COMMENT_BYTES = 3, SLACK_S = 1 };

void subscribers_begin(struct run *run, struct guest *guest) {
    char text[512] = "GET /events";
    size_t count = strlen(text);
    count += events_query(run, guest, text + count, sizeof text - count);
    count += (size_t)snprintf(text + count, sizeof text - count,
                              " HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 7\r\n\r\n");
    queue_bytes_add(&guest->out, text, count);
    guest->plan = 0;
}

static bool has(struct bit head, const char *text) {
    return memmem(head.bytes, head.count, text, strlen(text)) != NULL;
}

static void check_head(const struct run *run, struct guest *guest, struct bit head) {
    bool refused = has(head, "HTTP/1.1 503 ")   ? run->draining
                   : has(head, "HTTP/1.1 408 ") ? guest->has_halted
                   : has(head, "HTTP/1.1 431 ") ? run->profile.lossy
                                                : run->world.kept_bytes != 0;
    guest->subscriber.open =
        has(head, "HTTP/1.1 200 ") && has(head, "\r\nContent-Type: text/event-stream\r\n");
    guest->subscriber.commented_ns = kernel_now(run->world.kernel);
    if (guest->subscriber.open) {
        events_streaming(guest);
        return;
    }
    if (!refused)
        oracle_fail(run, NOBODY, &(struct naive_frame){.fields = head}, "a stream was refused for no reason");
    guest->subscriber.refused = guest->doomed = guest->leaving = true;
    guest->null_errors++;
}

// Takes the line's field off, if it is this one.
static bool is_field(struct bit *line, const char *name) {
    size_t count = strlen(name);
    if (line->count < count || memcmp(line->bytes, name, count) != 0)
        return false;
    line->bytes += count;
    line->count -= count;
    return true;
}

// An event is put together in the guest's own memory, where it stays until the next one.
static void read_event(const struct run *run, struct guest *guest, struct naive_frame *frame,
                       struct bit event) {
    struct queue_bytes *data = &guest->subscriber.data;
    bool named = false, comment = false, any = false;
    data->at = data->count = 0;
    for (size_t at = 0; at < event.count;) {
        const uint8_t *end = memchr(event.bytes + at, '\n', event.count - at);
        struct bit line = {event.bytes + at, (size_t)(end - event.bytes) - at};
        at += line.count + 1;
        named |= bit_is(line, "event: dropped");
        comment |= bit_is(line, ":");
        if (is_field(&line, "data: ")) {
            if (any)
                queue_bytes_add(data, "\n", 1);
            any = true;
            queue_bytes_add(data, line.bytes, line.count);
        } else if (!named && !comment) {
            oracle_fail(run, NOBODY, &(struct naive_frame){.body = event}, "a stream has an unknown field");
        }
    }
    if (data->count)
        frame->body = (struct bit){data->bytes, data->count};
    if (!comment && named != bit_is(naive_find(frame->body, "method"), "\"hub/dropped\""))
        oracle_fail(run, NOBODY, frame, "an event of a stream has the wrong name");
    if (comment)
        guest->subscriber.commented_ns = kernel_now(run->world.kernel);
}

enum naive_result subscribers_read(const struct run *run, struct guest *guest, struct naive_frame *frame,
                                   const uint8_t *bytes, size_t count) {
    *frame = (struct naive_frame){.headless = true, .split = true, .bytes = count};
    if (guest->subscriber.refused)
        return NAIVE_WHOLE;
    const char *mark = guest->subscriber.open ? "\n\n" : "\r\n\r\n";
    const uint8_t *end = memmem(bytes, count, mark, strlen(mark));
    if (memchr(bytes, '\r', count) && guest->subscriber.open)
        return NAIVE_BAD;
    if (!end)
        return NAIVE_PARTIAL;
    frame->bytes = (size_t)(end - bytes) + strlen(mark);
    if (guest->subscriber.open)
        read_event(run, guest, frame, (struct bit){bytes, frame->bytes - 1});
    else
        check_head(run, guest, (struct bit){bytes, frame->bytes});
    return NAIVE_WHOLE;
}

bool subscribers_idle(const struct guest *guest) {
    return guest->subscriber.on && guest->out.at == guest->out.count &&
           cable_readable(guest->cable) <= COMMENT_BYTES;
}

void subscribers_check(const struct run *run, uint64_t next_ns) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        bool slow = guest->piece || run->profile.lossy || guest->reads < 1000;
        if (!guest->subscriber.open || guest->gone || guest->ended_by_hub || slow || run->draining ||
            cable_readable(guest->cable))
            continue;
        if (next_ns > guest->subscriber.commented_ns + (COMMENT_S + SLACK_S) * SECOND_NS)
            oracle_fail(run, NOBODY, NULL, "a stream was silent for too long");
    }
}
