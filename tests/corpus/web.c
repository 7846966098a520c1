// Success: bytes are read until a whole answer, a whole event or the wanted number of bytes is there, and
// compared. Failure: what came instead goes into the reason.
#include "tests/corpus/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ANSWER_FIELDS_MAX = 32 };

static struct bit arrived(const struct player *peer) {
    return (struct bit){peer->bytes + peer->at, peer->end - peer->at};
}

static bool fail_at(const struct web_play *play, const char *what, struct bit came) {
    text_put(play->why, what);
    text_add(play->why, came.bytes, came.count);
    return false;
}

// --- Requests

static bool has_field(const struct text *fields, const char *name) {
    for (const char *line = fields->bytes, *end; line && line < fields->bytes + fields->length; line = end) {
        if (strncasecmp(line, name, strlen(name)) == 0)
            return true;
        end = (const char *)memchr(line, '\n', (size_t)(fields->bytes + fields->length - line)) + 1;
    }
    return false;
}

static void put_unless(struct text *out, const struct text *fields, const char *name, const char *line) {
    if (has_field(fields, name))
        return;
    text_put(out, line);
    text_put(out, "\r\n");
}

static bool has_body(const char *method) {
    return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0;
}

static void put_request(struct text *out, const char *method, const char *target, const struct text *fields,
                        const struct text *body) {
    char line[64];
    text_put(out, method);
    text_put(out, " ");
    text_put(out, target);
    text_put(out, " HTTP/1.1\r\n");
    put_unless(out, fields, "Host:", "Host: localhost");
    if (has_body(method)) {
        snprintf(line, sizeof line, "Content-Length: %zu", body->length);
        put_unless(out, fields, "Content-Type:", "Content-Type: application/json");
        put_unless(out, fields, "Transfer-Encoding:", line);
    }
    text_add(out, fields->bytes, fields->length);
    text_put(out, "\r\n");
    text_add(out, body->bytes, body->length);
}

// `[Name: value] ...`, as lines; what follows them.
static const char *take_fields(const char *text, struct text *fields) {
    while (*text == '[') {
        size_t name = strcspn(text + 1, ": ,]\"{}[");
        if (!name || text[1 + name] != ':') // an array
            break;
        const char *end = strstr(text, "] ");
        size_t bytes = end ? (size_t)(end - text) - 1 : strlen(text) - 2;
        if (!end && text[strlen(text) - 1] != ']')
            break;
        text_add(fields, text + 1, bytes);
        text_put(fields, "\r\n");
        text += bytes + 2;
        text += *text == ' ';
    }
    return text;
}

// `METHOD TARGET [Name: value] BODY`
static bool request(const struct web_play *play, const char *rest) {
    char method[16], target[2048];
    int taken = 0;
    struct text fields, plain, body, out;
    if (sscanf(rest, "%15s %2047s%n", method, target, &taken) != 2)
        return fail_at(play, "a request has a method and a target", (struct bit){0});
    rest += taken;
    rest += *rest == ' ';
    text_init(&plain);
    text_init(&fields);
    text_init(&body);
    text_init(&out);
    rest = take_fields(rest, &plain);
    text_add(&plain, "", 1);
    bool good = match_bytes(&fields, plain.bytes, play->variables, false) &&
                match_bytes(&body, rest, play->variables, false);
    struct text filled;
    text_init(&filled);
    good = good && match_bytes(&filled, target, play->variables, false);
    text_add(&filled, "", 1);
    if (good)
        put_request(&out, method, filled.bytes, &fields, &body);
    play->peer->asks_head = strcmp(method, "HEAD") == 0;
    good = good && play->peer->line && play->backend->write(play->peer->line, out.bytes, out.length);
    text_deinit(&plain);
    text_deinit(&fields);
    text_deinit(&filled);
    text_deinit(&body);
    text_deinit(&out);
    return good || fail_at(play, "it can't be sent", (struct bit){0});
}

static bool send_bytes(const struct web_play *play, const char *text) {
    struct text bytes;
    text_init(&bytes);
    bool good = match_bytes(&bytes, text, play->variables, true) && play->peer->line &&
                play->backend->write(play->peer->line, bytes.bytes, bytes.length);
    text_deinit(&bytes);
    return good || fail_at(play, "it can't be sent", (struct bit){0});
}

// --- Answers

struct answer {
    unsigned status;
    struct bit names[ANSWER_FIELDS_MAX], values[ANSWER_FIELDS_MAX];
    unsigned count;
    size_t head_bytes;
    struct bit body;
};

// Waits until the bytes that have arrived have this in them; how many there are up to its end, 0 when it
// doesn't come.
static size_t await_text(const struct web_play *play, const char *text) {
    for (;;) {
        struct bit bit = arrived(play->peer);
        const uint8_t *at = bit.count ? memmem(bit.bytes, bit.count, text, strlen(text)) : NULL;
        if (at)
            return (size_t)(at - bit.bytes) + strlen(text);
        if (!player_more(play->peer, play->backend))
            return 0;
    }
}

