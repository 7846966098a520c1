#include "router/features/mcp_http/mcp_gather.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/features/mcp_calls/mcp_body.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_inventory.h"
#include "router/features/mcp_http/mcp_post.h"
#include "router/features/mcp_http/mcp_reply.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/rights/authz.h"

enum { PAGES_MAX = 1000 };

bool mcp_gather_reaches(const struct child_settings *child, const struct user *user) {
    return child->protocol == CHILD_MCP &&
           (!user || authz_calls_server(user, child->name, strlen(child->name)));
}

bool mcp_gather_serves(const struct shard *shard, const struct child_settings *child, const struct user *user,
                       bool in_session) {
    return mcp_gather_reaches(child, user) &&
           (!in_session || !mcp_inventory_lacks_sessions(shard, child->name, strlen(child->name)));
}

// Returns whether a server takes part in a gather for this call. initialize also asks servers that have refused a
// session, because another process may have sessions.
static bool takes_part(const struct shard *shard, const struct child_settings *child,
                       const struct mcp_call *call) {
    return mcp_gather_serves(shard, child, call->client->user, !call->is_modern && !call->is_initialize);
}

static size_t count_of(const struct shard *shard, const struct mcp_call *call, size_t *bytes) {
    assert(shard->index == 0);
    size_t count = 0;
    *bytes = 0;
    for (const struct child_settings *child = shard->settings->children; child; child = child->next) {
        count += takes_part(shard, child, call);
        *bytes += takes_part(shard, child, call) ? strlen(child->name) : 0;
    }
    return count;
}

static void name_parts(const struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    char *at = gather->names;
    for (const struct child_settings *child = shard->settings->children; child; child = child->next) {
        if (!takes_part(shard, child, gather->call))
            continue;
        struct mcp_part *part = &gather->parts[gather->count++];
        part->name = at;
        part->name_bytes = (uint32_t)strlen(child->name);
        memcpy(at, child->name, part->name_bytes);
        at += part->name_bytes;
        parcel_list_init(&part->answers);
    }
}

struct mcp_gather *mcp_gather_begin(struct shard *shard, struct mcp_call *call, const struct mcp_post *post) {
    size_t bytes, count = count_of(shard, call, &bytes);
    assert(shard->index == 0 && call->exchange && !call->gather);
    struct mcp_gather *gather =
        quota_take_zeroed(&shard->quota, 1, sizeof *gather + count * sizeof *gather->parts + bytes);
    if (!gather)
        return NULL;
    gather->call = call;
    gather->names = (char *)&gather->parts[count];
    name_parts(shard, gather);
    assert(gather->count == count);
    gather->frame = post->frame;
    gather->unit = post->unit;
    gather->frame.unit = &gather->unit;
    gather->message = post->message;
    gather->message.frame = &gather->frame;
    buffer_hold(gather->frame.buffer);
    call->gather = gather;
    return gather;
}

// Drops the answer to a question that was cancelled.
static void drop_answer(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    assert(!call->part_of && !call->http);
    if (answer)
        send_release(shard, answer);
    call->exchange = NULL;
    mcp_call_free(shard, call);
}

// Cancels the question to a part's server, unless the part has ended.
static void cancel_question(struct shard *shard, struct mcp_part *part) {
    struct mcp_call *call = part->call;
    assert(shard->index == 0);
    if (!call)
        return;
    part->call = NULL;
    call->part_of = NULL;
    call->answered = drop_answer;
    mcp_call_cancel(shard, call);
}

void mcp_gather_cancel_questions(struct shard *shard, struct mcp_gather *gather) {
    assert(gather->call->gather == gather);
    for (uint32_t index = 0; index < gather->count; index++)
        cancel_question(shard, &gather->parts[index]);
    gather->open = 0;
}

// Tells the features how the call has ended, unless its message was passed on to a server.
static void note_end(struct shard *shard, const struct mcp_gather *gather) {
    const struct mcp_call *call = gather->call;
    struct unrouted_source source = {.connection = call->client->seat->connection_id,
                                     .user = call->client->user,
                                     .arrived_ms = call->exchange->arrived_ms};
    assert(!gather->is_answered || !gather->error);
    if (gather->is_answered)
        mcp_reply_note_answer(shard, &gather->message, &source);
    else if (!gather->is_passed)
        mcp_reply_note(shard, &gather->message, &source, gather->error);
}

