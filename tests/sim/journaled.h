// The vocabulary of scenarios of the audit journal: a hub that keeps one, entries, and the lines of its file.
#pragma once

#include "tests/sim/tell.h"

// Required fields of an entry besides its action.
static const char *const FIELDS = "\"actor\":\"me\",\"timestamp\":\"now\"";

static inline void open_hub(struct world *world, uint32_t shard_count, const struct sim_faults *faults) {
    struct world_options options;
    world_defaults(&options, 7, shard_count);
    options.journal = "journal";
    if (faults)
        options.faults = *faults;
    world_open(world, &options);
}

static inline void log_as(struct cable *cable, const char *id, const char *action) {
    char body[512];
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"audit/log\",\"params\":{\"action\":\"%s\",%s}}", id,
             action, FIELDS);
    say(cable, body);
}

static inline void hear_logged(struct cable *cable, const char *id) {
    const char *answer = hear(cable);
    assert_true(bit_is(of(answer, "id"), id));
    assert_true(bit_is(of(answer, "result.logged"), "true"));
}

static inline void hear_failed(struct cable *cable, const char *id, const char *fault) {
    const char *answer = hear(cable);
    assert_true(bit_is(of(answer, "id"), id));
    assert_int_equal(bit_integer(of(answer, "error.code")), -32003);
    assert_true(bit_is(of(answer, "error.data.fault"), fault));
}

static inline uint64_t counted(const struct world *world, enum counter counter) {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < world->shard_count; shard++)
        sum += stats_read(&world->shards[shard]->stats, counter);
    return sum;
}

// The n-th line of a file; no line: `bytes` is NULL.
static inline struct bit line_of(const struct world *world, uint32_t file, unsigned number) {
    size_t count = 0, synced;
    const uint8_t *bytes = disk_file(world->kernel, file, &count, &synced), *end = bytes + count;
    for (; bytes && bytes < end; number--) {
        const uint8_t *line_end = memchr(bytes, '\n', (size_t)(end - bytes));
        line_end = line_end ? line_end : end;
        if (number == 0)
            return (struct bit){bytes, (size_t)(line_end - bytes)};
        bytes = line_end + 1;
    }
    return (struct bit){0};
}

static inline bool line_is(const struct world *world, uint32_t file, unsigned number, const char *path,
                           const char *value) {
    return bit_is(naive_find(line_of(world, file, number), path), value);
}
