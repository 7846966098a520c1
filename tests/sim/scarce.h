// The vocabulary of scenarios near the bound of memory: a hub that has little, and frames sent in parts.
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
#include "tests/sim/party.h"

enum { MEBIBYTE = 1 << 20, MILLISECOND = 1000000, MEMORY_BYTES = 24 * MEBIBYTE };

static inline uint64_t counted(const struct scene *scene, enum counter counter) {
    uint64_t sum = 0;
    for (uint32_t index = 0; index < scene->world.shard_count; index++)
        sum += stats_read(&scene->world.shards[index]->stats, counter);
    return sum;
}

static inline uint64_t held(const struct scene *scene) {
    return atomic_load(&scene->world.hub->budget.bytes);
}

static inline void open_small(struct scene *scene, uint32_t shards) {
    struct world_options options;
    world_defaults(&options, 3, shards);
    options.limits.memory_bytes_max = MEMORY_BYTES;
    options.limits.queue_bytes_max = 64 * MEBIBYTE;
    options.limits.frame_bytes_max = 64 * MEBIBYTE;
    scene_open(scene, &options);
}

static inline struct party *join_as(struct scene *scene, const char *agent_id) {
    struct party *party = party_join(scene);
    party_register(party, agent_id, "");
    scene_settle(scene);
    assert_int_equal(party->results, 1);
    return party;
}

static inline void check_served(struct scene *scene, struct party *source) {
    unsigned before = source->results;
    party_ask(source, "work", 100, "\"targetAgent\":\"good\"");
    scene_pass(scene, MILLISECOND);
    assert_int_equal(source->results, before + 1);
}

static inline void begin_frame(struct party *party, size_t bytes, size_t sent) {
    static char filler[4 * MEBIBYTE];
    char head[64];
    memset(filler, ' ', sizeof filler);
    int count = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", bytes);
    party_write(party, head, (size_t)count);
    party_write(party, filler, sent);
}

// Sends more of a frame that has begun; what it sends is never the last of it.
static inline void go_on(struct party *party, size_t bytes) {
    static const char more[MEBIBYTE];
    party_write(party, more, bytes);
}
