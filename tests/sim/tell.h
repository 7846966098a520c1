// The vocabulary of scenarios: peers that write bodies and read frames one by one.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/world.h"

enum { SECOND = 1000000000, TEXT_BYTES_MAX = 64 * 1024 };

// A frame around a body.
static inline size_t frame_of(char *out, const char *fields, const char *body) {
    return (size_t)snprintf(out, TEXT_BYTES_MAX, "Content-Length: %zu\r\n%s\r\n%s", strlen(body), fields,
                            body);
}

static inline void say(struct cable *cable, const char *body) {
    char text[TEXT_BYTES_MAX];
    assert_true(cable_write(cable, text, frame_of(text, "", body)));
}

// Takes exactly one frame off the cable; its body, as a string, stays until the next call.
static inline const char *hear(struct cable *cable) {
    static uint8_t bytes[TEXT_BYTES_MAX];
    static char body[TEXT_BYTES_MAX];
    size_t count = 0;
    struct naive_frame frame;
    enum naive_result result = NAIVE_PARTIAL;
    while (result == NAIVE_PARTIAL && cable_read(cable, bytes + count, 1)) {
        count++;
        result = naive_frame(&frame, bytes, count);
    }
    assert_int_equal(result, NAIVE_WHOLE);
    memcpy(body, frame.body.bytes, frame.body.count);
    body[frame.body.count] = '\0';
    return body;
}

static inline struct bit of(const char *body, const char *path) {
    return naive_find((struct bit){(const uint8_t *)body, strlen(body)}, path);
}

static inline struct cable *join(struct world *world, const char *agent_id) {
    char body[256];
    struct cable *cable = world_dial(world);
    assert_non_null(cable);
    if (agent_id) {
        snprintf(
            body, sizeof body,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"agent/register\",\"params\":{\"agentId\":\"%s\"}}",
            agent_id);
        say(cable, body);
    }
    world_settle(world);
    if (agent_id)
        assert_true(bit_is(of(hear(cable), "result.registered"), "true"));
    return cable;
}

static inline void open_world(struct world *world, uint32_t shard_count) {
    struct world_options options;
    world_defaults(&options, 7, shard_count);
    world_open(world, &options);
}

static inline void finish(struct world *world, struct cable **cables, unsigned count) {
    kernel_signal(world->kernel, 15);
    world_settle(world);
    for (unsigned index = 0; index < count; index++) {
        assert_true(cable_at_end(cables[index]));
        cable_close(cables[index]);
    }
    world_stop(world);
    world_close(world);
}
