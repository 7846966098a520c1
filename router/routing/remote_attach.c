#include "router/routing/remote_attach.h"

#include <assert.h>
#include <string.h>

#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/post.h"
#include "router/methods/session.h"
#include "router/rights/authz.h"

static void post(struct shard *shard, struct attach_query *query, uint32_t to) {
    assert(to < shard->hub->start_settings.shard_count);
    query->mail.kind = MAIL_ATTACH;
    if (to == shard->index)
        remote_attach_arrived(shard, &query->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &query->mail);
}

void remote_attach_route(struct shard *shard, const struct message *message) {
    char name[AGENT_ID_BYTES_MAX];
    bool end_detaches;
    size_t bytes = attach_read(message, name, &end_detaches);
    struct reply_to to = message_reply_to(message);
    assert(hub_has_cluster(shard->hub) && bytes > 0 && message_is_request(message));
    if (!authz_attachment(shard, message, name, bytes))
        return;
    struct attach_query *query = quota_take(&shard->quota, sizeof *query + to.id_bytes + bytes);
    if (!query) {
        refuse_without_quota(shard, message, NULL);
        return;
    }
    *query = (struct attach_query){.exchange = to.exchange,
                                   .id_bytes = to.id_bytes,
                                   .agent_bytes = (uint32_t)bytes,
                                   .end_detaches = end_detaches};
    memcpy(query->texts, to.id, to.id_bytes);
    memcpy(query->texts + to.id_bytes, name, bytes);
    list_init(&query->link);
    query->mail.connection = message->peer->connection_id;
    message->peer->awaited++;
    shard->remote_queries_out++;
    post(shard, query, 0);
}

static void answer(struct shard *shard, struct peer *peer, struct reply_to to,
                   const struct attach_query *query) {
    const char *agent = attach_query_agent(query);
    struct text data;
    if (query->mail.detail == ATTACH_FOUND) {
        attach_peer(shard, peer, to, agent, query->agent_bytes, query->end_detaches);
        return;
    }
    text_init(&data);
    if (query->mail.detail == ATTACH_DOWN)
        reply_data_text(&data, "link", "down");
    else
        reply_data_string(&data, "agent", agent, query->agent_bytes);
    if (query->mail.detail == ATTACH_SERVER) // the server's own messages don't reach peers of other hubs
        reply_data_text(&data, "fault", "a server of MCP serves who is at its own hub");
    reply_error(shard, peer, to,
                query->mail.detail == ATTACH_DOWN     ? ERROR_TARGET_DISCONNECTED
                : query->mail.detail == ATTACH_SERVER ? ERROR_METHOD_NOT_FOUND
                                                      : ERROR_AGENT_NOT_FOUND,
                &data);
}

static void return_query(struct shard *shard, struct attach_query *query) {
    struct reply_to to = {query->texts, query->id_bytes, query->exchange};
    struct peer *peer = peer_find(shard, query->mail.connection);
    assert(shard->remote_queries_out > 0);
    shard->remote_queries_out--;
    if (peer) {
        assert(peer->awaited > 0);
        peer->awaited--;
        answer(shard, peer, to, query);
        peer_settle(shard, peer);
    } else {
        reply_missed(shard, query->mail.connection, to);
    }
    quota_give(&shard->quota, query);
}

void remote_attach_over(struct shard *shard, struct attach_query *query, enum attach_outcome outcome) {
    assert(shard->index == 0 && !list_empty(&query->link));
    list_remove(&query->link);
    query->mail.detail = (uint8_t)outcome;
    query->number = UINT64_MAX; // it goes home
    post(shard, query, connection_shard(query->mail.connection));
}

void remote_attach_arrived(struct shard *shard, struct mail *mail) {
    struct attach_query *query = list_entry(mail, struct attach_query, mail);
    assert(mail->kind == MAIL_ATTACH);
    if (query->number == UINT64_MAX)
        return_query(shard, query);
    else
        list_append(&shard->attach_queries, &query->link);
}
