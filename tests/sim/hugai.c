// The methods of HugAI v2 as strict validation wants them, and each field as it doesn't: left out, of another
// type, of another value, twice.
#include <stdio.h>
#include <string.h>

#include "tests/sim/parts.h"

enum { FIELDS_MAX = 4, VALUES_MAX = 6 };

struct field {
    const char *name;
    const char *expected;
    const char *good[VALUES_MAX]; // none: it depends on the message
    const char *bad[VALUES_MAX];
    bool guarded; // may not come twice, nor be spelled with escapes
    bool optional;
};

struct method {
    const char *name;
    struct field fields[FIELDS_MAX];
};

#define TEXT_EXPECTED  "string"
#define LEVEL_EXPECTED "autonomous, supervised, human-in-the-loop or manual"
#define NO_TEXT                                                                                              \
    { "7", "null", "[\"t\"]", "{\"a\":\"t\"}", "true" }
#define NO_LEVEL                                                                                             \
    { "\"strict\"", "\"Manual\"", "\"manual \"", "\"\"", "3", "null" }
#define TEXTS                                                                                                \
    { "\"t\"", "\"\"", "\"\\u0074\\n\"", "\"\xc3\xa9\"" }
#define CAPABILITIES                                                                                         \
    {                                                                                                        \
        "capabilities", "object or array",                                                                   \
            {"{}",                                                                                           \
             "[]",                                                                                           \
             "{\"a\":[1]}",                                                                                  \
             "[\"a\"]",                                                                                      \
             "{\"governanceLevel\":\"strict\"}",                                                             \
             "{\"governanceLevel\":[\"manual\"]}"},                                                          \
            {"\"x\"", "null", "7", "false"}, false, false                                                    \
    }

static const struct method methods[] = {
    {"initialize",
     {{"processId",
       "number or null",
       {"4711", "null", "-1.5e3"},
       {"\"1\"", "true", "{}", "[1]"},
       false,
       false},
      {"agentId", TEXT_EXPECTED, {"\"me\"", "\"m\\u0065\""}, NO_TEXT, true, false},
      CAPABILITIES,
      {"governanceLevel", LEVEL_EXPECTED, {NULL}, NO_LEVEL, false, false}}},
    {"agent/register",
     {{"agentId", TEXT_EXPECTED, {"\"ghost\""}, NO_TEXT, true, false},
      CAPABILITIES,
      {"governanceLevel", LEVEL_EXPECTED, {"\"manual\"", "\"autonomous\""}, NO_LEVEL, false, false}}},
    {"agent/request",
     {{"sourceAgent", TEXT_EXPECTED, {NULL}, NO_TEXT, true, false},
      {"targetAgent", TEXT_EXPECTED, {NULL}, NO_TEXT, true, false},
      {"task", TEXT_EXPECTED, TEXTS, NO_TEXT, false, false},
      {"priority",
       "low, medium, high or critical",
       {"\"low\"", "\"medium\"", "\"\\u006cow\""},
       {"\"urgent\"", "\"High\"", "\"\"", "1", "null"},
       true,
       true}}},
    {"event", {{"event", TEXT_EXPECTED, {"\"other\"", "\"\\u006f\""}, NO_TEXT, true, false}}},
    {"governance/approval",
     {{"checkpoint", TEXT_EXPECTED, TEXTS, NO_TEXT, true, false},
      {"artifact", "object", {"{}", "{\"a\":[1]}"}, {"[]", "null", "\"x\"", "1"}, false, false},
      {"approver", TEXT_EXPECTED, {NULL}, NO_TEXT, true, false},
      {"decision",
       "approved, rejected or needs_revision",
       {"\"approved\"", "\"rejected\"", "\"needs_revision\"", "\"approve\\u0064\""},
       {"\"maybe\"", "\"needs-revision\"", "\"Approved\"", "\"approvedx\"", "1", "null"},
       true,
       false}}},
    {"tool/integration",
     {{"tool", TEXT_EXPECTED, {"\"hammer\"", "\"\\u0068\""}, NO_TEXT, true, false},
      {"action", TEXT_EXPECTED, TEXTS, NO_TEXT, false, false}}},
    {"audit/log",
     {{"action", TEXT_EXPECTED, TEXTS, NO_TEXT, false, false},
      {"actor", TEXT_EXPECTED, TEXTS, NO_TEXT, false, false},
      {"timestamp", TEXT_EXPECTED, TEXTS, NO_TEXT, false, false}}},
    {"any/hugai", {{"sourceAgent", TEXT_EXPECTED, {NULL}, NO_TEXT, true, true}}},
};
enum { METHODS = sizeof methods / sizeof *methods };

// Changes of a field.
enum twist { TWIST_NONE, TWIST_BAD, TWIST_MISSING, TWIST_TWICE, TWIST_FOREIGN };

struct plan {
    const struct method *method;
    const struct field *twisted;
    enum twist twist;
    struct call call;
    struct draft extra;
    struct flaw flaw;
    char data[RECORD_DATA_BYTES_MAX];
    bool own_source; // it says that it comes from an agent of its connection
};