void mcp_gather_free(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    note_end(shard, gather);
    for (uint32_t index = 0; index < gather->count; index++) {
        struct mcp_part *part = &gather->parts[index];
        if (part->call && part->call->client != gather->call->client) // the own client frees its own calls
            cancel_question(shard, part);
        for (struct parcel *parcel; (parcel = parcel_list_take(&part->answers));)
            send_release(shard, parcel);
    }
    buffer_drop(gather->frame.buffer);
    gather->call->gather = NULL;
    quota_give(&shard->quota, gather);
}

// --- Questions

static void close_one(struct shard *shard, struct mcp_gather *gather) {
    assert(gather->open > 0);
    if (--gather->open == 0)
        gather->ended(shard, gather);
    else if (gather->part_ended)
        gather->part_ended(shard, gather);
}

static void ask_part(struct shard *shard, struct mcp_gather *gather, struct mcp_part *part,
                     const char *cursor, size_t bytes);

// Asks for a part's next page. Returns false if there is no page to ask for.
static bool goes_on(struct shard *shard, struct mcp_gather *gather, struct mcp_part *part,
                    const struct mcp_body *body) {
    assert(shard->index == 0);
    if (!gather->pages || gather->is_cancelled || part->pages >= PAGES_MAX ||
        body->lookup.type[KEY_RESULT] != JSON_OBJECT)
        return false;
    struct json_item cursor = json_member(body->bytes, body->lookup.value[KEY_RESULT], "nextCursor");
    if (cursor.type != JSON_STRING)
        return false;
    ask_part(shard, gather, part, (const char *)body->bytes + cursor.value.at, cursor.value.bytes);
    return true;
}

static void answered(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    assert(shard->index == 0);
    struct mcp_gather *gather = call->part_of;
    struct mcp_part *part = &gather->parts[call->part];
    struct mcp_body body;
    bool is_there = answer && mcp_body_read(shard, answer, &body);
    bool is_good = is_there && lookup_has(&body.lookup, KEY_RESULT);
    part->call = NULL;
    part->failed = !is_good;
    call->exchange = NULL;
    mcp_call_free(shard, call);
    if (answer && (is_good || !part->answers.first))
        parcel_list_append(&part->answers, send_detach(shard, answer));
    else if (answer)
        send_release(shard, answer);
    part->pages++;
    bool waits = is_good && goes_on(shard, gather, part, &body);
    if (is_there)
        mcp_body_give(&body);
    if (!waits)
        close_one(shard, gather);
}

static void ask_part(struct shard *shard, struct mcp_gather *gather, struct mcp_part *part,
                     const char *cursor, size_t bytes) {
    assert(shard->index == 0);
    struct mcp_client *own = gather->call->client, *client = own;
    if (gather->client_for)
        client = gather->client_for(shard, own, part->name, part->name_bytes);
    struct mcp_call *call = client ? mcp_call_begin(shard, client, NULL) : NULL;
    struct directives directives = {.has_timeout = true};
    struct text body;
    part->failed = true;
    if (!call) {
        close_one(shard, gather);
        return;
    }
    directives.timeout_ms = (uint32_t)(mcp_option(shard, MCP_OPTION_GATHER_NS) / 1000000);
    call->answered = answered;
    call->part_of = gather;
    call->part = (uint32_t)(part - gather->parts);
    call->is_modern = gather->call->is_modern;
    call->is_question = client != own;
    call->logs = call->is_question && gather->call->logs;
    part->call = call;
    text_init(&body);
    gather->put(gather, &body, cursor, bytes);
    mcp_call_send(shard, call, part->name, part->name_bytes, &body, &directives);
}

void mcp_gather_put_same(const struct mcp_gather *gather, struct text *body, const char *cursor,
                         size_t bytes) {
    assert(!cursor && !bytes);
    (void)cursor, (void)bytes;
    text_add(body, mcp_gather_body(gather), gather->frame.body.bytes);
}

void mcp_gather_ask(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    gather->open = gather->count + 1;
    for (uint32_t index = 0; index < gather->count; index++)
        ask_part(shard, gather, &gather->parts[index], NULL, 0);
    close_one(shard, gather);
}

void mcp_gather_ask_one(struct shard *shard, struct mcp_gather *gather, uint32_t index) {
    assert(index < gather->count && gather->open == 0);
    gather->open = 1;
    ask_part(shard, gather, &gather->parts[index], NULL, 0);
}

void mcp_gather_cancel(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    gather->is_cancelled = true;
    gather->open++;
    for (uint32_t index = 0; index < gather->count; index++)
        if (gather->parts[index].call)
            mcp_call_cancel(shard, gather->parts[index].call);
    close_one(shard, gather);
}
