// Fuzzes batches: the input is the body. A body that isn't JSON, or no batch of a good size, is one error without an
// id. In any other, each request and each member that can't be read is answered once, all in one array. Without such
// members there is no array.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/simdjson.h"
#include "core/lookup/lookup.h"
#include "tests/sim/naive.h"
#include "tests/sim/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMBERS_MAX = 20, FRAME_BYTES_MAX = 4096, MEMBER_BYTES_MAX = FRAME_BYTES_MAX };

static void require(bool holds) {
    if (!holds)
        abort();
}

struct heard {
    unsigned arrays, answers, errors; // errors: alone, without an id
};

static void hear_frame(struct heard *heard, struct bit body) {
    struct naive_item item;
    if (body.bytes[0] != '[') {
        heard->errors += bit_is(naive_find(body, "id"), "null");
        return;
    }
    heard->arrays++;
    for (size_t at = 0; naive_next(body, &at, &item);)
        heard->answers++;
}

static struct heard hear(struct cable *cable) {
    struct heard heard = {0};
    struct naive_frame frame;
    size_t count = cable_readable(cable);
    uint8_t *bytes = malloc(count + 1);
    require(bytes && cable_read(cable, bytes, count) == count);
    for (size_t at = 0; at < count; at += frame.bytes) {
        require(naive_frame(&frame, bytes + at, count - at) == NAIVE_WHOLE);
        hear_frame(&heard, frame.body);
    }
    free(bytes);
    return heard;
}

// Returns whether an answer is due for a member that the hub looks at by itself.
static bool is_due(struct bit member, bool *leaves) {
    static uint8_t copy[MEMBER_BYTES_MAX + BUFFER_SLACK_BYTES];
    struct lookup lookup;
    memcpy(copy, member.bytes, member.count);
    memset(copy + member.count, 0, BUFFER_SLACK_BYTES);
    lookup_body(&lookup, copy, (uint32_t)member.count, 256);
    bool is_call = lookup.kind == BODY_REQUEST || lookup.kind == BODY_NOTIFICATION;
    *leaves |= is_call && lookup_has(&lookup, KEY_METHOD) && lookup.type[KEY_METHOD] == JSON_STRING &&
               json_string_is(copy, lookup.value[KEY_METHOD], "exit");
    if (lookup.kind == BODY_RESPONSE)
        return false;
    return lookup.verdict != LOOKUP_GOOD || lookup.kind != BODY_NOTIFICATION;
}

// How many answers are due for a batch that is JSON, and how many members it has.
static unsigned count_due(struct bit body, unsigned *members, bool *leaves) {
    struct naive_item item;
    unsigned due = 0;
    *members = 0;
    for (size_t at = 0; naive_next(body, &at, &item); ++*members)
        due += is_due(item.value, leaves);
    return due;
}

static struct heard play(const uint8_t *data, size_t size, uint32_t shards) {
    struct world world;
    struct world_options options;
    char head[64];
    world_defaults(&options, size, shards);
    options.limits.connections_max = 4;
    options.limits.batch_members_max = MEMBERS_MAX;
    options.limits.frame_bytes_max = FRAME_BYTES_MAX;
    world_open(&world, &options);
    struct cable *cable = world_dial(&world);
    int bytes = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", size);
    cable_write(cable, head, (size_t)bytes);
    cable_write(cable, data, size);
    world_settle(&world);
    cable_shut(cable); // its agents leave, and with them what it has asked of itself ends
    world_settle(&world);
    struct heard heard = hear(cable);
    cable_close(cable);
    world_settle(&world);
    world_stop(&world);
    world_close(&world);
    return heard;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct simdjson_parser *parser;
    static uint8_t text[FRAME_BYTES_MAX + BUFFER_SLACK_BYTES];
    struct bit body = {data, size};
    size_t at = 0;
    while (at < size && (data[at] == ' ' || data[at] == '\n' || data[at] == '\t' || data[at] == '\r'))
        at++;
    if (at == size || size > FRAME_BYTES_MAX || data[at] != '[')
        return 0;
    if (!parser)
        parser = simdjson_create();
    memcpy(text, data, size);
    struct heard heard = play(data, size, 1 + size % 2);
    unsigned members = 0, due = 0;
    bool leaves = false, valid = simdjson_validate(parser, text, size) == SIMDJSON_VALID;
    if (valid)
        due = count_due(body, &members, &leaves);
    if (leaves) // what follows it isn't read
        return 0;
    if (!valid || members == 0 || members > MEMBERS_MAX) {
        require(heard.errors == 1 && heard.arrays == 0);
        return 0;
    }
    require(heard.errors == 0 && heard.arrays == (due > 0) && heard.answers == due);
    return 0;
}