static bool await_bytes(const struct web_play *play, size_t count) {
    while (play->peer->end - play->peer->at < count)
        if (!player_more(play->peer, play->backend))
            return false;
    return true;
}

// A line is `Name: value`, and nothing else.
static bool read_field(struct answer *answer, struct bit line) {
    const uint8_t *colon = memchr(line.bytes, ':', line.count);
    if (!colon || colon == line.bytes || colon + 1 == line.bytes + line.count || colon[1] != ' ' ||
        answer->count == ANSWER_FIELDS_MAX)
        return false;
    size_t name = (size_t)(colon - line.bytes);
    answer->names[answer->count] = (struct bit){line.bytes, name};
    answer->values[answer->count++] = (struct bit){colon + 2, line.count - name - 2};
    return true;
}

static bool read_head(struct answer *answer, struct bit head) {
    const char *text = (const char *)head.bytes;
    answer->head_bytes = head.count;
    if (head.count < strlen("HTTP/1.1 200 \r\n") || strncmp(text, "HTTP/1.1 ", 9) != 0)
        return false;
    answer->status = (unsigned)strtoul(text + 9, NULL, 10);
    const uint8_t *end = head.bytes + head.count - 2;
    for (const uint8_t *line = memchr(head.bytes, '\n', head.count) + 1; line < end;) {
        const uint8_t *feed = memchr(line, '\n', (size_t)(head.bytes + head.count - line));
        if (feed[-1] != '\r' || !read_field(answer, (struct bit){line, (size_t)(feed - line) - 1}))
            return false;
        line = feed + 1;
    }
    return true;
}

static bool is_name(struct bit bit, const char *name, size_t bytes) {
    return bit.count == bytes && strncasecmp((const char *)bit.bytes, name, bytes) == 0;
}

// Where it is, if it is there once; SIZE_MAX.
static size_t find_field(const struct answer *answer, const char *name, size_t bytes) {
    size_t found = SIZE_MAX;
    for (unsigned at = 0; at < answer->count; at++) {
        if (!is_name(answer->names[at], name, bytes))
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = at;
    }
    return found;
}

static bool read_answer(const struct web_play *play, struct answer *answer) {
    *answer = (struct answer){0};
    size_t head = await_text(play, "\r\n\r\n");
    if (!head || !read_head(answer, (struct bit){play->peer->bytes + play->peer->at, head}))
        return fail_at(play, "it received what is no answer: ", arrived(play->peer));
    size_t length = find_field(answer, "Content-Length", strlen("Content-Length"));
    size_t bytes = length == SIZE_MAX || play->peer->asks_head ? 0 : bit_number(answer->values[length]);
    if (!await_bytes(play, head + bytes))
        return fail_at(play, "it received a part of an answer: ", arrived(play->peer));
    struct bit all = {play->peer->bytes + play->peer->at, head};
    answer->count = 0; // bytes may have moved
    read_head(answer, all);
    answer->body = (struct bit){all.bytes + head, bytes};
    play->peer->at += head + bytes;
    play->peer->asks_head = play->peer->asks_head && answer->status < 200;
    return true;
}

// `Name: value`: it is there, once, and reads so. `Name: <none>`: it isn't.
static bool has_wanted(const struct answer *answer, const char *line, size_t bytes) {
    const char *colon = memchr(line, ':', bytes);
    size_t name = colon ? (size_t)(colon - line) : bytes;
    const char *value = colon ? colon + 2 : "";
    size_t value_bytes = colon ? bytes - name - 2 : 0;
    size_t at = find_field(answer, line, name);
    if (value_bytes == strlen("<none>") && memcmp(value, "<none>", value_bytes) == 0) {
        for (unsigned index = 0; index < answer->count; index++)
            if (is_name(answer->names[index], line, name))
                return false;
        return true;
    }
    return at != SIZE_MAX && bit_equal(answer->values[at], (struct bit){(const uint8_t *)value, value_bytes});
}

static bool has_all_wanted(const struct web_play *play, const struct answer *answer,
                           const struct text *fields) {
    for (size_t at = 0; at < fields->length;) {
        const char *line = fields->bytes + at;
        size_t bytes = (size_t)((const char *)memchr(line, '\r', fields->length - at) - line);
        if (!has_wanted(answer, line, bytes))
            return fail_at(play, "its answer's fields lack ", (struct bit){(const uint8_t *)line, bytes});
        at += bytes + 2;
    }
    return true;
}

