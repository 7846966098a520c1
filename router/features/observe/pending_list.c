#include "router/features/observe/pending_list.h"

#include <assert.h>
#include <string.h>

#include "core/rights/rights.h"
#include "core/rights/users.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"
#include "router/features/feature_list.h"
#include "router/features/gate/gate.h"
#include "router/features/observe/observe_params.h"
#include "router/features/observe/observe_types.h"
#include "router/features/observe/peer_label.h"
#include "router/rights/authz.h"

enum {
    LIMIT_USUAL = 100,
    LIMIT_MAX = 1000,
    SLOTS_A_TURN = 4096, // about 100 us
    // Queries under way: of all connections of a shard, and of one connection, whose registrations count, too. Each
    // query holds memory for its rows until its answer.
    QUERIES_MAX = 128,
    QUERIES_OF_ONE_MAX = 64,
    SHOWN_METHOD_BYTES = 63,
    LABEL_PATTERN_BYTES = AGENT_ID_BYTES_MAX + 1,
};

#define MS_NS UINT64_C(1000000)

// One of the oldest requests. `text` is its JSON without the state and the closing brace; bytes 0: not written yet.
struct pending_row {
    uint64_t asked_ns;
    uint64_t hub_id; // 0: the request is held at this shard
    uint64_t target;
    const struct held_message *held; // NULL once the text is written
    const char *state;
    char *text;
    uint32_t bytes;
};

struct pending_query {
    struct mail mail; // its connection is the one that asked
    struct list link; // in observe_shard.queries
    struct exchange *exchange;
    const struct user *only; // the user whose requests are listed; NULL: all users
    uint32_t limit;
    uint32_t visits;    // shards visited: the first round gathers rows, the second one states
    bool lacks_memory;  // a row could not be written
    uint32_t next_slot; // of the shard's table, that is looked at next
    uint32_t count;     // rows: a heap whose first row is the youngest
    uint64_t total;
    uint32_t id_bytes, agent_bytes;
    char agent[LABEL_PATTERN_BYTES];
    struct pending_row *rows; // `limit` rows
    char id[];
};

// --- Rows

static void swap(struct pending_row *one, struct pending_row *other) {
    struct pending_row kept = *one;
    *one = *other;
    *other = kept;
}

static void sift_up(struct pending_row *rows, uint32_t at) {
    for (uint32_t above; at > 0 && rows[above = (at - 1) / 2].asked_ns < rows[at].asked_ns; at = above)
        swap(&rows[above], &rows[at]);
}

static void sift_down(struct pending_row *rows, uint32_t count, uint32_t at) {
    assert(at <= count);
    for (uint32_t below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && rows[below + 1].asked_ns > rows[below].asked_ns)
            below++;
        if (rows[at].asked_ns >= rows[below].asked_ns)
            return;
        swap(&rows[at], &rows[below]);
    }
}

// Keeps a row if its request is among the oldest.
static void keep(struct shard *shard, struct pending_query *query, struct pending_row row) {
    assert(query->count <= query->limit);
    query->total++;
    if (query->count < query->limit) {
        query->rows[query->count] = row;
        sift_up(query->rows, query->count++);
    } else if (row.asked_ns < query->rows[0].asked_ns) {
        quota_give(&shard->quota, query->rows[0].text);
        query->rows[0] = row;
        sift_down(query->rows, query->count, 0);
    }
}

// The values that a row tells of a request.
struct told {
    const char *method;
    size_t method_bytes;
    struct peer_label source, target;
    const struct user *user;
    const void *source_id;
    uint32_t source_id_bytes;
    uint64_t target_id; // 0: the request wasn't forwarded
    uint64_t age_ms, left_ms;
    bool has_left;
    uint64_t bytes;
};

static void put_label(struct text *out, const char *name, const struct peer_label *label) {
    if (label->bytes == 0)
        return;
    text_put(out, name);
    text_string(out, label->text, label->bytes);
}

