#include "router/features/mcp/child_transport.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/child/log_line.h"
#include "core/lookup/lookup.h"
#include "io/keeper.h"
#include "router/engine/receive/reassembly.h"
#include "router/engine/request/cancel.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/post.h"
#include "router/events/events.h"
#include "router/features/children/child.h"
#include "router/features/children/child_rights.h"
#include "router/features/children/children.h"
#include "router/features/feature_list.h"
#include "router/features/mcp/mcp.h"
#include "router/features/mcp/mcp_modern.h"
#include "router/features/mcp/per_client.h"
#include "router/registry/agent_params.h"
#include "router/routing/route.h"

enum mcp_counter { MCP_COUNT_UNREADABLE, MCP_COUNTERS };

enum mcp_gauge { MCP_GAUGE_CHILDREN, MCP_GAUGES };

enum { SHOWN_BYTES = 200, SHOWN_PAUSE_MS = 1000 };

static struct child *child_at(const struct peer *peer) {
    assert(child_of_stub(peer));
    return child_of_stub(peer);
}

// --- Unreadable output

static void show(struct shard *shard, const struct peer *peer, const uint8_t *bytes, uint32_t count) {
    struct child *child = child_at(peer);
    const char *framing = peer->transport->codec.wire->breaks == BREAKS_PASS ? "content-length" : "lines";
    char shown[SHOWN_BYTES], text[4 * SHOWN_BYTES];
    uint64_t now_ms = shard_now_ms(shard);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_MCP, MCP_COUNT_UNREADABLE));
    if (child->junk_ms && now_ms - child->junk_ms < SHOWN_PAUSE_MS)
        return;
    child->junk_ms = now_ms;
    if (child_settings_has_files(child->settings)) {
        child_log(child,
                  "its standard output can't be read with framing = %s: %u bytes, which may hold its secrets",
                  framing, count);
        return;
    }
    size_t part = count < SHOWN_BYTES ? count : SHOWN_BYTES;
    memcpy(shown, bytes, part);
    part = child_settings_hide(child->settings, shown, part);
    size_t length = log_escape((const uint8_t *)shown, part, text);
    child_log(child, "its standard output can't be read with framing = %s: %.*s", framing, (int)length, text);
}

static void child_unreadable(struct shard *shard, struct peer *peer, const uint8_t *body, uint32_t bytes) {
    struct child *child = child_at(peer);
    show(shard, peer, body, bytes);
    if (peer->transport->codec.wire->breaks == BREAKS_PASS)
        child_fail(shard, child, CHILD_FAULT_FRAME, 0);
}

static void child_refuse(struct shard *shard, struct peer *peer) {
    assert(peer->unit.fault != UNIT_FAULT_NONE);
    struct child *child = child_at(peer);
    show(shard, peer, shard->fault_bytes, shard->fault_count);
    if (peer->transport->codec.wire->breaks !=
        BREAKS_PASS) { // many may share the child, and the next line may be a message
        reassembly_refused(peer);
        return;
    }
    child_fail(shard, child, CHILD_FAULT_FRAME, 0);
    peer_close(shard, peer, COUNTER_NONE);
}

// --- Beginning and ending

