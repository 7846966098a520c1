#include "tests/sim/party.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lookup/lookup.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/party_web.h"

enum { TEXT_BYTES_MAX = 64 * 1024, HEAD_BYTES_MAX = 512 };

// --- Writing

void party_write(struct party *party, const void *bytes, size_t count) {
    if (party && party->cable)
        cable_write(party->cable, bytes, count);
}

static void write_frame(struct party *party, const char *fields, const char *body, size_t bytes) {
    char head[HEAD_BYTES_MAX];
    if (party && (party->socket || party->http)) {
        party_web_write(party, fields, body, bytes);
        return;
    }
    if (party && party->lines) {
        party_write(party, body, bytes);
        party_write(party, "\n", 1);
        return;
    }
    int count = snprintf(head, sizeof head, "Content-Length: %zu\r\n%s\r\n", bytes, fields);
    party_write(party, head, (size_t)count);
    party_write(party, body, bytes);
}

void party_frame(struct party *party, const char *fields, const char *format, ...) {
    char body[TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    write_frame(party, fields, body, (size_t)count);
}

void party_id(char *out, size_t capacity, unsigned number) {
    static const char *const forms[] = {
        "%u", "\"%u\"", "\"%u, longer than what lies in the table itself\"",
        "\"%u, longer than the room that a parcel has within itself for an id and a length\""};
    snprintf(out, capacity, forms[number % 4], number);
}

// {"jsonrpc":"2.0",<id>"method":...,"params":{<params>,"filler":"xx..."}}
static void write_call(struct party *party, const char *id, const char *method, size_t filler,
                       const char *params) {
    char *body = malloc(TEXT_BYTES_MAX + filler);
    if (!body)
        abort();
    int count = snprintf(
        body, TEXT_BYTES_MAX, "{\"jsonrpc\":\"2.0\",%s%s%s\"method\":\"%s\",\"params\":{%s%s\"filler\":\"",
        id ? "\"id\":" : "", id ? id : "", id ? "," : "", method, params, *params ? "," : "");
    memset(body + count, 'x', filler);
    memcpy(body + count + filler, "\"}}", 3);
    write_frame(party, "", body, (size_t)count + filler + 3);
    free(body);
}

void party_ask(struct party *party, const char *method, size_t filler, const char *params, ...) {
    char text[TEXT_BYTES_MAX / 2], id[128];
    if (!party || !party->cable)
        return;
    if (party->asked == PARTY_ASKS_MAX)
        kernel_fail("a party asks too much");
    va_list arguments;
    va_start(arguments, params);
    vsnprintf(text, sizeof text, params, arguments);
    va_end(arguments);
    party_id(id, sizeof id, party->asked++);
    write_call(party, id, method, filler, text);
}

void party_tell(struct party *party, const char *method, size_t filler, const char *params, ...) {
    char text[TEXT_BYTES_MAX / 2];
    if (!party || !party->cable)
        return;
    va_list arguments;
    va_start(arguments, params);
    vsnprintf(text, sizeof text, params, arguments);
    va_end(arguments);
    write_call(party, NULL, method, filler, text);
}

void party_register(struct party *party, const char *agent_id, const char *more) {
    party_ask(party, "agent/register", 0, "\"agentId\":\"%s\"%s", agent_id, more);
}

// --- Reading

static void answer(struct party *party, struct bit id) {
    party->heard++;
    if (id.bytes && !party->silent)
        party_frame(party, "", "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"n\":%u}}", (int)id.count,
                    (const char *)id.bytes, party->heard);
}

static void note_end(struct party *party, struct bit id, bool good) {
    char expected[128];
    unsigned number = 0;
    for (;; number++) {
        if (number == party->asked)
            kernel_fail("an answer to %.*s, which nobody asked", (int)id.count, (const char *)id.bytes);
        party_id(expected, sizeof expected, number);
        if (bit_is(id, expected))
            break;
    }
    if (party->ended[number]++)
        kernel_fail("request %s ended twice", expected);
    party->results += good;
    party->errors += !good;
}

// Reads by the hub's own lookup.
static void take_warily(struct party *party, struct bit body) {
    struct lookup lookup;
    lookup_body(&lookup, body.bytes, (uint32_t)body.count, 4096);
    if (lookup.kind == BODY_BATCH)
        return;
    if (lookup.verdict != LOOKUP_GOOD)
        kernel_fail("the hub forwarded what it should have refused: %.*s", (int)body.count,
                    (const char *)body.bytes);
    struct bit id = {0};
    if (lookup_has(&lookup, KEY_ID))
        id = (struct bit){body.bytes + lookup.value[KEY_ID].at, lookup.value[KEY_ID].bytes};
    if (lookup_has(&lookup, KEY_METHOD))
        answer(party, id);
    else if (!bit_is(id, "null"))
        note_end(party, id, lookup_has(&lookup, KEY_RESULT));
}

// A message, or the array of answers to a batch.
static void take(struct party *party, struct bit body) {
    if (party->wary) {
        take_warily(party, body);
        return;
    }
    struct bit id = naive_find(body, "id"), error = naive_find(body, "error");
    if (!naive_valid(body))
        kernel_fail("the hub sent a body that isn't JSON: %.*s", (int)body.count, (const char *)body.bytes);
    struct naive_item item;
    if (body.bytes[0] == '[') {
        for (size_t at = 0; naive_next(body, &at, &item);)
            take(party, item.value);
        return;
    }
    if (naive_find(body, "method").bytes)
        answer(party, id);
    else if (naive_find(body, "type").bytes)
        party->heard++;
    else if (!bit_is(id, "null"))
        note_end(party, id, !error.bytes);
    else if (!party->rude)
        kernel_fail("a good peer was told %.*s", (int)body.count, (const char *)body.bytes);
}

static void grow(struct party *party, size_t more) {
    if (party->in_count + more <= party->in_capacity)
        return;
    party->in_capacity = 2 * (party->in_count + more);
    party->in = realloc(party->in, party->in_capacity + BUFFER_SLACK_BYTES);
    if (!party->in)
        abort();
    memset(party->in + party->in_count, 0, party->in_capacity + BUFFER_SLACK_BYTES - party->in_count);
}

static enum naive_result next(struct party *party, struct naive_frame *frame, const uint8_t *bytes,
                              size_t count) {
    if (party->socket || party->http)
        return party_web_read(party, frame, bytes, count);
    return party->lines ? naive_line(frame, bytes, count) : naive_frame(frame, bytes, count);
}

// Reads what has come; false when there was nothing.
static bool hear(struct party *party) {
    size_t count = party->cable && !party->deaf ? cable_readable(party->cable) : 0, at = 0;
    if (!count)
        return false;
    grow(party, count);
    party->in_count += cable_read(party->cable, party->in + party->in_count, count);
    struct naive_frame frame;
    while (at < party->in_count) {
        enum naive_result result = next(party, &frame, party->in + at, party->in_count - at);
        if (result == NAIVE_BAD)
            kernel_fail("the hub sent what is no frame, or no line");
        if (result == NAIVE_PARTIAL)
            break;
        if (frame.body.bytes)
            take(party, frame.body);
        at += frame.bytes;
    }
    memmove(party->in, party->in + at, party->in_count - at);
    party->in_count -= at;
    return true;
}

// --- The scene

void scene_open(struct scene *scene, const struct world_options *options) {
    *scene = (struct scene){0};
    world_open(&scene->world, options);
}

static struct party *join(struct scene *scene, struct cable *(*dial)(struct world *)) {
    if (scene->count == PARTIES_MAX)
        kernel_fail("too many parties");
    struct cable *cable = dial(&scene->world);
    if (!cable)
        return NULL;
    struct party *party = &scene->parties[scene->count++];
    party->cable = cable;
    return party;
}

struct party *party_join(struct scene *scene) {
    return join(scene, world_dial);
}

struct party *party_join_lines(struct scene *scene) {
    struct party *party = join(scene, world_dial_lines);
    if (party)
        party->lines = true;
    return party;
}

struct party *party_join_http(struct scene *scene) {
    struct party *party = join(scene, world_dial_http);
    if (party)
        party->http = true;
    return party;
}

struct party *party_join_socket(struct scene *scene, const char *fields) {
    struct party *party = join(scene, world_dial_http);
    if (!party)
        return NULL;
    party->socket = true;
    party_web_upgrade(party, fields);
    return party;
}

void party_leave(struct party *party) {
    if (!party || !party->cable)
        return;
    cable_close(party->cable);
    party->cable = NULL;
}

static bool hear_all(struct scene *scene) {
    bool any = false;
    for (unsigned index = 0; index < scene->count; index++)
        any |= hear(&scene->parties[index]);
    return any;
}

void scene_settle(struct scene *scene) {
    do
        world_settle(&scene->world);
    while (hear_all(scene));
}

void scene_pass(struct scene *scene, uint64_t ns) {
    struct world *world = &scene->world;
    uint64_t until_ns = kernel_now(world->kernel) + ns;
    scene_settle(scene);
    for (uint64_t next_ns; (next_ns = world_next_ns(world)) <= until_ns;) {
        kernel_advance(world->kernel, next_ns);
        scene_settle(scene);
    }
    kernel_advance(world->kernel, until_ns);
    scene_settle(scene);
}

void scene_check(const struct scene *scene) {
    char id[128];
    for (unsigned index = 0; index < scene->count; index++) {
        const struct party *party = &scene->parties[index];
        if (!party->cable || cable_at_end(party->cable))
            continue;
        for (unsigned number = 0; number < party->asked; number++) {
            party_id(id, sizeof id, number);
            if (!party->ended[number])
                kernel_fail("party %u waits for an answer to %s", index, id);
        }
    }
}

void scene_close(struct scene *scene) {
    for (unsigned index = 0; index < scene->count; index++)
        scene->parties[index].deaf = false;
    hear_all(scene);
    if (!world_stopped(&scene->world))
        world_stop(&scene->world);
    hear_all(scene);
    for (unsigned index = 0; index < scene->count; index++) {
        party_leave(&scene->parties[index]);
        free(scene->parties[index].in);
    }
    world_close(&scene->world);
}