static void put_number(struct text *out, const char *name, uint64_t number) {
    text_put(out, name);
    text_number(out, (int64_t)number);
}

static void put_told(struct text *out, const struct told *told) {
    assert(told->source_id_bytes > 0);
    size_t bytes = json_cut_at_character(told->method, told->method_bytes, SHOWN_METHOD_BYTES);
    text_put(out, "{\"method\":");
    text_string(out, told->method, bytes);
    put_label(out, ",\"source\":", &told->source);
    put_label(out, ",\"target\":", &told->target);
    if (told->user) {
        text_put(out, ",\"user\":");
        text_string(out, told->user->name, strlen(told->user->name));
    }
    text_put(out, ",\"sourceId\":");
    text_add(out, told->source_id, told->source_id_bytes);
    if (told->target_id)
        put_number(out, ",\"targetId\":", told->target_id);
    put_number(out, ",\"ageMs\":", told->age_ms);
    if (told->has_left)
        put_number(out, ",\"leftMs\":", told->left_ms);
    put_number(out, ",\"bytes\":", told->bytes);
}

static uint64_t since_ms(const struct shard *shard, uint64_t ns) {
    uint64_t now_ns = io_now(shard->io);
    return now_ns > ns ? (now_ns - ns) / MS_NS : 0;
}

static void tell_pending(struct shard *shard, const struct pending *pending, struct told *told) {
    assert(pending->used);
    uint64_t now_ms = shard_now_ms(shard);
    *told = (struct told){
        .method = pending->method,
        .method_bytes = pending->method_bytes,
        .user = pending->user,
        .source_id = pending_id(pending),
        .source_id_bytes = pending->id_bytes,
        .target_id = pending_hub_id(&shard->pending, pending),
        .age_ms = since_ms(shard, pending->asked_ns),
        .has_left = timer_armed(&pending->timer),
        .bytes = pending->body_bytes,
    };
    if (told->has_left && pending->timer.due_ms > now_ms)
        told->left_ms = pending->timer.due_ms - now_ms;
    peer_label_of(shard, pending->source, &told->source);
    peer_label_of_target(shard, pending, &told->target);
}

// Tells of a held message. Its target is the address that the message names.
static void tell_held(struct shard *shard, const struct held_message *held, struct told *told,
                      char method[METHOD_BYTES_MAX]) {
    assert(held->is_request && !held->is_released);
    const uint8_t *body = frame_body(&held->frame);
    uint64_t now_ms = shard_now_ms(shard), due_ms = held->timer.due_ms;
    *told = (struct told){
        .method = method,
        .method_bytes = json_string_decode_begin(body, held->method, method, METHOD_BYTES_MAX),
        .user = held->user,
        .source_id = body + held->id.at,
        .source_id_bytes = held->id.bytes,
        .age_ms = since_ms(shard, held->hold.since_ms * MS_NS),
        .has_left = timer_armed(&held->timer),
        .left_ms = due_ms > now_ms ? due_ms - now_ms : 0,
        .bytes = held->frame.body.bytes,
    };
    peer_label_of(shard, held->source, &told->source);
    size_t bytes = 0;
    if (held->attachment)
        memcpy(told->target.text, held->attachment->agent, bytes = held->attachment->bytes);
    else if (held->target.bytes)
        bytes = json_string_decode_begin(body, held->target, told->target.text, sizeof told->target.text);
    told->target.bytes = (uint32_t)bytes;
}

static void write_row(struct shard *shard, struct pending_query *query, struct pending_row *row) {
    assert(!row->text && (row->hub_id || row->held));
    const struct pending *pending = row->hub_id ? pending_find(&shard->pending, row->hub_id) : NULL;
    char method[METHOD_BYTES_MAX];
    struct told told;
    struct text text;
    if (pending)
        tell_pending(shard, pending, &told);
    else
        tell_held(shard, row->held, &told, method);
    text_init(&text);
    put_told(&text, &told);
    row->text = text.failed ? NULL : quota_take(&shard->quota, text.length);
    row->bytes = (uint32_t)text.length;
    row->held = NULL;
    if (row->text)
        memcpy(row->text, text.bytes, text.length);
    query->lacks_memory |= !row->text;
    text_deinit(&text);
}

