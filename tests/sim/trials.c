// Trials of guests that the hub must refuse as a whole. Some are registrations that list too much, or something that
// can't be offered, under the guest's own name or another's. Others are calls under names that nobody has. Afterwards
// all must stand as it did: the books here know what each guest has registered, and nothing of how the hub judges.
#include <stdio.h>
#include <string.h>

#include "tests/sim/parts.h"

enum { HALF = 600, TOO_MANY = 1100, LONG_BYTES_MAX = 3000 };

static bool may_try(const struct run *run, const struct guest *guest) {
    const struct profile *profile = &run->profile;
    return !profile->lossy && !profile->tight && !run->draining && !guest->leaving && !guest->doomed &&
           (guest->name == NOBODY || guest->registered);
}

// --- Registrations

// Enters an agent whose patterns match no event.
static struct record *enter(struct run *run, struct guest *guest, const char *agent_id, const char *listed,
                            char prefix, unsigned patterns, const struct flaw *flaw) {
    struct draft extra = {0};
    draft_put(&extra, "\"agentId\":\"%s\",\"governanceLevel\":\"%s\",\"capabilities\":{%s\"events\":[",
              agent_id, parts_level_names[guest->name == NOBODY ? 0 : guest->level], listed);
    for (unsigned number = 0; number < patterns; number++)
        draft_put(&extra, "%s\"z%c/%u\"", number ? "," : "", prefix, number);
    draft_put(&extra, "]},");
    draft_add(&extra, "", 1);
    struct record *record = compose_call(run, guest,
                                         &(struct call){.kind = RECORD_ASK,
                                                        .to = TO_HUB,
                                                        .name = NOBODY,
                                                        .method = "agent/register",
                                                        .extra = extra.bytes,
                                                        .flaw = flaw});
    draft_deinit(&extra);
    if (record) {
        record->trial = true;
        record->result = (struct hub_result){"registered", "true"};
    }
    return record;
}

static void leave(struct run *run, struct guest *guest, const char *agent_id) {
    char extra[64];
    snprintf(extra, sizeof extra, "\"agentId\":\"%s\",", agent_id);
    struct record *record = compose_call(
        run, guest,
        &(struct call){
            .kind = RECORD_ASK, .to = TO_HUB, .name = NOBODY, .method = "agent/unregister", .extra = extra});
    if (record) {
        record->trial = true;
        record->result = (struct hub_result){"registered", "false"};
    }
}

static const struct flaw too_many = {
    .place = FLAW_FIELD,
    .code = -32602,
    .data = "{\"field\":\"params.capabilities.events\",\"limit\":1024}",
};

// The guest's own name or, as often, that of somebody who is there.
static void choose_name(struct run *run, const struct guest *guest, char *out, size_t capacity) {
    const struct guest *other = run->guests[random_below(run->random, run->guest_count)];
    bool own = guest->name != NOBODY && random_chance(run->random, 500);
    int name = own || !other->registered ? guest->name : other->name;
    if (name == NOBODY)
        snprintf(out, capacity, "nobody");
    else
        snprintf(out, capacity, "agent-%d", name);
}

static void try_too_many(struct run *run, struct guest *guest) {
    char name[32], spare[32];
    choose_name(run, guest, name, sizeof name);
    if (random_chance(run->random, 200)) {
        enter(run, guest, name, "", 'a', TOO_MANY, &too_many);
        return;
    }
    snprintf(spare, sizeof spare, "spare-%d", guest->index); // with it, the other one is too much
    enter(run, guest, spare, "", 'a', HALF, NULL);
    enter(run, guest, name, "", 'b', HALF, &too_many);
    leave(run, guest, spare);
}

static void try_what_cannot_be_offered(struct run *run, struct guest *guest) {
    static const struct {
        const char *listed, *data;
    } trials[] = {
        {"\"methods\":[\"work/0\",\"\"],", "{\"field\":\"params.capabilities.methods\"}"},
        {"\"methods\":{\"\":{}},", "{\"field\":\"params.capabilities.methods\"}"},
        {"\"methods\":[\"hub/replaced\"],", "{\"field\":\"params.capabilities.methods\"}"},
        {"\"methods\":[\"rpc.x\",\"work/1\"],", "{\"field\":\"params.capabilities.methods\"}"},
        {"\"methods\":[\"$\\u002fx\"],", "{\"field\":\"params.capabilities.methods\"}"},
        {"\"tools\":[\"\"],", "{\"field\":\"params.capabilities.tools\"}"},
        {"\"tasks\":[\"\"],", "{\"field\":\"params.capabilities.tasks\"}"},
        {"\"\":true,", "{\"field\":\"params.capabilities\"}"},
    };
    char name[32];
    uint32_t which = random_below(run->random, sizeof trials / sizeof *trials);
    struct flaw flaw = {.place = FLAW_FIELD, .code = -32602, .data = trials[which].data};
    choose_name(run, guest, name, sizeof name);
    enter(run, guest, name, trials[which].listed, 'c', 1, &flaw);
}

