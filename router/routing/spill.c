#include "router/routing/spill.h"

#include <assert.h>

#include "router/engine/message/message_copy.h"
#include "router/engine/send/exchange.h"
#include "router/features/children/child_mux.h"
#include "router/forwarding/forward.h"
#include "router/forwarding/inbound_return.h"
#include "router/forwarding/remote_target.h"

// So long nobody elsewhere is asked again, so that under load offers in vain cost little, and who has come or got time is found
// soon.
enum { NOBODY_MS = 100, BUSY_MS = 10 };

// --- Offering

// The group of which a member was chosen.
struct chosen_group {
    enum group_kind kind;
    enum subject_kind subject;
    const char *name;
    size_t bytes;
};

static void name_group(struct chosen_group *group, enum group_kind kind, enum subject_kind subject,
                       const struct rules_field *name) {
    *group = (struct chosen_group){kind, subject, name->text, name->bytes};
}

// False: it was chosen by a name of its own.
static bool find_group(const struct shard *shard, const struct rules_message *asked,
                       struct chosen_group *group) {
    const struct rules_field *target = &asked->target, *approver = &asked->approver;
    const struct rules_field *command = &asked->command;
    struct rules_field name = {.text = asked->method, .bytes = asked->method_bytes};
    assert(!rules_is_event(asked));
    if (target->given && target->text[0] != '@')
        return false;
    if (target->given) {
        name = (struct rules_field){.text = target->text + 1, .bytes = target->bytes - 1};
        name_group(group, GROUP_CAPABILITY, SUBJECT_CAPABILITY, &name);
        return true;
    }
    if (rules_read_tool(asked)) {
        name_group(group, GROUP_TOOL, SUBJECT_TOOL, &asked->tool);
        return true;
    }
    if (rules_read_approver(asked) && approver->text &&
        agents_find(&shard->agents, approver->text, approver->bytes))
        return false;
    if (rules_read_command(asked) && command->text &&
        groups_find(&shard->agents.groups, GROUP_COMMAND, command->text, command->bytes))
        name_group(group, GROUP_COMMAND, SUBJECT_COMMAND, command);
    else
        name_group(group, GROUP_METHOD, SUBJECT_METHOD, &name);
    return true;
}

// What was handed back isn't the only one of its kind.
static void learn(struct shard *shard, const struct chosen_group *group,
                  const struct spill_reason *returned) {
    uint64_t until_ms = shard_now_ms(shard) + (returned->nobody ? NOBODY_MS : BUSY_MS);
    uint32_t owed = returned->nobody || !returned->owed ? UINT32_MAX : returned->owed;
    groups_leave_alone(&shard->agents.groups, group->kind, group->name, group->bytes, owed, until_ms);
}

// A program that knows its users apart has them for longer than a request; and whoever has written a request into the journal says
// there how it ends.
static bool may_go(const struct message *message, const struct agent *agent) {
    return message_is_request(message) && message->audit == MESSAGE_PLAIN && !child_mux_is(agent);
}

static bool offer(struct shard *shard, const struct message *message, const struct chosen_group *group,
                  uint32_t owed) {
    struct agent *link = remote_target_link(shard);
    struct remote_target to = {.kind = group->subject, .offered = owed, .returns = true};
    assert(owed > 0);
    if (!link || forward_fault(shard, message, link->home->connection) ||
        !remote_target_may_go(shard, message, &to))
        return false;
    to.bytes = subject_escape(to.token, group->name, group->bytes);
    return to.bytes && forward_request(shard, message, link, &to);
}

static bool offers(struct shard *shard, const struct message *message, const struct rules_message *asked,
                   const struct agent *agent) {
    struct chosen_group group;
    uint32_t owed = hub_owed(shard->hub, agent->home->connection);
    bool was_offered = message->returned && message->returned->offered;
    if ((owed < shard_limits(shard)->spill && !was_offered) || !may_go(message, agent) ||
        !find_group(shard, asked, &group))
        return false;
    if (was_offered) {
        learn(shard, &group, message->returned);
        return false;
    }
    return !groups_is_alone(&shard->agents.groups, group.kind, group.name, group.bytes, owed,
                            shard_now_ms(shard)) &&
           offer(shard, message, &group, owed);
}

// --- Offered

// Nothing has been said about it yet, and what is said is the link's affair (features/cluster/inbound_response.c).
static bool declines(struct shard *shard, const struct message *message,
                     const struct rules_verdict *verdict) {
    struct exchange *exchange = message->exchange;
    if (!exchange || !exchange->offered || !message_is_request(message))
        return false;
    exchange->owed = verdict->error ? 0 : hub_owed(shard->hub, verdict->agent->home->connection);
    if (!verdict->error && exchange->owed < exchange->offered)
        return false;
    exchange_miss(shard, exchange);
    return true;
}

bool spill_settles(struct shard *shard, const struct message *message, const struct rules_message *asked,
                   const struct rules_verdict *verdict) {
    assert(shard->hub->settings.cluster && (verdict->error || verdict->agent));
    if (message->peer->transport->is_link)
        return inbound_return_settles(shard, message, verdict) || declines(shard, message, verdict);
    return !verdict->error && offers(shard, message, asked, verdict->agent);
}