// --- Looking

static bool matches(const struct pending_query *query, const struct peer_label *label) {
    assert(query->agent_bytes > 0);
    return peer_label_matches(label, query->agent, query->agent_bytes);
}

static bool is_wanted(struct shard *shard, const struct pending_query *query, const struct pending *pending) {
    assert(pending->used);
    struct peer_label label;
    if (query->only && !identity_same(pending->user, query->only)) {
        const struct agent *agent = peer_label_agent(shard, pending);
        if (!agent || !identity_same(agent->owner, query->only))
            return false;
    }
    if (!query->agent_bytes)
        return true;
    peer_label_of(shard, pending->source, &label);
    if (matches(query, &label))
        return true;
    peer_label_of_target(shard, pending, &label);
    return matches(query, &label);
}

static bool is_wanted_held(struct shard *shard, const struct pending_query *query,
                           const struct held_message *held) {
    char method[METHOD_BYTES_MAX];
    struct told told;
    if (!held->is_request || (query->only && !identity_same(held->user, query->only)))
        return false;
    if (!query->agent_bytes)
        return true;
    tell_held(shard, held, &told, method);
    return matches(query, &told.source) || matches(query, &told.target);
}

// Looks at the next slots of the shard's table. Returns whether there are more.
static bool look_at_some(struct shard *shard, struct pending_query *query) {
    const struct pending_table *table = &shard->pending;
    uint32_t all = table->chunk_count * PENDING_CHUNK;
    for (uint32_t left = SLOTS_A_TURN; left > 0 && query->next_slot < all; left--) {
        const struct pending *slots = table->chunks[query->next_slot / PENDING_CHUNK].slots;
        if (!slots) {
            query->next_slot += PENDING_CHUNK;
            continue;
        }
        const struct pending *pending = &slots[query->next_slot++ % PENDING_CHUNK];
        if (pending->used && is_wanted(shard, query, pending))
            keep(shard, query,
                 (struct pending_row){.asked_ns = pending->asked_ns,
                                      .hub_id = pending_hub_id(table, pending),
                                      .target = pending->target,
                                      .state = pending->remote_end ? "held" : NULL});
    }
    return query->next_slot < all;
}

static void look_at_held(struct shard *shard, struct pending_query *query) {
    assert(gate_of(shard) && query->visits < shard->hub->start_settings.shard_count);
    const struct list *all = &gate_of(shard)->held;
    for (const struct list *node = all->next; node != all; node = node->next) {
        const struct held_message *held = list_entry(node, struct held_message, by_age);
        if (is_wanted_held(shard, query, held))
            keep(
                shard, query,
                (struct pending_row){.asked_ns = held->hold.since_ms * MS_NS, .held = held, .state = "held"});
    }
}

// Writes the rows of this shard's requests as they are now, and removes rows whose requests have ended since they were
// kept.
static void write_rows(struct shard *shard, struct pending_query *query) {
    uint32_t kept = 0;
    for (uint32_t at = 0; at < query->count; at++) {
        struct pending_row *row = &query->rows[at];
        bool is_mine = !row->text && (row->held || hub_id_shard(row->hub_id) == shard->index);
        if (is_mine && !row->held && !pending_find(&shard->pending, row->hub_id)) {
            query->total -= query->total > 0;
            continue;
        }
        if (is_mine && !query->lacks_memory)
            write_row(shard, query, row);
        query->rows[kept++] = *row;
    }
    query->count = kept;
    for (uint32_t at = 1; at < kept; at++)
        sift_up(query->rows, at);
}

