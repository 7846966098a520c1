#include "router/features/hcs/hcs_access.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/audit/audit.h"
#include "router/engine/send/reply.h"
#include "router/engine/shard/identity.h"
#include "router/features/hcs/hcs_delivery.h"
#include "router/features/hcs/hcs_frames.h"
#include "router/features/hcs/hcs_session.h"
#include "router/rights/authz.h"

// A session's id alone joins nothing. A user who may call its producer joins it, be it as one of those that
// stream. The user who began it may join by the address that it was asked for at, too.
enum hcs_access hcs_access_check(const struct shard *shard, const struct hcs_session *session,
                                 const struct user *user) {
    const char *target = session->text + session->id_bytes + session->request_id_bytes;
    const char *agent = target + session->target_bytes;
    if (!user)
        return HCS_ACCESS_ALLOWED;
    if (!session->agent_bytes)
        return HCS_ACCESS_DENIED;
    // The newest edition: the shard on which this one was judged may have taken it up before this one does.
    const struct users *own = users_judge_by(hub_settings(shard->hub)->users);
    bool may = authz_joins(user, agent, session->agent_bytes, NULL, 0) ||
               (identity_same(session->user, user) &&
                authz_joins(user, agent, session->agent_bytes, target, session->target_bytes));
    bool is_held = may && shard->hub->settings.gate &&
                   authz_stream_requires_approval(user, agent, session->agent_bytes, NULL, 0);
    users_judge_by(own);
    return !may ? HCS_ACCESS_DENIED : is_held ? HCS_ACCESS_HELD : HCS_ACCESS_ALLOWED;
}

const char *hcs_access_text(enum hcs_access access) {
    assert(access != HCS_ACCESS_ALLOWED);
    return access == HCS_ACCESS_HELD ? "approval required: the gate can't hold a stream"
                                     : "capability not allowed: call";
}

void hcs_access_note_refused(struct shard *shard, uint64_t source, const struct user *user,
                             enum hcs_access access, const char *target, size_t target_bytes) {
    bool is_held = access == HCS_ACCESS_HELD;
    struct text data;
    assert(access != HCS_ACCESS_ALLOWED);
    text_init(&data);
    reply_data_text(&data, "rule", is_held ? "hold" : rule_text(RULE_CALL));
    stats_count(&shard->stats, is_held ? COUNT_GATE_REFUSED : COUNT_REFUSED_CALL);
    audit_refused_stream(shard, source, user, target, target_bytes,
                         is_held ? ERROR_APPROVAL_REQUIRED : ERROR_NOT_ALLOWED, &data);
    text_deinit(&data);
}

static void expel(struct shard *shard, struct hcs_session *session, struct hcs_client *client,
                  enum hcs_access access) {
    struct hcs_frame_subject subject = {hcs_client_id(client), hcs_client_request_id(client),
                                        client->id_bytes, client->request_id_bytes};
    struct parcel *error =
        hcs_frames_error(shard, subject, HCS_FRAMES_INVALID_REQUEST, hcs_access_text(access), false, NULL, 0);
    if (error)
        hcs_delivery_parcel(shard, client, error, (struct hcs_tag){.type = TYPE_ERROR});
    hcs_session_remove(shard, session, client, error ? HCS_REFUSAL_OTHER : HCS_REFUSAL_LOST);
}

static void review_session(struct shard *shard, struct hcs_session *session) {
    for (struct list *node = session->clients.next, *next; node != &session->clients; node = next) {
        struct hcs_client *client = list_entry(node, struct hcs_client, by_session);
        next = node->next;
        assert(client->session == session);
        enum hcs_access access = hcs_access_check(shard, session, client->user);
        if (access != HCS_ACCESS_ALLOWED)
            expel(shard, session, client, access);
    }
}

void hcs_access_review(struct shard *shard) {
    struct list *all[] = {&shard->streams.live, &shard->streams.ended};
    for (unsigned at = 0; at < sizeof all / sizeof *all; at++)
        for (struct list *node = all[at]->next, *next; node != all[at]; node = next) {
            next = node->next;
            review_session(shard, list_entry(node, struct hcs_session, link));
        }
}
