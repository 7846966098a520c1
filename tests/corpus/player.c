#include "tests/corpus/player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { READ_BYTES = 64 * 1024 };

bool player_open(struct player *peer, const struct backend *backend, const char *name, enum line_wire wire) {
    *peer = (struct player){.lines = wire == LINE_LINES, .web = wire == LINE_HTTP, .state = LINE_OPEN};
    snprintf(peer->name, sizeof peer->name, "%s", name);
    peer->line = backend->dial(wire);
    return peer->line != NULL;
}

void player_be_child(struct player *peer, const char *name, struct line *line, bool lines) {
    *peer = (struct player){.lines = lines, .child = true, .line = line, .state = LINE_OPEN};
    snprintf(peer->name, sizeof peer->name, "%s", name);
}

void player_done(struct naive_frame *frame) {
    free((void *)frame->fields.bytes);
    free((void *)frame->body.bytes);
}

void player_end(struct player *peer, const struct backend *backend) {
    if (peer->line)
        backend->close(peer->line, false);
    while (peer->frame_at < peer->frame_end)
        player_done(&peer->frames[peer->frame_at++]);
    free(peer->frames);
    free(peer->bytes);
    text_deinit(&peer->tail);
    *peer = (struct player){0};
}

// --- Sending

// How long the frame at the start is, as the peer means it; 0 when that can't be told yet, or ever.
static size_t meant_bytes(const char *bytes, size_t count) {
    static const char name[] = "content-length:";
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    for (const char *line = bytes; end && line < end; line = strchr(line, '\n') + 1)
        if (strncasecmp(line, name, sizeof name - 1) == 0)
            return (size_t)(end + 4 - bytes) + strtoul(line + sizeof name - 1, NULL, 10);
    return 0;
}

static size_t meant_line(const char *bytes, size_t count) {
    const char *feed = memchr(bytes, '\n', count);
    return feed ? (size_t)(feed - bytes) + 1 : 0;
}

static void note_sent(struct player *peer, const struct text *bytes) {
    struct text *tail = &peer->tail, rest;
    size_t at = 0, frame, (*meant)(const char *bytes, size_t count) = peer->lines ? meant_line : meant_bytes;
    text_add(tail, bytes->bytes, bytes->length);
    while (at < tail->length && (frame = meant(tail->bytes + at, tail->length - at)) &&
           frame <= tail->length - at)
        at += frame;
    text_init(&rest);
    text_add(&rest, tail->bytes + at, tail->length - at);
    text_deinit(tail);
    *tail = rest;
}

bool player_send(struct player *peer, const struct backend *backend, const struct text *bytes) {
    note_sent(peer, bytes);
    return peer->line && backend->write(peer->line, bytes->bytes, bytes->length);
}

void player_flatten(char *bytes, size_t count) {
    for (size_t at = 0; at < count; at++)
        if (bytes[at] == '\r' || bytes[at] == '\n')
            bytes[at] = ' ';
}

void player_wrap(const struct player *peer, const struct text *fields, const struct text *body,
                 struct text *out) {
    if (peer->lines) {
        text_add(out, body->bytes, body->length);
        player_flatten(out->bytes, out->length);
        text_put(out, "\n");
        return;
    }
    text_put(out, "Content-Length: ");
    text_number(out, (int64_t)body->length);
    text_put(out, "\r\n");
    text_add(out, fields->bytes, fields->length);
    text_put(out, "\r\n");
    text_add(out, body->bytes, body->length);
}

// --- Receiving

bool player_more(struct player *peer, const struct backend *backend) {
    if (peer->capacity - peer->end < READ_BYTES) {
        if (peer->end > peer->at)
            memmove(peer->bytes, peer->bytes + peer->at, peer->end - peer->at);
        peer->end -= peer->at;
        peer->at = 0;
        peer->capacity = peer->end * 2 + READ_BYTES;
        peer->bytes = realloc(peer->bytes, peer->capacity);
    }
    size_t got = backend->read(peer->line, peer->bytes + peer->end, peer->capacity - peer->end, &peer->state);
    peer->end += got;
    return got > 0;
}