// Sets the state of rows whose target is at this shard: whether the request waits in the target's queue.
static void find_states(struct shard *shard, struct pending_query *query) {
    assert(query->count <= query->limit);
    for (uint32_t at = 0; at < query->count; at++) {
        struct pending_row *row = &query->rows[at];
        if (row->state || connection_shard(row->target) != shard->index)
            continue;
        struct peer *peer = peer_find(shard, row->target);
        row->state = peer && outbox_has(&peer->connection.outbox, row->hub_id) ? "queued" : "sent";
    }
}

// --- At home

static void put_rows(struct text *out, struct pending_query *query) {
    assert(query->count <= query->limit && !query->lacks_memory);
    struct pending_row *rows = query->rows;
    for (uint32_t count = query->count; count > 1;) { // the youngest row goes to the end
        swap(&rows[0], &rows[--count]);
        sift_down(rows, count, 0);
    }
    text_put(out, "{\"pending\":[");
    for (uint32_t at = 0; at < query->count; at++) {
        text_put(out, at ? "," : "");
        text_add(out, rows[at].text, rows[at].bytes);
        text_put(out, ",\"state\":\"");
        text_put(out, rows[at].state ? rows[at].state : "sent");
        text_put(out, "\"}");
    }
    put_number(out, "],\"total\":", query->total);
    text_put(out, "}");
}

static void answer(struct shard *shard, struct peer *peer, struct pending_query *query) {
    struct reply_to to = {query->id, query->id_bytes, query->exchange};
    size_t room =
        query->exchange ? exchange_room(shard, query->exchange) : shard_limits(shard)->frame_bytes_max;
    size_t bytes = sizeof "{\"pending\":[],\"total\":}" + 20;
    for (uint32_t at = 0; at < query->count; at++)
        bytes += query->rows[at].bytes + sizeof ",,\"state\":\"queued\"}";
    if (query->lacks_memory) {
        reply_without_memory(shard, peer, to);
        return;
    }
    if (bytes > room) {
        reply_too_large(shard, peer, to);
        return;
    }
    if (!reply_has_memory(shard, peer, to, bytes))
        return;
    struct text result;
    text_init(&result);
    put_rows(&result, query);
    if (result.failed)
        reply_failed(shard, peer, to);
    else
        reply_result(shard, peer, to, result.bytes, result.length);
    text_deinit(&result);
}

static void pending_query_destroy(struct shard *shard, struct pending_query *query) {
    assert(list_empty(&query->link));
    for (uint32_t at = 0; at < query->count; at++)
        quota_give(&shard->quota, query->rows[at].text);
    quota_give(&shard->quota, query->rows);
    quota_give(&shard->quota, query);
}

static void end_round(struct shard *shard, struct pending_query *query) {
    struct reply_to to = {query->id, query->id_bytes, query->exchange};
    struct peer *peer = peer_find(shard, query->mail.connection);
    assert(shard->remote_queries_out > 0 && observe_of(shard)->asked > 0);
    shard->remote_queries_out--;
    observe_of(shard)->asked--;
    if (peer) {
        assert(peer->awaited > 0);
        peer->awaited--;
        answer(shard, peer, query);
        peer_settle(shard, peer);
    } else {
        reply_missed(shard, query->mail.connection, to);
    }
    pending_query_destroy(shard, query);
}

// --- On its way

static uint32_t shards_of(const struct shard *shard) {
    return shard->hub->start_settings.shard_count;
}

// Takes a query that has come to this shard. Its two rounds begin and end at the shard that was asked.
static void take(struct shard *shard, struct pending_query *query) {
    query->next_slot = 0;
    if (query->visits == 2 * shards_of(shard))
        end_round(shard, query);
    else
        list_append(&observe_of(shard)->queries, &query->link);
}