// `STATUS [Name: value] BODY`; the body byte for byte, by members, or a part of it.
static bool expect_answer(const struct web_play *play, const char *rest, char how) {
    char *after;
    struct text fields;
    struct answer answer;
    unsigned long status = strtoul(rest, &after, 10);
    after += *after == ' ';
    text_init(&fields);
    const char *body = take_fields(after, &fields);
    bool good = read_answer(play, &answer) && has_all_wanted(play, &answer, &fields);
    if (good && answer.status != status)
        good = fail_at(
            play, "another status: ",
            (struct bit){answer.body.bytes - answer.head_bytes, answer.head_bytes + answer.body.count});
    bool same =
        good && (how == '~'   ? match_like(body, answer.body, play->variables)
                 : how == '*' ? memmem(answer.body.bytes, answer.body.count, body, strlen(body)) != NULL
                              : match_exactly(body, answer.body, play->variables));
    if (good && !same)
        good = fail_at(play, "it received instead: ", answer.body);
    text_deinit(&fields);
    return good;
}

// --- Events, and bytes

// With line feeds for what `\n` stands for. To be freed.
static char *unescaped(const char *text) {
    struct text out;
    text_init(&out);
    for (const char *at = text; *at;) {
        const char *escape = strstr(at, "\\n");
        size_t run = escape ? (size_t)(escape - at) : strlen(at);
        text_add(&out, at, run);
        if (escape)
            text_add(&out, "\n", 1);
        at += run + (escape ? 2 : 0);
    }
    text_add(&out, "", 1);
    char *copy = strdup(out.bytes);
    text_deinit(&out);
    return copy;
}

// Expects an event or a comment, without the empty line that ends it.
static bool expect_event(const struct web_play *play, const char *text) {
    size_t count = await_text(play, "\n\n");
    if (!count)
        return fail_at(play, "it received no event: ", arrived(play->peer));
    char *pattern = unescaped(text);
    struct bit event = {play->peer->bytes + play->peer->at, count - 2};
    bool good = match_exactly(pattern, event, play->variables);
    free(pattern);
    play->peer->at += count;
    return good || fail_at(play, "it received instead: ", event);
}

static bool expect_bytes(const struct web_play *play, const char *text) {
    struct text wanted;
    text_init(&wanted);
    bool good = match_bytes(&wanted, text, play->variables, true) ||
                fail_at(play, "a variable has no value yet", (struct bit){0});
    bool all = good && await_bytes(play, wanted.length);
    bool same = all && memcmp(play->peer->bytes + play->peer->at, wanted.bytes, wanted.length) == 0;
    if (good && !same)
        good = fail_at(play, "it received instead: ", arrived(play->peer));
    play->peer->at += same ? wanted.length : 0;
    text_deinit(&wanted);
    return good;
}

// A close frame of WebSocket with this code, whatever its reason is.
static bool expect_close(const struct web_play *play, const char *text) {
    const struct player *peer = play->peer;
    bool all = await_bytes(play, 2) && await_bytes(play, 2 + (size_t)peer->bytes[peer->at + 1]);
    const uint8_t *frame = peer->bytes + peer->at;
    if (!all || frame[0] != 0x88 || frame[1] < 2 ||
        (unsigned)(frame[2] << 8 | frame[3]) != strtoul(text, NULL, 10))
        return fail_at(play, "it received instead: ", arrived(peer));
    play->peer->at += 2 + (size_t)frame[1];
    return true;
}

bool web_at_end(const struct web_play *play, bool reset_allowed) {
    const struct player *peer = play->peer;
    while (peer->state == LINE_OPEN && peer->end == peer->at)
        if (!player_more(play->peer, play->backend) && peer->state == LINE_OPEN)
            break;
    if (peer->end > peer->at)
        return fail_at(play, "", arrived(peer));
    if (peer->state == LINE_ENDED || (reset_allowed && peer->state == LINE_RESET))
        return true;
    return fail_at(play, peer->state == LINE_OPEN ? "nothing" : "a reset", (struct bit){0});
}

bool web_line(const struct web_play *play, const char *rest, bool *known) {
    *known = true;
    if (strncmp(rest, "<= ", 3) == 0 || strncmp(rest, "<=~ ", 4) == 0 || strncmp(rest, "<=* ", 4) == 0)
        return expect_answer(play, rest + (rest[2] == ' ' ? 3 : 4), rest[2]);
    if (strncmp(rest, "<- ", 3) == 0)
        return expect_event(play, rest + 3);
    if (strncmp(rest, "<< ", 3) == 0)
        return expect_bytes(play, rest + 3);
    if (strncmp(rest, "<x ", 3) == 0)
        return expect_close(play, rest + 3);
    if (strncmp(rest, ">> ", 3) == 0)
        return send_bytes(play, rest + 3);
    if (*rest >= 'A' && *rest <= 'Z')
        return request(play, rest);
    *known = false;
    return false;
}