static bool is_named(const struct field *field, const char *name) {
    return strcmp(field->name, name) == 0;
}

static bool is_for(const struct plan *plan, const char *method) {
    return strcmp(plan->method->name, method) == 0;
}

static unsigned count_values(const char *const *values) {
    unsigned count = 0;
    while (count < VALUES_MAX && values[count])
        count++;
    return count;
}

static const struct field *find_field(const struct method *method, const char *name) {
    for (unsigned index = 0; index < FIELDS_MAX && method->fields[index].name; index++)
        if (is_named(&method->fields[index], name))
            return &method->fields[index];
    return NULL;
}

static bool is_journaled(const struct run *run, const struct method *method) {
    bool is_kept = strcmp(method->name, "audit/log") == 0 || strcmp(method->name, "governance/approval") == 0;
    return is_kept && run->world.hub->start_settings.journal;
}

// Returns whether the connection surely holds the guest's name, but for what others may do to it.
static bool has_name(const struct guest *guest) {
    return guest->name != NOBODY && guest->registered && !guest->leaving;
}

// --- What is wrong

static void plan_flaw(struct plan *plan, int32_t code) {
    plan->flaw = (struct flaw){.place = FLAW_FIELD, .code = code, .data = plan->data, .strict = true};
    plan->call.flaw = &plan->flaw;
}

static const char *choose_text(struct run *run, const char *const *values) {
    return values[random_below(run->random, count_values(values))];
}

static void twist_field(struct run *run, struct plan *plan) {
    unsigned count = 0;
    while (count < FIELDS_MAX && plan->method->fields[count].name)
        count++;
    const struct field *field = plan->twisted = &plan->method->fields[random_below(run->random, count)];
    plan->twist = TWIST_BAD + random_below(run->random, 3);
    if ((plan->twist == TWIST_TWICE && field->guarded) || (plan->twist == TWIST_MISSING && field->optional))
        plan->twist = TWIST_BAD;
    snprintf(plan->data, sizeof plan->data, "{\"field\":\"params.%s\",\"expected\":\"%s\"}", field->name,
             field->expected);
    plan_flaw(plan, -32602);
}

// In the name of somebody else, who may be there.
static void twist_source(const struct guest *guest, struct plan *plan) {
    plan->twist = TWIST_FOREIGN;
    plan->twisted = find_field(plan->method, "sourceAgent");
    snprintf(plan->data, sizeof plan->data, "{\"field\":\"params.sourceAgent\",\"agent\":\"agent-%d\"}",
             guest->name == 0);
    plan_flaw(plan, -32001);
}

static void twist_whole(struct run *run, struct plan *plan) {
    static const char *const texts[] = {"\"params\":[1]", "\"params\":7", "\"params\":null", "\"x\":1", NULL};
    snprintf(plan->data, sizeof plan->data, "{\"field\":\"params\",\"expected\":\"object\"}");
    plan_flaw(plan, -32602);
    plan->flaw.place = FLAW_WHOLE;
    plan->flaw.text = choose_text(run, texts);
}

static void choose_flaw(struct run *run, struct guest *guest, struct plan *plan) {
    bool sourced = find_field(plan->method, "sourceAgent"), required = !is_for(plan, "any/hugai");
    uint32_t dice = random_below(run->random, 100);
    if (sourced && (!has_name(guest) || dice < 8)) {
        twist_source(guest, plan);
    } else if (dice < 40) {
        twist_field(run, plan);
    } else if (dice < 45 && required) {
        twist_whole(run, plan);
    } else if (dice < 60) {
        plan->call.flaw =
            compose_flaw(run, guest, plan->call.kind == RECORD_ASK ? FLAW_IN_ASK : FLAW_IN_TELL, 1000);
        if (sourced && plan->call.flaw && plan->call.flaw->place == FLAW_SOURCE)
            plan->call.flaw = NULL;
    }
}

// --- Where it goes

static void address(struct run *run, struct plan *plan) {
    struct call *call = &plan->call;
    bool by_name = random_chance(run->random, 600);
    call->to = TO_NAME;
    if (is_for(plan, "initialize") || is_for(plan, "agent/register")) {
        call->to = TO_HUB;
    } else if (plan->twisted && is_named(plan->twisted, "targetAgent")) {
        call->to = TO_NOBODY;
    } else if (is_for(plan, "tool/integration") && !by_name) {
        call->to = TO_NOBODY;
        call->unroutable = -32002;
    } else if (is_for(plan, "audit/log") && !by_name) {
        call->to = run->world.hub->start_settings.journal ? TO_HUB : TO_NOBODY;
    } else if (is_for(plan, "governance/approval") && !by_name && !plan->twisted) {
        call->targetless = true; // its approver tells
    }
    call->targetless |= call->to != TO_NAME;
    if (call->to == TO_HUB)
        call->name = NOBODY;
}

// --- Writing