static void refuse_early(struct shard *shard, struct child *child, const uint8_t *body, struct span id) {
    struct text answer;
    text_init(&answer);
    text_put(&answer, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_add(&answer, body + id.at, id.bytes);
    text_put(&answer, ",\"error\":{\"code\":");
    text_number(&answer, error_code(ERROR_NOT_INITIALIZED));
    text_put(&answer, ",\"message\":\"");
    text_put(&answer, error_text(ERROR_NOT_INITIALIZED));
    text_put(&answer, "\",\"data\":{\"fault\":\"the answer to initialize comes first\"}}}");
    stats_count(&shard->stats, COUNT_ERRORS_BY_HUB);
    child_send(shard, child, &answer);
}

// Takes a Hermes extension's answer to initialize. The capabilities are kept as the child wrote them, so all of the
// answer must be JSON.
static void take_answer(struct shard *shard, struct child *child, const struct lookup *lookup,
                        const uint8_t *body, uint32_t bytes) {
    assert(child->state == CHILD_GREETING);
    static const char no_capabilities[] = "{}";
    struct span result = lookup->value[KEY_RESULT];
    bool ok =
        lookup_has(lookup, KEY_RESULT) && lookup->type[KEY_RESULT] == JSON_OBJECT && json_valid(body, bytes);
    struct json_item offered_item = {0};
    if (ok)
        offered_item = json_member(body, result, "capabilities");
    if (!ok || offered_item.value.bytes > CAPABILITIES_BYTES_MAX) {
        child_fail(shard, child, CHILD_FAULT_REFUSED, 0);
        (void)child_command(shard, child, KEEPER_KILL, SIGKILL);
        return;
    }
    bool is_list = offered_item.type == JSON_OBJECT || offered_item.type == JSON_ARRAY;
    const char *field, *expected = is_list ? agent_params_judge(body, offered_item.value, &field) : NULL;
    if (expected) { // agent/register refuses the same capabilities
        child_log(child, "its answer to initialize can't be used: %s isn't %s", field + strlen("params."),
                  expected);
        child_fail(shard, child, CHILD_FAULT_OFFER, 0);
        (void)child_command(shard, child, KEEPER_KILL, SIGKILL);
        return;
    }
    struct piece answer = {body + result.at, result.bytes};
    struct text filtered;
    text_init(&filtered);
    struct piece capabilities = {no_capabilities, sizeof no_capabilities - 1};
    if (is_list)
        capabilities = child_rights_filter(
            shard, child, &(struct piece){body + offered_item.value.at, offered_item.value.bytes}, &filtered);
    if (filtered.failed)
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0);
    else
        child_ready(shard, child, &capabilities, &answer);
    text_deinit(&filtered);
}

// Takes an MCP server's answer to initialize. The server need not have capabilities for the registry, because clients
// see its features in the answer itself.
static void take_mcp_answer(struct shard *shard, struct child *child, const struct lookup *lookup,
                            const uint8_t *body, uint32_t bytes) {
    bool ok = lookup_has(lookup, KEY_RESULT) && lookup->type[KEY_RESULT] == JSON_OBJECT;
    struct span value = lookup->value[ok ? KEY_RESULT : KEY_ERROR];
    if ((!ok && !lookup_has(lookup, KEY_ERROR)) || !json_valid(body, bytes) ||
        value.bytes > CAPABILITIES_BYTES_MAX) {
        child_fail(shard, child, CHILD_FAULT_REFUSED, 0);
        (void)child_command(shard, child, KEEPER_KILL, SIGKILL);
        return;
    }
    if (!mcp_open(shard, child, lookup, body)) {
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0);
        return;
    }
    if (child->stub->state != PEER_OPEN) // the server couldn't be told that the session is open
        return;
    struct piece answer = {body + value.at, value.bytes};
    child_ready(shard, child, NULL, ok ? &answer : NULL);
    if (child->state == CHILD_RUNNING)
        mcp_opened(shard, child);
}

static void take_else_early(struct shard *shard, struct child *child, const struct lookup *lookup,
                            const uint8_t *body, uint32_t bytes) {
    assert(child->state == CHILD_GREETING);
    if (lookup->kind == BODY_REQUEST)
        refuse_early(shard, child, body, lookup->value[KEY_ID]);
    else
        drop_one(shard, COUNT_DROP_REFUSED, child->stub->connection_id, bytes);
}

static void take_early(struct shard *shard, struct child *child, const uint8_t *body, uint32_t bytes) {
    struct lookup lookup;
    lookup_body(&lookup, body, bytes, shard_limits(shard)->id_bytes_max);
    if (lookup.verdict != LOOKUP_GOOD)
        child_unreadable(shard, child->stub, body, bytes);
    else if (!child_answers_own(child, &lookup, body))
        take_else_early(shard, child, &lookup, body, bytes);
    else if (child->reopens)
        per_client_reopen(shard, child, &lookup);
    else if (child->settings->protocol == CHILD_MCP)
        take_mcp_answer(shard, child, &lookup, body, bytes);
    else
        take_answer(shard, child, &lookup, body, bytes);
}