// --- Calls

static void call(struct run *run, struct guest *guest, const char *method, const char *data,
                 enum address_kind to, int name) {
    struct flaw flaw = {.place = FLAW_FIELD, .code = -32601, .data = data};
    bool ask = random_chance(run->random, 600);
    struct record *record = compose_call(run, guest,
                                         &(struct call){.kind = ask ? RECORD_ASK : RECORD_TELL,
                                                        .to = to,
                                                        .name = name,
                                                        .method = method,
                                                        .flaw = &flaw,
                                                        .targetless = to == TO_NOBODY});
    totals.asked += record && ask;
    totals.told += record && !ask;
}

// No guest may speak for the hub, whomever the message is addressed to.
static void try_to_be_the_hub(struct run *run, struct guest *guest, int name) {
    static const struct {
        const char *method, *data;
    } trials[] = {
        {"hub/replaced", "{\"method\":\"hub/replaced\"}"},
        {"hub/dropped", "{\"method\":\"hub/dropped\"}"},
        {"hub/", "{\"method\":\"hub/\"}"},
        {"hub\\u002freplaced", "{\"method\":\"hub/replaced\"}"},
        {"\\u0068ub/x", "{\"method\":\"hub/x\"}"},
    };
    char method[LONG_BYTES_MAX] = "hub/";
    uint32_t which = random_below(run->random, sizeof trials / sizeof *trials + 1);
    if (which < sizeof trials / sizeof *trials) {
        call(run, guest, trials[which].method, trials[which].data, TO_NAME, name);
        return;
    }
    memset(method + 4, 'x', 256);
    call(run, guest, method, "{\"limit\":255}", TO_NAME, name);
}

static void try_a_long_method(struct run *run, struct guest *guest) {
    char method[LONG_BYTES_MAX];
    size_t bytes =
        256 + random_below(run->random, random_chance(run->random, 500) ? 3 : LONG_BYTES_MAX - 257);
    memset(method, 'm', bytes);
    method[bytes] = '\0';
    call(run, guest, method, "{\"limit\":255}", TO_NOBODY, 0);
}

bool trials_open(const struct run *run, const struct guest *guest) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        if (record->trial && record->kind == RECORD_ASK && record->source == guest->index && !record->ended)
            return true;
    }
    return false;
}

void trials_compose(struct run *run, struct guest *guest, int name) {
    uint32_t dice = random_below(run->random, 10);
    if (dice < 2)
        try_a_long_method(run, guest);
    else if (dice < 5)
        try_to_be_the_hub(run, guest, name);
    else if (dice < 7 && may_try(run, guest))
        try_what_cannot_be_offered(run, guest);
    else if (may_try(run, guest))
        try_too_many(run, guest);
    else
        call(run, guest, "", "{\"method\":\"\"}", TO_NOBODY, 0);
}

// --- What must stand

static bool is_sure(const struct run *run, const struct guest *guest) {
    bool stays = guest->name != NOBODY && guest->registered && !guest->leaving && !guest->gone &&
                 !guest->doomed && !guest->ended_by_hub && !guest->deaf;
    for (unsigned index = 0; stays && index < run->guest_count; index++)
        stays = (int)index == guest->index || run->guests[index]->name != guest->name;
    return stays;
}

static void check_stands(const struct run *run, const struct guest *guest, const struct shard *shard) {
    char name[32];
    int bytes = snprintf(name, sizeof name, "agent-%d", guest->name);
    const struct agent *agent = agents_find(&shard->agents, name, (size_t)bytes);
    if (!agent)
        oracle_fail(run, guest->registration, NULL, "a registration that nothing ended is gone");
    struct bit listed = naive_find(run->records[guest->registration]->body, "params.capabilities");
    if (!bit_equal(listed, (struct bit){agent->capabilities->text, agent->capabilities->bytes}) ||
        (int)agent->governance != guest->level)
        oracle_fail(run, guest->registration, NULL, "a registration isn't what it was");
}

void trials_rest(const struct run *run) {
    for (unsigned index = 0; index < run->guest_count; index++)
        for (uint32_t shard = 0; is_sure(run, run->guests[index]) && shard < run->world.shard_count; shard++)
            check_stands(run, run->guests[index], run->world.shards[shard]);
}
