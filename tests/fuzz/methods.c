// Fuzzes the reading of the hub's own methods. The first byte chooses the method, the rest is its params as
// they are. One frame comes back, for the request or, where the params spoil the body, without an id. The
// hub's words about its agents afterwards are JSON, whatever the agents said of themselves.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/json/simdjson.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const methods[] = {"agent/register",
                                      "agent/register",
                                      "agent/register",
                                      "initialize",
                                      "agent/unregister",
                                      "hub/agents",
                                      "hub/subscribe",
                                      "hub/unsubscribe",
                                      "$/cancelRequest",
                                      "tool/integration",
                                      "event",
                                      "audit/log",
                                      "shutdown",
                                      "work",
                                      "hub/stats",
                                      "governance/approval"};

struct inbox {
    uint8_t *bytes;
    size_t count;
    unsigned frames;
    bool with_id;
};

static void require(bool holds) {
    if (!holds)
        abort();
}

static void say(struct cable *cable, const char *method, const uint8_t *params, size_t count) {
    char head[256], body[160];
    int before =
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\",\"params\":", method);
    int bytes =
        snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n%s", (size_t)before + count + 1, body);
    cable_write(cable, head, (size_t)bytes);
    cable_write(cable, params, count);
    cable_write(cable, "}", 1);
}

// Everything that has come is JSON in frames.
static void hear(struct cable *cable, struct inbox *inbox) {
    static struct simdjson_parser *parser;
    if (!parser)
        parser = simdjson_create();
    *inbox = (struct inbox){.count = cable_readable(cable)};
    inbox->bytes = malloc(inbox->count + BUFFER_SLACK_BYTES);
    require(parser && inbox->bytes && cable_read(cable, inbox->bytes, inbox->count) == inbox->count);
    memset(inbox->bytes + inbox->count, 0, BUFFER_SLACK_BYTES);
    struct naive_frame frame;
    for (size_t at = 0; at < inbox->count; at += frame.bytes) {
        require(naive_frame(&frame, inbox->bytes + at, inbox->count - at) == NAIVE_WHOLE);
        require(simdjson_validate(parser, frame.body.bytes, frame.body.count) == SIMDJSON_VALID);
        inbox->with_id |= memmem(frame.body.bytes, frame.body.count, "\"id\":5", 6) != NULL;
        inbox->frames++;
    }
    free(inbox->bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct world world;
    struct world_options options;
    struct inbox inbox;
    if (size < 2)
        return 0;
    world_defaults(&options, data[0], 1 + (data[0] >> 7));
    options.limits.connections_max = 8;
    options.faults.lent_max = 2;
    world_open(&world, &options);
    struct cable *cable = world_dial(&world), *other = world_dial(&world);
    say(cable, methods[data[0] & 15], data + 1, size - 1);
    world_settle(&world);
    hear(cable, &inbox);
    require(inbox.frames >= 1);
    say(other, "hub/agents", (const uint8_t *)"{}", 2);
    world_settle(&world);
    hear(other, &inbox);
    require(inbox.frames == 1 && inbox.with_id);
    if (data[0] & 0x40) { // what was said twice ends as what was said once
        say(cable, methods[data[0] & 15], data + 1, size - 1);
        memory_fail(data[1] & 15, 2);
        world_settle(&world);
        memory_fail(0, 0);
        hear(cable, &inbox);
    }
    cable_close(cable);
    cable_close(other);
    world_settle(&world);
    world_stop(&world);
    world_close(&world);
    return 0;
}