// Takes the answer to the hub's shutdown, and closes the child's input then. Returns false if the message isn't that
// answer.
static bool take_last(struct shard *shard, struct child *child, const uint8_t *body, uint32_t bytes) {
    assert(child->state == CHILD_STOPPING);
    struct lookup lookup;
    lookup_body(&lookup, body, bytes, shard_limits(shard)->id_bytes_max);
    if (!child->shutdown_requested || lookup.verdict != LOOKUP_GOOD ||
        !child_answers_own(child, &lookup, body))
        return false;
    child->shutdown_requested = false;
    child->is_reading = true;
    child_wake_after(shard, child, child->settings->end_ms);
    child_send_on(shard, child);
    return true;
}

// Takes a message for users, whom the child can't name. Returns false if the message must be routed.
static bool child_take_member(struct shard *shard, struct peer *peer, const struct frame *frame,
                              struct exchange *exchange) {
    struct child *child = child_at(peer);
    return child->of && !child->modern ? per_client_take(shard, child, frame, exchange)
                                       : mcp_take(shard, child, frame, exchange);
}

static void take_with_user_header(struct shard *shard, struct peer *peer, const struct frame *frame) {
    struct frame own = route_set_user_header(shard, peer, frame);
    assert(!shard->settings->users || !frame->unit->names_user);
    if (!child_take_member(shard, peer, &own, NULL))
        route_frame(shard, peer, &own, NULL);
}

// Takes a message of a child that runs. With a users file, strips Patchbay-User from the message: messages to the
// child's users aren't routed, and must name the true user, too.
static void take_running(struct shard *shard, struct peer *peer, const struct frame *frame) {
    struct unit unit;
    struct frame copy;
    if (!shard->settings->users || !frame->unit->names_user) {
        take_with_user_header(shard, peer, frame);
        return;
    }
    struct buffer *buffer = user_header_strip(&shard->buffers, frame, &unit, &copy);
    if (!buffer) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    take_with_user_header(shard, peer, &copy);
    events_flush(shard);
    buffer_drop(buffer);
}

static void child_take(struct shard *shard, struct peer *peer, struct frame *frame) {
    struct child *child = child_at(peer);
    stats_count(&shard->stats, COUNT_FRAMES_RECEIVED);
    if (child->state == CHILD_GREETING)
        take_early(shard, child, frame_body(frame), frame->body.bytes);
    else if (child->state == CHILD_STOPPING && take_last(shard, child, frame_body(frame), frame->body.bytes))
        return;
    else if (child->state == CHILD_RUNNING || child->state == CHILD_STOPPING)
        take_running(shard, peer, frame);
    else
        drop_one(shard, COUNT_DROP_REFUSED, peer->connection_id, frame->body.bytes);
}

// --- The process that has a message

static bool child_divert(struct shard *shard, struct peer *stub, struct parcel *parcel) {
    const struct child *child = child_of_stub(stub);
    if (!child || child->of)
        return false;
    if (!child_is_stand_in(child))
        return mcp_divert(shard, stub, parcel);
    per_client_divert(shard, stub, parcel);
    return true;
}

static struct peer *child_forget(struct shard *shard, struct peer *stub, uint64_t hub_id,
                                 bool is_long_lived) {
    const struct child *child = child_of_stub(stub);
    if (child && child_is_stand_in(child))
        return per_client_forget(shard, stub, hub_id, is_long_lived);
    return mcp_forget(shard, stub, hub_id, is_long_lived);
}

// Sends a cancel to the process that has the request, which may be another peer than the stub. Returns whether the
// request was still in a queue: the request has ended then, though its source waits for an answer.
static bool child_cancel(struct shard *shard, struct peer *stub, struct parcel *parcel, bool is_long_lived) {
    uint64_t hub_id = parcel->hub_id;
    struct peer *peer = child_forget(shard, stub, hub_id, is_long_lived);
    if (!peer) {
        send_release(shard, parcel);
        return false;
    }
    bool was_queued = cancel_in_queue_or_forward(shard, peer, parcel);
    if (was_queued && is_long_lived)
        child_forget(shard, stub, hub_id, false);
    return was_queued;
}

static void child_restarts(struct shard *shard, struct peer *stub) {
    if (child_of_stub(stub)->modern)
        mcp_modern_restart(shard, stub);
    else
        per_client_restart(shard, stub);
}

