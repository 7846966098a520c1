// Lines of a case about a peer: its messages in both directions, and its end.
#include "tests/corpus/play_peer.h"

#include <stdlib.h>
#include <string.h>

#include "tests/corpus/play_child.h"
#include "tests/corpus/web.h"

// --- Sending

static bool send_frame(struct play *play, struct player *peer, const struct text *fields,
                       const struct text *body) {
    struct text frame;
    if (peer->lines && fields->length)
        return playing_fail(play, "no header fields go with a line");
    text_init(&frame);
    player_wrap(peer, fields, body, &frame);
    bool good = player_send(peer, play->backend, &frame);
    text_deinit(&frame);
    return good || playing_fail(play, "it can't be sent: the connection has ended");
}

// Takes `[Name: value]` off the text into `fields`, as lines.
static const char *take_fields(const char *text, struct text *fields) {
    while (*text == '[') {
        size_t name = strcspn(text + 1, ": ,]\"{}[");
        const char *end = strstr(text, "] ");
        if (!name || text[1 + name] != ':' || !end) // an array
            break;
        text_add(fields, text + 1, (size_t)(end - text) - 1);
        text_put(fields, "\r\n");
        text = end + 2;
    }
    return text;
}

static bool fill(struct play *play, struct text *out, const char *text, bool raw) {
    text_init(out);
    return match_bytes(out, text, &play->variables, raw) || playing_fail(play, "a variable has no value yet");
}

bool play_peer_send(struct play *play, struct player *peer, const char *text) {
    struct text plain, fields, body;
    text_init(&plain);
    text = take_fields(text, &plain);
    text_add(&plain, "", 1);
    bool good = fill(play, &fields, plain.bytes, false);
    text_init(&body);
    good = good && fill(play, &body, text, false) && send_frame(play, peer, &fields, &body);
    text_deinit(&plain);
    text_deinit(&fields);
    text_deinit(&body);
    return good;
}

static bool send_raw(struct play *play, struct player *peer, const char *text) {
    struct text bytes;
    bool good = fill(play, &bytes, text, true);
    if (good && !player_send(peer, play->backend, &bytes))
        good = playing_fail(play, "it can't be sent: the connection has ended");
    text_deinit(&bytes);
    return good;
}

// --- Receiving

// The received fields must be those of the pattern and no others, in order, byte for byte.
static bool expect_fields(struct play *play, const struct text *pattern, const struct naive_frame *frame) {
    struct bit received = {frame->fields.bytes, frame->fields.count};
    struct text lines;
    text_init(&lines);
    text_add(&lines, pattern->bytes, pattern->length);
    text_add(&lines, "", 1);
    bool good = match_exactly(lines.bytes, received, &play->variables);
    text_deinit(&lines);
    return good;
}

static char *flat_copy(const void *bytes, size_t count) {
    char *copy = malloc(count + 1);
    memcpy(copy, bytes, count);
    player_flatten(copy, count);
    copy[count] = '\0';
    return copy;
}

// A body has come to a line, or from one, with spaces for its line breaks.
static bool expect_body(struct play *play, const struct player *peer, const char *pattern, bool by_members,
                        struct bit body) {
    bool flat = peer->lines || play->wires == PLAY_MIXED;
    char *wanted = flat ? flat_copy(pattern, strlen(pattern)) : strdup(pattern);
    char *came = flat ? flat_copy(body.bytes, body.count) : NULL;
    struct bit text = {flat ? (uint8_t *)came : body.bytes, body.count};
    bool good = by_members ? match_like(wanted, text, &play->variables) && match_hub_says(text)
                           : match_exactly(wanted, text, &play->variables);
    free(wanted);
    free(came);
    return good;
}

bool play_peer_expect(struct play *play, struct player *peer, const char *pattern, bool by_members) {
    struct naive_frame frame;
    struct text fields;
    if (!player_take(peer, play->backend, &frame, &play->why))
        return playing_fail(play, "it received ");
    text_init(&fields);
    pattern = take_fields(pattern, &fields);
    bool good =
        expect_fields(play, &fields, &frame) && expect_body(play, peer, pattern, by_members, frame.body);
    text_deinit(&fields);
    if (!good)
        playing_fail_with(play, &frame);
    player_done(&frame);
    return good;
}

// --- Endings

static struct web_play web_play_of(struct play *play, struct player *peer) {
    return (struct web_play){peer, play->backend, &play->variables, &play->why};
}

static bool expect_end(struct play *play, struct player *peer, bool wholly) {
    struct web_play web = web_play_of(play, peer);
    if (!(peer->web ? web_at_end(&web, wholly) : player_at_end(peer, play->backend, wholly, &play->why)))
        return playing_fail(play, "the connection should have ended, but it received ");
    return !wholly || play->backend->hub_closed(peer->line) ||
           playing_fail(play, "the hub doesn't close its end");
}

static bool half_close(struct play *play, struct player *peer) {
    peer->half_closed = true;
    play->backend->half_close(peer->line);
    return true;
}

static bool close_peer(struct play *play, struct player *peer) {
    play->backend->close(peer->line, peer->state == LINE_OPEN);
    peer->line = NULL;
    return true;
}

// --- Lines

static bool player_word(struct play *play, struct player *peer, const char *word) {
    if (strcmp(word, "nothing") == 0)
        return playing_ping_rounds(play) && playing_expect_nothing(play, peer) &&
               (!peer->child || playing_expect_quiet(play, peer));
    if (!peer->line)
        return playing_fail(play, "it has closed already");
    if (peer->child) {
        bool known, good = play_child_words(play, peer, word, &known);
        if (known)
            return good;
    }
    if (strcmp(word, "ended") == 0 || strcmp(word, "closed") == 0)
        return expect_end(play, peer, *word == 'c');
    if (strcmp(word, "half-closes") == 0)
        return half_close(play, peer);
    if (strcmp(word, "resets") == 0)
        play->backend->reset(peer->line);
    if (strcmp(word, "closes") == 0 || strcmp(word, "resets") == 0)
        return close_peer(play, peer);
    return playing_fail(play, "what is this? README.md tells what a line may say");
}

bool play_peer_line(struct play *play, struct player *peer, const char *rest) {
    bool is_web = peer->web;
    struct web_play web = web_play_of(play, peer);
    bool good = is_web && web_line(&web, rest, &is_web);
    if (is_web)
        return good;
    if (strncmp(rest, ">> ", 3) == 0)
        return send_raw(play, peer, rest + 3);
    if (strncmp(rest, "> ", 2) == 0)
        return play_peer_send(play, peer, rest + 2);
    if (strncmp(rest, "<~ ", 3) == 0)
        return play_peer_expect(play, peer, rest + 3, true);
    if (strncmp(rest, "< ", 2) == 0)
        return play_peer_expect(play, peer, rest + 2, false);
    return player_word(play, peer, rest);
}
