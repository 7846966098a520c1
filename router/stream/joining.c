#include "router/stream/joining.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/audit/audit.h"
#include "router/engine/send/reply.h"
#include "router/engine/shard/identity.h"
#include "router/rights/authz.h"
#include "router/stream/giving.h"
#include "router/stream/says.h"
#include "router/stream/session.h"

// A session's id alone joins nothing: who may call its producer joins it, be it as one of those that stream; who began
// it, also by the address that it was asked for at.
enum joining joining_judge(const struct shard *shard, const struct session *session,
                           const struct user *user) {
    const char *target = session->text + session->id_bytes + session->request_id_bytes;
    const char *agent = target + session->target_bytes;
    if (!user)
        return JOINING_ALLOWED;
    // The newest edition: the shard on which this one was judged may have taken it up before this one does.
    user = users_by_name(hub_settings(shard->hub)->users, user->name, strlen(user->name));
    if (!user || !session->agent_bytes)
        return JOINING_DENIED;
    bool may = authz_joins(user, agent, session->agent_bytes, NULL, 0) ||
               (identity_same(session->user, user) &&
                authz_joins(user, agent, session->agent_bytes, target, session->target_bytes));
    bool is_held = may && shard->gate && authz_holds_stream(user, agent, session->agent_bytes, NULL, 0);
    return !may ? JOINING_DENIED : is_held ? JOINING_HELD : JOINING_ALLOWED;
}

const char *joining_text(enum joining joining) {
    assert(joining != JOINING_ALLOWED);
    return joining == JOINING_HELD ? "approval required: the gate can't hold a stream"
                                   : "capability not allowed: call";
}

void joining_note_refused(struct shard *shard, uint64_t source, const struct user *user, enum joining why,
                          const char *target, size_t target_bytes) {
    bool is_held = why == JOINING_HELD;
    struct text data;
    assert(why != JOINING_ALLOWED);
    text_init(&data);
    reply_data_text(&data, "rule", is_held ? "hold" : rule_text(RULE_CALL));
    stats_count(&shard->stats, is_held ? COUNT_GATE_REFUSED : COUNT_REFUSED_CALL);
    audit_refused_stream(shard, source, user, target, target_bytes,
                         is_held ? ERROR_APPROVAL_REQUIRED : ERROR_NOT_ALLOWED, &data);
    text_deinit(&data);
}

static void turn_out(struct shard *shard, struct session *session, struct stream_client *client,
                     enum joining why) {
    struct says_about about = {client_id(client), client_request_id(client), client->id_bytes,
                               client->request_id_bytes};
    struct parcel *error = says_error(shard, about, SAYS_INVALID_REQUEST, joining_text(why), false, NULL, 0);
    if (error)
        giving_parcel(shard, client, error, (struct given){.type = TYPE_ERROR});
    session_let_go(shard, session, client, error ? REFUSAL_OTHER : REFUSAL_LOST);
}

static void review_session(struct shard *shard, struct session *session) {
    for (struct list *node = session->clients.next, *next; node != &session->clients; node = next) {
        struct stream_client *client = list_entry(node, struct stream_client, by_session);
        next = node->next;
        assert(client->session == session);
        enum joining joining = joining_judge(shard, session, client->user);
        if (joining != JOINING_ALLOWED)
            turn_out(shard, session, client, joining);
    }
}

void joining_review(struct shard *shard) {
    struct list *all[] = {&shard->streams.live, &shard->streams.ended};
    for (unsigned at = 0; at < sizeof all / sizeof *all; at++)
        for (struct list *node = all[at]->next, *next; node != all[at]; node = next) {
            next = node->next;
            review_session(shard, list_entry(node, struct session, link));
        }
}