static void pass_on(struct shard *shard, struct pending_query *query) {
    assert(query->visits < 2 * shards_of(shard) && list_empty(&query->link));
    uint32_t next = (shard->index + 1) % shards_of(shard);
    query->visits++;
    if (next == shard->index) {
        take(shard, query);
        return;
    }
    query->mail.kind = FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_MAIL_PENDING);
    mailbox_post(hub_mailbox(shard->hub, shard->index, next), &query->mail);
}

void pending_list_arrived(struct shard *shard, struct mail *mail) {
    assert(mail->kind == FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_MAIL_PENDING));
    take(shard, list_entry(mail, struct pending_query, mail));
}

void pending_list_go_on(struct shard *shard) {
    struct list *node = list_take(&observe_of(shard)->queries);
    if (!node)
        return;
    struct pending_query *query = list_entry(node, struct pending_query, link);
    bool is_second = query->visits >= shards_of(shard);
    if (!is_second && look_at_some(shard, query)) {
        list_append(&observe_of(shard)->queries, &query->link); // behind the other queries
        return;
    }
    if (is_second)
        find_states(shard, query);
    if (!is_second && gate_of(shard))
        look_at_held(shard, query);
    if (!is_second)
        write_rows(shard, query);
    pass_on(shard, query);
}

// --- Asked

// Makes a query. Returns NULL without memory.
static struct pending_query *make(struct shard *shard, const struct message *message, uint64_t limit) {
    assert(limit >= 1 && limit <= LIMIT_MAX);
    struct reply_to to = message_reply_to(message);
    const struct user *user = authz_user(shard, message->peer);
    struct pending_query *query = quota_take(&shard->quota, sizeof *query + to.id_bytes);
    if (!query)
        return NULL;
    *query =
        (struct pending_query){.exchange = to.exchange, .limit = (uint32_t)limit, .id_bytes = to.id_bytes};
    query->mail.connection = message->peer->connection_id;
    query->only = !user || rights_admin(user).allowed ? NULL : user;
    memcpy(query->id, to.id, to.id_bytes);
    list_init(&query->link);
    query->rows = quota_take(&shard->quota, limit * sizeof *query->rows);
    if (!query->rows) {
        quota_give(&shard->quota, query);
        return NULL;
    }
    return query;
}

// Refuses a query if its connection or the shard has too many under way. Returns whether the query was refused.
static bool is_busy(struct shard *shard, const struct message *message) {
    bool is_over = message->peer->awaited >= QUERIES_OF_ONE_MAX;
    struct text data;
    if (!is_over && observe_of(shard)->asked < QUERIES_MAX)
        return false;
    text_init(&data);
    reply_data_text(&data, "fault", "too many such lists are being made");
    reply_data_number(&data, "limit", is_over ? QUERIES_OF_ONE_MAX : QUERIES_MAX);
    refuse(shard, message, ERROR_OVERLOADED, &data);
    return true;
}

void pending_list_ask(struct shard *shard, const struct message *message) {
    char agent[LABEL_PATTERN_BYTES];
    static const char *const keys[] = {"agent", "limit", NULL};
    size_t agent_bytes;
    uint64_t limit = LIMIT_USUAL;
    if (!authz_may_use_source(shard, message) || !observe_params_check(shard, message, keys) ||
        !observe_params_agent(shard, message, "agent", agent, sizeof agent, &agent_bytes) ||
        !observe_params_number(shard, message, "limit", 1, LIMIT_MAX, &limit) || !message_is_request(message))
        return;
    if (is_busy(shard, message))
        return;
    struct pending_query *query = make(shard, message, limit);
    if (!query) {
        refuse_without_quota(shard, message, NULL);
        return;
    }
    query->agent_bytes = (uint32_t)agent_bytes;
    memcpy(query->agent, agent, agent_bytes);
    message->peer->awaited++;
    shard->remote_queries_out++;
    observe_of(shard)->asked++;
    take(shard, query);
}
