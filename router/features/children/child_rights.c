#include "router/features/children/child_rights.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"
#include "router/engine/message/message.h"
#include "router/engine/request/refuse.h"
#include "router/features/children/child_registration.h"
#include "router/rights/authz.h"

static void filter_log_one(struct shard *shard, struct child *child, enum rule rule) {
    static const char method[] = "initialize";
    struct message message;
    message_begin(&message, child->stub, NULL);
    message.lookup = (struct lookup){0};
    message.method_bytes = sizeof method - 1;
    memcpy(message.method, method, sizeof method);
    refuse_right_silently(shard, &message, rule);
    child_log(child, "of its answer to initialize is left out what its user may not %s", rule_text(rule));
}

// Limits capabilities to a user's rights, and writes the result to `filtered`. Returns the rules by which names were
// left out, as bits; 0: none were.
static uint32_t filter_message(const struct child *child, const struct user *user,
                               const struct piece *capabilities, struct text *filtered) {
    struct text section;
    assert(capabilities->count >= 2 && !filtered->length);
    text_init(&section);
    child_settings_capabilities(child->settings, &section);
    struct piece replacement = {section.bytes, section.failed ? 0 : section.length};
    struct span all = {0, (uint32_t)capabilities->count};
    uint32_t rules = authz_filter(user, capabilities->bytes, all, replacement, filtered);
    filtered->failed |= section.failed;
    text_deinit(&section);
    return rules;
}

static void filter_log(struct shard *shard, struct child *child, uint32_t rules) {
    if (rules & UINT32_C(1) << RULE_OFFER)
        filter_log_one(shard, child, RULE_OFFER);
    if (rules & UINT32_C(1) << RULE_SUBSCRIBE)
        filter_log_one(shard, child, RULE_SUBSCRIBE);
}

struct piece child_rights_filter(struct shard *shard, struct child *child, const struct piece *capabilities,
                                 struct text *filtered) {
    const struct user *user = authz_user(shard, child->stub);
    uint32_t rules = user ? filter_message(child, user, capabilities, filtered) : 0;
    assert(child->settings->protocol == CHILD_HERMES);
    filter_log(shard, child, rules);
    return rules ? (struct piece){filtered->bytes, filtered->length} : *capabilities;
}

static bool is_same(const struct piece *piece, const struct capabilities *capabilities) {
    return piece->count == capabilities->bytes && memcmp(piece->bytes, capabilities->text, piece->count) == 0;
}

// Returns the capabilities in the answer of a child's agent; type JSON_NONE: there are none to limit.
static struct json_item offered_by(const struct child *child, const struct agent *agent) {
    struct json_item capabilities = {0};
    bool is_known =
        agent && agent->initialize_result && agent->registrant->connection == child->stub->connection_id;
    if (is_known && child->settings->protocol == CHILD_HERMES && !child->of)
        capabilities = json_member((const uint8_t *)agent->initialize_result->text,
                                   capabilities_span(agent->initialize_result), "capabilities");
    bool is_list = capabilities.type == JSON_OBJECT || capabilities.type == JSON_ARRAY;
    return is_list ? capabilities : (struct json_item){0};
}

// Limits the capabilities of the original answer, so that wider rights count, too, and registers the child anew.
void child_rights_review(struct shard *shard, struct child *child) {
    const char *name = child->record->name;
    const struct agent *agent = agents_find(&shard->agents, name, strlen(name));
    const struct user *user = authz_user(shard, child->stub);
    struct json_item capabilities = offered_by(child, agent);
    if (!user || capabilities.type == JSON_NONE)
        return;
    assert(agent->child == child->record);
    struct piece answer = {agent->initialize_result->text, agent->initialize_result->bytes};
    struct piece now = {agent->initialize_result->text + capabilities.value.at, capabilities.value.bytes};
    struct text filtered;
    text_init(&filtered);
    uint32_t rules = filter_message(child, user, &now, &filtered);
    if (rules)
        now = (struct piece){filtered.bytes, filtered.length};
    bool same = !filtered.failed && is_same(&now, agent->capabilities);
    if (!same)
        filter_log(shard, child, rules);
    if (!same && (filtered.failed || !child_register(shard, child, &now, &answer, agent->resting)))
        // Capabilities that aren't allowed any more must not stay
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0);
    text_deinit(&filtered);
}
