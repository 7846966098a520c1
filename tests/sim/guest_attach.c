// Guests that attach themselves to agents, and then leave the target out of their messages. A guest that is
// known to be attached sends messages in the name of any method. While that isn't known, because an answer is
// under way, it names its target as others do. Messages that go by a rule without a target are left to other
// guests.
#include <stdio.h>

#include "tests/sim/parts.h"

void attaching_begin(struct run *run, struct guest *guest) {
    guest->attaches = !guest->caller.on && !guest->subscriber.on && random_chance(run->random, 150);
    guest->attached = NOBODY;
}

static void attach(struct run *run, struct guest *guest, int name) {
    char extra[64];
    snprintf(extra, sizeof extra, "\"agent\":\"agent%s%d\",",
             random_chance(run->random, 100) ? "\\u002d" : "-", name);
    struct call call = {
        .kind = RECORD_ASK, .to = TO_HUB, .name = NOBODY, .method = "hub/attach", .extra = extra};
    struct record *record = compose_call(run, guest, &call);
    if (!record)
        return;
    record->result = (struct hub_result){"agent", NULL};
    record->attaches = true;
    record->to_attach = name;
    record->expect = compose_expected(run, &(struct record){.to = TO_NAME, .name = name});
    guest->attaching = true;
}

// A method that others may offer, or that has a rule of its own.
static void say(struct run *run, struct guest *guest, bool ask) {
    static const char *const methods[] = {"any/0", "work/0", "work/1", "event", "notifications/initialized"};
    uint32_t which = random_below(run->random, sizeof methods / sizeof *methods);
    struct record *record = compose_call(run, guest,
                                         &(struct call){.kind = ask ? RECORD_ASK : RECORD_TELL,
                                                        .to = TO_NAME,
                                                        .name = guest->attached,
                                                        .method = methods[which],
                                                        .extra = "\"event\":\"other\",",
                                                        .targetless = true,
                                                        .unroutable = -32010});
    totals.attached += record != NULL;
}

void attaching_compose(struct run *run, struct guest *guest, bool ask, int name) {
    bool may_attach = !guest->attaching && !guest->leaving && !guest->gathering.is_void;
    bool known = guest->attached != NOBODY && !guest->attaching;
    if (may_attach && random_chance(run->random, known ? 100 : 600))
        attach(run, guest, name);
    else if (known && random_chance(run->random, 700))
        say(run, guest, ask);
    else if (ask)
        compose_ask(run, guest, TO_NAME, name);
    else
        compose_tell(run, guest, TO_NAME, name);
}

// At most one attachment is under way, so that a result tells which. After an error, which may have been another
// request's with the same id, the guest's place isn't known any more.
void attaching_answered(struct guest *guest, const struct record *record, const struct naive_frame *frame) {
    char value[32];
    struct bit result = naive_find(frame->body, "result.agent");
    snprintf(value, sizeof value, "\"agent-%d\"", record->to_attach);
    if (!bit_is(result, value))
        return;
    guest->attached = record->to_attach;
    guest->attaching = false;
}
