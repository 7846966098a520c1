#include "router/features/cluster/nats_subscriptions.h"

#include <assert.h>
#include <string.h>

#include "router/registry/orders.h"

void nats_subscriptions_init(struct nats_subscriptions *presence, const struct siphash_key *key,
                             struct quota *quota) {
    *presence = (struct nats_subscriptions){.quota = quota, .is_behind = true};
    name_map_init(&presence->by_subject, key, quota);
    list_init(&presence->all);
}

void nats_subscriptions_left(struct nats_subscription *present, struct quota *quota) {
    assert(present->unanswered > 0);
    if (--present->unanswered == 0 && present->is_gone)
        quota_give(quota, present);
}

static void let_go(struct nats_subscriptions *presence, struct nats_subscription *present) {
    assert(presence->by_subject.count > 0 && !present->is_gone);
    name_map_remove(&presence->by_subject, present->subject, present->bytes);
    list_remove(&present->link);
    present->is_gone = true;
    for (size_t at = 0; at < NATS_RECENT; at++)
        if (presence->recent[at] == present)
            presence->recent_sids[at] = 0;
    if (!present->unanswered)
        quota_give(presence->quota, present);
}

struct nats_subscription *nats_subscriptions_find(struct nats_subscriptions *presence, const uint8_t *bytes,
                                                  struct span subject, struct span sid) {
    uint64_t number = 0;
    bool is_number = text_read_digits(bytes + sid.at, sid.bytes, UINT32_MAX, &number) && number > 0;
    // A connection never uses an id twice, and none of its subscriptions outlives the connection (connect_to).
    size_t place = number % NATS_RECENT;
    if (is_number && presence->recent_sids[place] == number)
        return presence->recent[place];
    struct nats_subscription *found =
        name_map_get(&presence->by_subject, (const char *)bytes + subject.at, subject.bytes);
    if (is_number && found) {
        presence->recent_sids[place] = number;
        presence->recent[place] = found;
    }
    return found;
}

void nats_subscriptions_forget(struct nats_subscriptions *presence) {
    while (!list_empty(&presence->all))
        let_go(presence, list_entry(presence->all.next, struct nats_subscription, link));
    presence->is_behind = true;
}

void nats_subscriptions_deinit(struct nats_subscriptions *presence) {
    nats_subscriptions_forget(presence);
    name_map_deinit(&presence->by_subject);
}

static struct nats_subscription *nats_subscriptions_add(struct nats_subscriptions *presence,
                                                        enum subject_kind kind, const char *subject,
                                                        size_t bytes, size_t token_bytes) {
    struct nats_subscription *present = quota_take(presence->quota, sizeof *present + bytes);
    if (!present)
        return NULL;
    assert(token_bytes < bytes);
    *present = (struct nats_subscription){
        .kind = kind, .bytes = (uint32_t)bytes, .token_at = (uint32_t)(bytes - token_bytes)};
    memcpy(present->subject, subject, bytes);
    if (!name_map_add(&presence->by_subject, present->subject, bytes, present)) {
        quota_give(presence->quota, present);
        return NULL;
    }
    list_append(&presence->all, &present->link);
    return present;
}

// Counts one more member under a subject, and adds the subject if it is new.
static void count_at(struct nats_subscriptions *presence, const struct nats_scope *scope,
                     const struct realm *realm, enum subject_kind kind, const char *token,
                     size_t token_bytes) {
    char subject[SUBJECT_BYTES_MAX];
    size_t bytes = subject_write(subject, scope->cluster, realm, kind, token, token_bytes);
    struct nats_subscription *present = name_map_get(&presence->by_subject, subject, bytes);
    if (!present)
        present = nats_subscriptions_add(presence, kind, subject, bytes, token_bytes);
    if (present)
        present->members++;
    else
        presence->is_behind = true;
}

// Counts a member under a name. A name that no subject can have is known at this hub alone. With a former REALM, the
// name is counted under both.
static void count(struct nats_subscriptions *presence, const struct nats_scope *scope, enum subject_kind kind,
                  const char *name, size_t bytes) {
    char token[SUBJECT_NAME_BYTES_MAX];
    size_t token_bytes = subject_escape(token, name, bytes);
    if (!token_bytes)
        return;
    count_at(presence, scope, scope->realm, kind, token, token_bytes);
    if (scope->former->bytes && kind < SUBJECT_EVENT)
        count_at(presence, scope, scope->former, kind, token, token_bytes);
}

