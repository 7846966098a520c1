// Topics as agents have them: names of one scheme, and prefixes of it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stage.h"
#include "core/agents/topics.h"

enum { NAME_BYTES_MAX = 64 };

static const struct siphash_key KEY = {{7, 7}};

struct topics_stage {
    struct buffer_budget budget;
    struct quota quota;
    struct topics topics;
    struct subscriber subscriber;
};

static void ask(struct topics_stage *stage, const char *pattern, size_t bytes) {
    struct subscription *subscription = topics_hold(&stage->topics, &stage->subscriber, pattern, bytes);
    subscription->asked = true;
}

size_t topics_stage_name(uint32_t index, char *name, size_t capacity) {
    return (size_t)snprintf(name, capacity, "project-%u/build-progress", index);
}

struct topics_stage *topics_stage_open(uint32_t exact, uint32_t prefixes) {
    struct topics_stage *stage = calloc(1, sizeof *stage);
    char name[NAME_BYTES_MAX];
    stage->budget.bytes_max = UINT64_C(1) << 32;
    quota_init(&stage->quota, &stage->budget);
    topics_init(&stage->topics, &KEY, &stage->quota);
    subscriber_init(&stage->subscriber, 0);
    for (uint32_t index = 0; index < exact; index++)
        ask(stage, name, topics_stage_name(index, name, sizeof name));
    // `*`, `p*`, `pr*` …
    topics_stage_name(0, name, sizeof name);
    for (uint32_t bytes = 0; bytes < prefixes; bytes++) {
        char pattern[NAME_BYTES_MAX];
        memcpy(pattern, name, bytes);
        pattern[bytes] = '*';
        ask(stage, pattern, bytes + 1);
    }
    return stage;
}

size_t topics_stage_match(struct topics_stage *stage, const char *name, size_t bytes) {
    struct topic *found[TOPICS_MATCH_MAX];
    return topics_match(&stage->topics, name, bytes, found);
}

void topics_stage_close(struct topics_stage *stage) {
    while (!list_empty(&stage->subscriber.subscriptions)) {
        struct subscription *subscription =
            list_entry(stage->subscriber.subscriptions.next, struct subscription, by_subscriber);
        subscription->asked = false;
        topics_let_go(&stage->topics, subscription);
    }
    topics_deinit(&stage->topics);
    free(stage);
}