// Writes the hub ids of requests that another process has. `waiting`: also of requests that wait for the session of the
// next process. Returns how many there are.
static size_t child_others(const struct peer *stub, bool waiting, uint64_t *hub_ids, size_t room) {
    size_t count = mcp_modern_others(stub, hub_ids, room);
    assert(hub_ids || room == 0);
    if (!waiting)
        return count;
    size_t used = count < room ? count : room;
    return count + mcp_waiting(stub, hub_ids ? hub_ids + used : NULL, room - used);
}

// Handles the end of a stub. Returns false if the stub has no child any more: the stub ends as any peer then.
static bool child_ended(struct shard *shard, struct peer *stub) {
    assert(stub->state != PEER_OPEN);
    if (!child_of_stub(stub))
        return false;
    child_stub_ended(shard, stub);
    return true;
}

// The members of both transports, which differ in the wire alone.
#define CHILD_TRANSPORT                                                                                      \
    .gauge = FEATURE_GAUGE(FEATURE_MCP, MCP_GAUGE_CHILDREN), .codec.take = child_take,                       \
    .codec.refuse = child_refuse, .codec.unreadable = child_unreadable, .ops.ended = child_ended,            \
    .ops.leave = mcp_close, .ops.divert = child_divert, .ops.cancel = child_cancel,                          \
    .codec.member = child_take_member, .ops.wanted = child_wanted, .ops.expire = child_expire,               \
    .end_is_leaving = true

const struct transport transport_child_framed = {
    .name = "child", .codec.wire = &wire_framed, CHILD_TRANSPORT};
const struct transport transport_child_lines = {
    .name = "child-lines", .codec.wire = &wire_lines, CHILD_TRANSPORT};

// --- The registration

enum { MCP_MAIL_DEPARTURE }; // mail.connection, a user of shared servers, has gone

static bool mcp_is_on(const struct hub_settings *settings) {
    return settings->keeper != NULL;
}

static const char *mcp_start(struct shard *shard) {
    assert(shard->index == 0);
    static const struct child_ops ops = {.framed = &transport_child_framed,
                                         .lines = &transport_child_lines,
                                         .rest = child_restarts,
                                         .others = child_others,
                                         .put_reopening = per_client_put_reopening};
    return children_open(shard, &ops) ? NULL : "children";
}

static void mcp_mail(struct shard *shard, struct mail *mail, unsigned kind) {
    assert(kind == MCP_MAIL_DEPARTURE);
    (void)kind;
    mcp_user_left(shard, mail->connection);
    quota_give(&shard->quota, mail);
}

// Tells shard 0 once that a user of shared servers has gone, after the cancels of the user's requests. When the hub
// ends, shard 0 need not be told.
static void mcp_peer_left(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_CLOSING);
    struct child_peer *own = child_peer_of(peer);
    if (!own || !own->departure)
        return;
    if (shard->index == 0) {
        mcp_user_left(shard, peer->connection_id);
        quota_give(&shard->quota, own->departure);
        own->departure = NULL;
    } else if (shard->phase == HUB_SERVING) {
        *own->departure = (struct mail){.kind = FEATURE_KIND(FEATURE_MCP, MCP_MAIL_DEPARTURE),
                                        .connection = peer->connection_id};
        post_mail(shard, 0, own->departure);
        own->departure = NULL;
    }
}

static const struct stats_row mcp_counters[MCP_COUNTERS + 1] = {
    [MCP_COUNT_UNREADABLE] = {"children_output_unreadable", "children_output_unreadable_total", NULL,
                              "Frames and lines of programs that could not be read.",
                              STATS_AFTER(COUNT_JOURNAL_REOPENED)},
};

static const struct stats_row mcp_gauges[MCP_GAUGES + 1] = {
    [MCP_GAUGE_CHILDREN] = {"child", "connections", "transport=\"child\"", NULL, STATS_AFTER(GAUGE_LINES)},
};

const struct feature mcp_feature = {
    .name = "mcp",
    .counters = mcp_counters,
    .gauges = mcp_gauges,
    .stats_order = 7,
    .is_on = mcp_is_on,
    .start = mcp_start,
    .mail = mcp_mail,
    .peer_left = mcp_peer_left,
    .survey = mcp_survey,
};