static struct bit copy_of(struct bit bit) {
    uint8_t *bytes = malloc(bit.count + 1);
    if (bit.count) // a line has no fields
        memcpy(bytes, bit.bytes, bit.count);
    bytes[bit.count] = '\0';
    return (struct bit){bytes, bit.count};
}

static bool none(const struct player *peer, enum naive_result result, struct text *why) {
    if (result == NAIVE_BAD) {
        text_put(why, "what is no canonical frame: ");
        text_add(why, peer->bytes + peer->at, peer->end - peer->at);
    } else if (!peer->line) {
        text_put(why, "nothing, for it has closed");
    } else if (peer->end > peer->at) {
        text_put(why, "a part of a frame");
    } else {
        text_put(why, peer->state == LINE_OPEN    ? "nothing"
                      : peer->state == LINE_RESET ? "a reset"
                                                  : "the end of the connection");
    }
    return false;
}

// A frame off the connection.
static bool receive(struct player *peer, const struct backend *backend, struct naive_frame *frame,
                    struct text *why) {
    enum naive_result result = NAIVE_PARTIAL;
    for (;;) {
        if (peer->end > peer->at)
            result =
                (peer->lines ? naive_line : naive_frame)(frame, peer->bytes + peer->at, peer->end - peer->at);
        if (result != NAIVE_PARTIAL)
            break;
        if (!peer->line || peer->state != LINE_OPEN || !player_more(peer, backend))
            break;
    }
    if (result != NAIVE_WHOLE)
        return none(peer, result, why);
    peer->at += frame->bytes;
    frame->fields = copy_of(frame->fields);
    frame->body = copy_of(frame->body);
    return true;
}

bool player_take(struct player *peer, const struct backend *backend, struct naive_frame *frame,
                 struct text *why) {
    if (peer->frame_at == peer->frame_end)
        return receive(peer, backend, frame, why);
    *frame = peer->frames[peer->frame_at++];
    return true;
}

static void keep(struct player *peer, const struct naive_frame *frame) {
    if (peer->frame_end == peer->frame_capacity) {
        peer->frame_capacity = peer->frame_capacity * 2 + 16;
        peer->frames = realloc(peer->frames, peer->frame_capacity * sizeof *peer->frames);
    }
    peer->frames[peer->frame_end++] = *frame;
}

const struct naive_frame *player_left_over(const struct player *peer) {
    return peer->frame_at < peer->frame_end ? &peer->frames[peer->frame_at] : NULL;
}

// --- Signs of life

static int ping_id(char *out, size_t capacity, unsigned number) {
    return snprintf(out, capacity, "\"corpus-ping-%u\"", number);
}

bool player_can_ping(const struct player *peer) {
    bool other = peer->child || peer->web;
    return peer->line && !other && peer->state == LINE_OPEN && !peer->half_closed && !peer->tail.length;
}

bool player_ping(struct player *peer, const struct backend *backend, unsigned number) {
    char id[32];
    struct text body, unit;
    ping_id(id, sizeof id, number);
    text_init(&body);
    text_init(&unit);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/ping\",\"id\":");
    text_put(&body, id);
    text_put(&body, "}");
    player_wrap(peer, &(struct text){0}, &body, &unit);
    bool good = backend->write(peer->line, unit.bytes, unit.length);
    text_deinit(&body);
    text_deinit(&unit);
    return good;
}

bool player_pong(struct player *peer, const struct backend *backend, unsigned number, struct text *why) {
    char id[32];
    ping_id(id, sizeof id, number);
    for (struct naive_frame frame; receive(peer, backend, &frame, why);) {
        if (bit_is(naive_find(frame.body, "id"), id)) {
            player_done(&frame);
            return true;
        }
        keep(peer, &frame);
    }
    return false;
}

// --- The end

bool player_at_end(struct player *peer, const struct backend *backend, bool reset_allowed, struct text *why) {
    struct naive_frame frame;
    if (player_left_over(peer) || receive(peer, backend, &frame, why)) {
        const struct naive_frame *over = player_left_over(peer) ? player_left_over(peer) : &frame;
        text_add(why, over->body.bytes, over->body.count);
        return false;
    }
    bool good =
        peer->at == peer->end && (peer->state == LINE_ENDED || (reset_allowed && peer->state == LINE_RESET));
    if (good)
        why->length = 0;
    return good;
}