static void put_name(struct run *run, struct draft *extra, int name) {
    draft_put(extra, "\"agent%s%d\"", random_chance(run->random, 100) ? "\\u002d" : "-", name);
}

static void put_good(struct run *run, const struct guest *guest, struct plan *plan,
                     const struct field *field) {
    if (count_values(field->good)) {
        draft_put(&plan->extra, "%s", choose_text(run, field->good));
    } else if (is_named(field, "sourceAgent")) {
        put_name(run, &plan->extra, guest->name);
        plan->own_source = true;
    } else if (is_named(field, "approver") && plan->call.targetless) {
        put_name(run, &plan->extra, plan->call.name);
    } else if (is_named(field, "approver")) {
        draft_put(&plan->extra, "\"boss\"");
    } else {
        draft_put(&plan->extra, "\"%s\"", parts_level_names[guest->level]);
    }
}

static void put_key(struct run *run, struct draft *extra, const struct field *field) {
    if (!field->guarded && random_chance(run->random, 100))
        draft_put(extra, "\"\\u00%02x%s\":", field->name[0], field->name + 1);
    else
        draft_put(extra, "\"%s\":", field->name);
}

static void put_field(struct run *run, const struct guest *guest, struct plan *plan,
                      const struct field *field) {
    enum twist twist = field == plan->twisted ? plan->twist : TWIST_NONE;
    bool skipped = twist == TWIST_MISSING ||
                   (twist == TWIST_NONE && ((is_named(field, "targetAgent") && plan->call.to == TO_NAME) ||
                                            (field->optional && random_chance(run->random, 500))));
    if (skipped)
        return;
    put_key(run, &plan->extra, field);
    if (twist == TWIST_NONE || twist == TWIST_TWICE)
        put_good(run, guest, plan, field);
    else if (twist == TWIST_FOREIGN)
        put_name(run, &plan->extra, guest->name == 0);
    else
        draft_put(&plan->extra, "%s", choose_text(run, field->bad));
    draft_put(&plan->extra, ",");
    if (twist == TWIST_TWICE) {
        put_key(run, &plan->extra, field);
        draft_put(&plan->extra, "%s,", choose_text(run, field->bad));
    }
}

// More members than the hub notes on its way through.
static void put_padding(struct draft *extra) {
    for (unsigned member = 0; member < 14; member++)
        draft_put(extra, "\"tas%u\":%u,", member, member);
}

static void put_fields(struct run *run, const struct guest *guest, struct plan *plan) {
    unsigned start = random_below(run->random, FIELDS_MAX);
    bool padded = random_chance(run->random, 200), first = random_chance(run->random, 500);
    if (padded && first)
        put_padding(&plan->extra);
    for (unsigned step = 0; step < FIELDS_MAX; step++) {
        const struct field *field = &plan->method->fields[(start + step) % FIELDS_MAX];
        if (field->name)
            put_field(run, guest, plan, field);
    }
    if (padded && !first)
        put_padding(&plan->extra);
    draft_add(&plan->extra, "", 1);
}

static void note(const struct run *run, const struct plan *plan, struct record *record) {
    totals.told += record->kind == RECORD_TELL;
    totals.asked += record->kind == RECORD_ASK;
    record->own_source = plan->own_source;
    record->journaled = is_journaled(run, plan->method);
    if (is_for(plan, "initialize"))
        record->result = (struct hub_result){"capabilities.validation", "\"strict\""};
    else if (is_for(plan, "audit/log") && plan->call.to == TO_HUB)
        record->result = (struct hub_result){"logged", "true"};
    record->copied = is_for(plan, "audit/log") && plan->call.to == TO_HUB;
}

// A lazy hub judges strictly what enters its journal, but when it drains it doesn't come to that.
bool hugai_spoken(const struct run *run) {
    const struct profile *profile = &run->profile;
    return profile->strict || (run->world.hub->start_settings.journal && !profile->drain_early);
}

static const struct method *choose_method(struct run *run) {
    const struct method *method;
    do
        method = &methods[random_below(run->random, METHODS)];
    while (!run->profile.strict && !is_journaled(run, method));
    return method;
}

void hugai_compose(struct run *run, struct guest *guest, bool ask, int name) {
    struct plan plan = {.method = choose_method(run)};
    plan.call = (struct call){.kind = ask ? RECORD_ASK : RECORD_TELL,
                              .name = name,
                              .method = plan.method->name,
                              .plain = find_field(plan.method, "priority") != NULL,
                              .judged = is_journaled(run, plan.method)};
    choose_flaw(run, guest, &plan);
    if (is_for(&plan, "agent/register") && !flaw_counts(plan.call.flaw, true))
        twist_field(run, &plan); // else there would be a ghost
    address(run, &plan);
    put_fields(run, guest, &plan);
    plan.call.extra = plan.extra.bytes;
    struct record *record = compose_call(run, guest, &plan.call);
    if (record)
        note(run, &plan, record);
    draft_deinit(&plan.extra);
}
