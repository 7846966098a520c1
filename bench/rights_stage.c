// A user as operators write them: agents of one scheme, half of them by a beginning.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stage.h"
#include "core/rights/rights.h"

enum { LINE_BYTES_MAX = 64 };

struct rights_stage {
    struct users *users;
    const struct user *user;
    uint64_t now_ns;
};

static void no_fault(void *context, const struct users_fault *fault) {
    (void)context, (void)fault;
}

// Every second name goes on behind the beginning that a pattern names.
size_t rights_stage_name(uint32_t index, char *name, size_t capacity) {
    return (size_t)snprintf(name, capacity, "team-%u/reviewer%s", index, index % 2 ? "" : "-");
}

struct rights_stage *rights_stage_open(uint32_t patterns, uint32_t denials) {
    static const struct siphash_key key = {{7, 7}};
    struct rights_stage *stage = calloc(1, sizeof *stage);
    char *text = malloc(((size_t)patterns + denials + 2) * LINE_BYTES_MAX), name[LINE_BYTES_MAX];
    char *at = text + sprintf(text, "[user u]\nrate = 1000000000/s\nbytes = 1000G/s\n");
    for (uint32_t index = 0; index < patterns; index++) {
        rights_stage_name(index, name, sizeof name);
        at += sprintf(at, "call = %s%s\n", name, index % 2 ? "" : "*");
    }
    for (uint32_t index = 0; index < denials; index++)
        at += sprintf(at, "deny-call = secret-%u*, method:secret-%u/*\n", index, index);
    stage->users = users_read(text, (size_t)(at - text), &key, NULL, no_fault, NULL);
    users_judge_by(stage->users);
    stage->user = users_at(stage->users, 0);
    free(text);
    return stage;
}

int rights_stage_call(struct rights_stage *stage, const char *agent, size_t bytes) {
    struct right_call call = {.by = KIND_AGENT,
                              .names[KIND_AGENT] = {true, agent, bytes},
                              .names[KIND_METHOD] = {true, "agent/request", 13}};
    return rights_call(stage->user, &call).allowed && rights_hold(stage->user, &call) == 0;
}

int rights_stage_limits(struct rights_stage *stage, const char *agent, size_t bytes) {
    (void)agent;
    enum account_limit over;
    stage->now_ns += 100;
    return account_message(stage->user->account, &users_rights(stage->user)->limits, stage->now_ns,
                           16 * bytes, &over) == 0;
}

void rights_stage_close(struct rights_stage *stage) {
    users_drop(stage->users);
    free(stage);
}
