// The hub's own methods in every form: as requests, as notifications, and as either in a batch; and names
// that only look like the hub's.
#include <stdio.h>
#include <string.h>

#include "tests/sim/parts.h"

static const struct form {
    const char *method;
    const char *extra;
    struct hub_result result;
    int32_t code;  // the error that it ends with, and it reaches nobody; 0: none
    bool lazily;   // strictly it would need more
    bool notifies; // as a request it is another method's matter
} forms[] = {
    {"initialized", "", {NULL, NULL}, 0, false, false},
    {"initialize", "\"agentId\":\"any\",", {"protocolVersion", "\"2.0.0\""}, 0, true, false},
    {"hub/stats", "", {"shards", NULL}, 0, false, false},
    {"hub/agents", "", {"agents", NULL}, 0, false, false},
    {"hub/agents", "\"capability\":\"work\",", {"agents", "[]"}, 0, false, false},
    {"hub/ping", "", {NULL, NULL}, 0, false, true},
    {"hub/nothing", "", {NULL, NULL}, -32601, false, false},
    {"hub/nothing", "\"targetAgent\":\"agent-0\",", {NULL, NULL}, -32601, false, false},
    {"$/nothing", "", {NULL, NULL}, -32601, false, false},
    {"$/progress", "\"token\":\"nobody's\",", {NULL, NULL}, -32601, false, false},
    {"notifications/progress", "\"progressToken\":7,", {NULL, NULL}, -32601, false, false},
};

void forms_compose(struct run *run, struct guest *guest) {
    const struct form *form = &forms[random_below(run->random, sizeof forms / sizeof *forms)];
    bool ask = !form->notifies && random_chance(run->random, 500);
    if ((form->lazily && run->profile.strict) || (form->code && guest->attaches))
        return;
    struct call call = {.kind = ask ? RECORD_ASK : RECORD_TELL,
                        .to = form->code ? TO_NOBODY : TO_HUB,
                        .name = NOBODY,
                        .method = form->method,
                        .extra = form->extra,
                        .targetless = true,
                        .unroutable = form->code,
                        .flaw =
                            compose_flaw(run, guest, ask ? FLAW_IN_ASK : FLAW_IN_TELL, run->profile.flaws)};
    struct record *record = compose_call(run, guest, &call);
    if (record)
        record->result = form->result;
    totals.forms++;
}

// Makes a name that nobody else asks for, at the guest's own level, so that the connection's doesn't change.
void forms_name(struct run *run, struct guest *guest) {
    char extra[128];
    bool take = random_chance(run->random, 600), ask = random_chance(run->random, 600);
    if (guest->leaving || guest->gathering.is_void)
        return;
    int count = snprintf(extra, sizeof extra, "\"agentId\":\"more-%d\",", guest->index);
    if (take)
        snprintf(extra + count, sizeof extra - (size_t)count,
                 "\"capabilities\":[],\"governanceLevel\":\"%s\",", parts_level_names[guest->level]);
    struct call call = {.kind = ask ? RECORD_ASK : RECORD_TELL,
                        .to = TO_HUB,
                        .name = NOBODY,
                        .method = take ? "agent/register" : "agent/unregister",
                        .extra = extra};
    struct record *record = compose_call(run, guest, &call);
    if (!record)
        return;
    record->result = (struct hub_result){"registered", take ? "true" : "false"};
    record->trial = take; // behind one of trials.c that waits, it waits, too
    record->absent = !take && !guest->more;
    guest->gathering.stateful = guest->gathering.open;
    guest->more = take;
    totals.forms++;
}

void forms_leave(struct run *run, struct guest *guest, const char *method) {
    bool batch = random_chance(run->random, 300);
    struct call call = {.kind = random_chance(run->random, 500) ? RECORD_ASK : RECORD_TELL,
                        .to = TO_HUB,
                        .name = NOBODY,
                        .method = method};
    if (batch)
        compose_batch_begin(run, guest);
    if (batch && random_chance(run->random, 500))
        compose_call(
            run, guest,
            &(struct call){.kind = RECORD_ASK, .to = TO_HUB, .name = NOBODY, .method = "initialized"});
    compose_call(run, guest, &call);
    if (batch && random_chance(run->random, 500))
        compose_call(
            run, guest,
            &(struct call){.kind = RECORD_ASK, .to = TO_HUB, .name = NOBODY, .method = "initialized"});
    if (batch)
        compose_batch_end(run, guest);
}
