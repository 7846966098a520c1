// Requests that end in the order in which they began, as those to one target mostly do.
#include <stdlib.h>
#include <string.h>

#include "bench/stage.h"
#include "core/requests/pending.h"

enum { TIMEOUT_MS = 300000, ID_BYTES_MAX = 256 };

struct pending_stage {
    struct buffer_budget budget;
    struct quota quota;
    struct pending_table table;
    struct wheel wheel;
    struct list by_source, by_target;
    uint64_t *hub_ids; // a ring, the oldest at `at`
    uint32_t at, under_way;
    uint32_t id_bytes;
    char id[ID_BYTES_MAX];
};

static void begin(struct pending_stage *stage) {
    struct pending *pending = pending_add(&stage->table, stage->id, stage->id_bytes);
    list_append(&stage->by_source, &pending->by_source);
    list_append(&stage->by_target, &pending->by_target);
    wheel_arm(&stage->wheel, &pending->timer, TIMEOUT_MS);
    stage->hub_ids[stage->at] = pending_hub_id(&stage->table, pending);
    stage->at = stage->at + 1 == stage->under_way ? 0 : stage->at + 1;
}

struct pending_stage *pending_stage_open(uint32_t under_way, uint32_t id_bytes) {
    struct pending_stage *stage = calloc(1, sizeof *stage);
    stage->budget.bytes_max = UINT64_C(1) << 32;
    quota_init(&stage->quota, &stage->budget);
    pending_table_init(&stage->table, 0, &stage->quota);
    wheel_init(&stage->wheel, 0);
    list_init(&stage->by_source);
    list_init(&stage->by_target);
    stage->hub_ids = calloc(under_way, sizeof *stage->hub_ids);
    stage->under_way = under_way;
    stage->id_bytes = id_bytes < ID_BYTES_MAX ? id_bytes : ID_BYTES_MAX;
    memset(stage->id, '7', sizeof stage->id);
    for (uint32_t index = 0; index < under_way; index++)
        begin(stage);
    return stage;
}

int pending_stage_turn(struct pending_stage *stage) {
    struct pending *pending = pending_find(&stage->table, stage->hub_ids[stage->at]);
    if (!pending)
        return 0;
    pending_end(&stage->table, pending);
    begin(stage);
    return 1;
}

void pending_stage_close(struct pending_stage *stage) {
    for (uint32_t index = 0; index < stage->under_way; index++)
        pending_end(&stage->table, pending_find(&stage->table, stage->hub_ids[index]));
    pending_table_deinit(&stage->table);
    free(stage->hub_ids);
    free(stage);
}