static void count_agent(struct nats_subscriptions *presence, const struct nats_scope *scope,
                        const struct agent *agent) {
    static const enum subject_kind kinds[GROUP_KINDS] = {
        [GROUP_METHOD] = SUBJECT_METHOD,    [GROUP_CAPABILITY] = SUBJECT_CAPABILITY,
        [GROUP_TOOL] = SUBJECT_TOOL,        [GROUP_COMMAND] = SUBJECT_COMMAND,
        [GROUP_POOL] = SUBJECT_KINDS_COUNT, [GROUP_NOTICE] = SUBJECT_NOTICE};
    size_t id_bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    count(presence, scope, SUBJECT_NAME, agent->id, id_bytes);
    if (agent->absent)
        return; // an agent that isn't running, and won't be, can't be asked
    if (!agent->local_only)
        count(presence, scope, SUBJECT_AGENT, agent->id, id_bytes);
    for (size_t at = 0; at < agent->membership_count; at++) {
        enum group_kind kind;
        size_t bytes;
        const char *name = membership_name(&agent->memberships[at], &kind, &bytes);
        assert(kind < GROUP_KINDS);
        bool is_asked = kind != GROUP_NOTICE; // a notice needs no answer
        if (kinds[kind] != SUBJECT_KINDS_COUNT && !(agent->local_only && is_asked))
            count(presence, scope, kinds[kind], name, bytes);
    }
}

static void count_all(struct nats_subscriptions *presence, const struct agents *agents,
                      const struct list *claims, const struct nats_scope *scope) {
    assert(agents);
    // This hub gets one copy of every event. Subscriptions of peers change too often, on all shards, to send each of
    // them to the server.
    count_at(presence, scope, scope->realm, SUBJECT_EVENT, "*", 1);
    LIST_EACH (const struct agent, agent, &agents->all, link)
        count_agent(presence, scope, agent);
    if (claims)
        LIST_EACH (const struct order, order, claims, by_table)
            count(presence, scope, SUBJECT_NAME, order->agent_id, order->agent_id_bytes);
}

static void put_subscription(struct text *lines, const struct nats_subscription *present,
                             const struct hub_name *hub, uint64_t sid) {
    bool one_a_hub = present->kind == SUBJECT_NOTICE || present->kind == SUBJECT_EVENT;
    text_put(lines, "SUB ");
    text_add(lines, present->subject, present->bytes);
    text_put(lines, " ");
    if (one_a_hub)
        text_add(lines, hub->text, hub->bytes);
    else if (present->kind != SUBJECT_NAME)
        text_put(lines, "g");
    text_put(lines, present->kind == SUBJECT_NAME ? "" : " ");
    text_number(lines, (int64_t)sid);
    text_put(lines, "\r\n");
}

static void settle(struct nats_subscriptions *presence, struct nats_subscription *present,
                   const struct hub_name *hub, struct text *lines) {
    uint32_t max = present->kind >= SUBJECT_EVENT ? 1 : NATS_SUBSCRIPTIONS_PER_NAME_MAX;
    uint32_t wanted = present->members < max ? present->members : max;
    assert(present->subscriptions <= NATS_SUBSCRIPTIONS_PER_NAME_MAX);
    while (present->subscriptions < wanted) {
        present->sids[present->subscriptions++] = ++presence->sids;
        put_subscription(lines, present, hub, presence->sids);
    }
    while (present->subscriptions > wanted) {
        text_put(lines, "UNSUB ");
        text_number(lines, (int64_t)present->sids[--present->subscriptions]);
        text_put(lines, "\r\n");
    }
    if (!present->members)
        let_go(presence, present);
}

void nats_subscriptions_follow(struct nats_subscriptions *presence, const struct agents *agents,
                               const struct list *claims, const struct nats_scope *scope,
                               struct text *lines) {
    presence->changes = agents ? agents->changes : presence->changes;
    presence->is_behind = false;
    LIST_EACH (struct nats_subscription, subscription, &presence->all, link)
        subscription->members = 0;
    if (agents)
        count_all(presence, agents, claims, scope);
    LIST_EACH (struct nats_subscription, subscription, &presence->all, link)
        settle(presence, subscription, scope->hub, lines);
    assert(agents || list_empty(&presence->all));
}
