// patchbay_torture memory|io [--every N]: plays each act once and counts the steps in it that can fail. Then plays the
// act once for each such step, which fails alone or with those that follow. No failure may leak, crash, or leave a
// request of a connected peer without an end. Afterwards the hub must serve as before.
//
//     memory  each allocation
//     io      each receive, send and accept, write and sync, with each error
//
// --every N tries only every N-th. Failure: the act, the shards and the place are printed, and the status
// is 1.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "router/main/features.h"
#include "tests/sim/acts.h"
#include "tests/sim/kernel.h"

enum { SECOND = 1000000000 };

// The failing calls: from `after` on, `count` of them, with `error` (0: allocations).
struct failure {
    uint64_t after;
    uint64_t count;
    int32_t error;
};

static char place[160];

static void failed(int number) {
    (void)number;
    if (write(STDERR_FILENO, place, strlen(place)) < 0)
        _exit(1);
    _exit(1);
}

static void begin(struct scene *scene, const struct failure *failure) {
    if (failure->error)
        kernel_refuse(scene->world.kernel, failure->after, failure->count, failure->error);
    else
        memory_fail(failure->after, failure->count);
}

// How many went by before the failure; all of them, when `after` was too far off.
static uint64_t end(struct scene *scene, const struct failure *failure) {
    uint64_t left = failure->error ? kernel_refuse(scene->world.kernel, 0, 0, 0) : memory_fail(0, 0);
    return left == UINT64_MAX ? failure->after : failure->after - left;
}

// New peers find a hub that does what it should.
static void check_health(struct scene *scene) {
    struct party *agent = party_join(scene), *source = party_join(scene);
    party_register(agent, "afterwards", "");
    scene_settle(scene);
    party_ask(source, "work", 20000, "\"targetAgent\":\"afterwards\"");
    scene_settle(scene);
    if (agent->results != 1 || source->results != 1)
        kernel_fail("the hub doesn't serve any more");
}

static uint64_t play(const struct act *act, uint32_t shards, const struct failure *failure) {
    static struct scene scene;
    struct world_options options;
    world_defaults(&options, 5, shards);
    options.takeover = true;
    options.journal = act->journal;
    options.faults.lent_max = 4;
    options.faults.window_bytes = act->window_bytes;
    if (act->queue_bytes)
        options.limits.queue_bytes_max = act->queue_bytes;
    snprintf(place, sizeof place,
             "failing: %s, %u shards, error %d, %" PRIu64 " of them from number %" PRIu64 "\n", act->name,
             shards, failure->error, failure->count, failure->after);
    scene_open(&scene, &options);
    begin(&scene, failure);
    act->play(&scene);
    uint64_t went_by = end(&scene, failure);
    scene_pass(&scene, SECOND / 2);
    scene_check(&scene);
    if (!world_stopped(&scene.world))
        check_health(&scene);
    scene_close(&scene);
    return went_by;
}

static uint64_t torture(const struct act *act, uint32_t shards, int32_t error, uint64_t every) {
    const uint64_t counts[] = {1, 5, error ? 40 : UINT64_MAX};
    uint64_t runs = 0;
    uint64_t total = play(act, shards, &(struct failure){UINT64_MAX - 1, 1, error});
    for (uint64_t number = 0; number < total; number += every)
        for (unsigned index = 0; index < sizeof counts / sizeof *counts; index++, runs++)
            play(act, shards, &(struct failure){number, counts[index], error});
    printf("%s, %u shards, error %d: %" PRIu64 " places, %" PRIu64 " runs\n", act->name, shards, error, total,
           runs);
    return runs;
}

// Opens a hub that may find no memory, and closes what there is of it.
static uint64_t open_hub(uint32_t shards, uint64_t after) {
    struct world_options options;
    struct random random;
    struct hub *hub;
    const char *why = NULL;
    world_defaults(&options, 5, shards);
    random_init(&random, 5);
    struct kernel *kernel = kernel_create(&random);
    kernel_use(kernel);
    struct hub_settings settings = {
        .limits = options.limits, .features = features_all, .shard_count = shards};
    snprintf(place, sizeof place, "failing: opening %u shards, number %" PRIu64 "\n", shards, after);
    memory_fail(after, 1);
    int result = hub_create(&hub, &settings);
    bool made = !result;
    for (uint32_t index = 0; index < shards && !result; index++) {
        struct shard *shard;
        result = shard_open(&shard, hub, index, &why);
    }
    uint64_t left = memory_fail(0, 0);
    bool may_fail = left == UINT64_MAX; // or the kernel has fewer buffers on loan
    if ((result && !may_fail) || (result && result != -ENOMEM) || (result && made && !why))
        kernel_fail("opening a hub ended with %d and the reason %s", result, why ? why : "of none");
    for (uint32_t index = 0; made && index < shards; index++)
        if (hub->shards[index])
            shard_close(hub->shards[index]);
    if (made)
        hub_destroy(hub);
    kernel_destroy(kernel);
    return left == UINT64_MAX ? after : after - left;
}

static void torture_opening(uint32_t shards) {
    uint64_t total = open_hub(shards, UINT64_MAX - 1);
    for (uint64_t number = 0; number < total; number++)
        open_hub(shards, number);
    printf("opening %u shards: %" PRIu64 " places\n", shards, total);
}

int main(int argc, char **argv) {
    static const int32_t memory[] = {0}, io[] = {-EINTR, -ENOBUFS, -ECONNRESET, -ENOMEM};
    bool of_io = argc > 1 && strcmp(argv[1], "io") == 0;
    uint64_t every = argc > 3 && strcmp(argv[2], "--every") == 0 ? strtoull(argv[3], NULL, 10) : 1;
    if (argc < 2 || (!of_io && strcmp(argv[1], "memory") != 0) || !every) {
        fputs("usage: patchbay_torture memory|io [--every N]\n", stderr);
        return 2;
    }
    signal(SIGABRT, failed);
    uint64_t runs = 0;
    for (uint32_t shards = 1; !of_io && shards <= 2; shards++)
        torture_opening(shards);
    for (unsigned index = 0; index < acts_count; index++)
        for (uint32_t shards = 1; shards <= 2; shards++)
            for (unsigned which = 0; which < (of_io ? sizeof io / sizeof *io : 1); which++)
                runs += torture(&acts[index], shards, of_io ? io[which] : memory[which], every);
    printf("%" PRIu64 " runs\n", runs);
    return 0;
}
