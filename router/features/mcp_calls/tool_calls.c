#include "router/features/mcp_calls/tool_calls.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/agents/agents.h"
#include "core/base/hash_table.h"
#include "core/lookup/lookup.h"
#include "core/requests/journal_line.h"
#include "core/requests/pending.h"
#include "router/audit/audit.h"
#include "router/engine/message/message.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/post.h"
#include "router/features/children/child_record.h"
#include "router/features/feature_list.h"
#include "router/features/mcp_calls/tool_list.h"

// A tools/call in progress, of one of the shard's peers; or a tools/list from whose answer the hub removes tools.
struct tool_call {
    struct hash_node by_id;
    uint64_t hub_id;
    uint64_t began_ms;
    struct journal_entry *entry;  // the call's open line of the journal; or NULL
    struct tool_figures *figures; // of the call's tool; NULL: the tool has no figures of its own
    uint32_t server_bytes;        // of a tools/list: the length of the server's name; 0: a tools/call
    char server[];
};

// The feature's state on a shard.
struct tool_calls {
    struct hash_table calls;      // struct tool_call.by_id
    struct tool_figures *figures; // TOOL_FIGURES_MAX on shard 0, for all shards; NULL on others
};

enum tool_counter { TOOL_COUNT_OK, TOOL_COUNT_ERROR, TOOL_COUNT_CANCELLED, TOOL_COUNTERS };

static struct tool_calls *calls_of(const struct shard *shard) {
    return shard->states[FEATURE_MCP_CALLS];
}

// Returns the hash of a hub id. The hub alone chooses hub ids, one after another, so the hash needs no secret.
static uint64_t hash_of(uint64_t hub_id) {
    return hash_table_hash(hub_id, UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t hash_of_call(const struct hash_table *calls, const struct hash_node *node) {
    (void)calls;
    return hash_of(hash_table_entry(node, struct tool_call, by_id)->hub_id);
}

// --- Figures

static bool is_named(const struct tool_figures *figures, const char *server, size_t server_bytes,
                     const char *tool, size_t tool_bytes) {
    return figures->server_bytes == server_bytes && figures->tool_bytes == tool_bytes &&
           memcmp(figures->server, server, server_bytes) == 0 && memcmp(figures->tool, tool, tool_bytes) == 0;
}

// Takes a free place for a tool's figures; NULL: there is none. Two shards may take a place each for one tool:
// hub/stats shows both.
static struct tool_figures *take_figures(struct tool_figures *all, const char *server, size_t server_bytes,
                                         const char *tool, size_t tool_bytes) {
    for (unsigned index = 0; index < TOOL_FIGURES_MAX; index++) {
        uint32_t state = 0;
        struct tool_figures *figures = &all[index];
        if (!atomic_compare_exchange_strong_explicit(&figures->state, &state, 1, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        memcpy(figures->server, server, server_bytes);
        memcpy(figures->tool, tool, tool_bytes);
        figures->server_bytes = (uint32_t)server_bytes;
        figures->tool_bytes = (uint32_t)tool_bytes;
        atomic_store_explicit(&figures->state, 2, memory_order_release);
        return figures;
    }
    return NULL;
}

static struct tool_figures *find_figures(const struct hub *hub, const struct agent *agent, const char *tool,
                                         size_t bytes) {
    struct tool_figures *all = calls_of(hub->shards[0])->figures;
    size_t server_bytes = agent->id_bytes < TOOL_SERVER_BYTES ? agent->id_bytes : TOOL_SERVER_BYTES;
    size_t tool_bytes = json_cut_at_character(tool, bytes, TOOL_NAME_BYTES);
    for (unsigned index = 0; index < TOOL_FIGURES_MAX; index++) {
        uint32_t state = atomic_load_explicit(&all[index].state, memory_order_acquire);
        if (state == 0)
            return take_figures(all, agent->id, server_bytes, tool, tool_bytes);
        if (state == 2 && is_named(&all[index], agent->id, server_bytes, tool, tool_bytes))
            return &all[index];
    }
    return NULL; // all places are taken, which is found without a write
}

static void measure(struct tool_figures *figures, uint64_t ms, bool is_error) {
    uint64_t most = atomic_load_explicit(&figures->most_ms, memory_order_relaxed);
    atomic_fetch_add_explicit(&figures->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&figures->errors, is_error, memory_order_relaxed);
    atomic_fetch_add_explicit(&figures->ms, ms, memory_order_relaxed);
    while (ms > most && !atomic_compare_exchange_weak_explicit(&figures->most_ms, &most, ms,
                                                               memory_order_relaxed, memory_order_relaxed))
        ;
}

struct shown {
    const struct tool_figures *figures;
    uint64_t calls, mean_ms;
};

static int compare_shown(const void *one, const void *other) {
    const struct shown *a = one, *b = other;
    return a->mean_ms != b->mean_ms ? (a->mean_ms < b->mean_ms ? 1 : -1)
                                    : (a->calls < b->calls) - (a->calls > b->calls);
}

static void put_figures(const struct shown *shown, struct text *out) {
    const struct tool_figures *figures = shown->figures;
    text_put(out, "{\"server\":");
    text_string(out, figures->server, figures->server_bytes);
    text_put(out, ",\"tool\":");
    text_string(out, figures->tool, figures->tool_bytes);
    text_put(out, ",\"calls\":");
    text_number(out, (int64_t)shown->calls);
    text_put(out, ",\"errors\":");
    text_number(out, (int64_t)atomic_load_explicit(&figures->errors, memory_order_relaxed));
    text_put(out, ",\"meanMs\":");
    text_number(out, (int64_t)shown->mean_ms);
    text_put(out, ",\"maxMs\":");
    text_number(out, (int64_t)atomic_load_explicit(&figures->most_ms, memory_order_relaxed));
    text_put(out, "}");
}

void tool_calls_put(const struct hub *hub, unsigned most, struct text *out) {
    const struct tool_calls *calls = calls_of(hub->shards[0]);
    struct shown shown[TOOL_FIGURES_MAX];
    unsigned count = 0;
    text_put(out, "[");
    for (unsigned index = 0; calls && index < TOOL_FIGURES_MAX; index++) {
        const struct tool_figures *figures = &calls->figures[index];
        bool is_there = atomic_load_explicit(&figures->state, memory_order_acquire) == 2;
        uint64_t number = is_there ? atomic_load_explicit(&figures->calls, memory_order_relaxed) : 0;
        if (number)
            shown[count++] = (struct shown){
                figures, number, atomic_load_explicit(&figures->ms, memory_order_relaxed) / number};
    }
    qsort(shown, count, sizeof *shown, compare_shown);
    for (unsigned index = 0; index < count && index < most; index++) {
        text_put(out, index ? "," : "");
        put_figures(&shown[index], out);
    }
    text_put(out, "]");
}

// --- Beginning

// Writes the name of the tool that a message names to `out`, and returns its length; SIZE_MAX: there is none.
static size_t read_tool(const struct message *message, char *out, size_t capacity) {
    const struct lookup *lookup = &message->lookup;
    if (!lookup_has(lookup, KEY_PARAMS) || lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return SIZE_MAX;
    return json_member_text(message->body, lookup->value[KEY_PARAMS], "name", out, capacity);
}

// Puts a tool's name into a line of the journal; SIZE_MAX: no tool is named.
static void put_tool(struct text *line, const char *tool, size_t bytes) {
    journal_line_string(line, "tool", bytes == SIZE_MAX ? NULL : tool, bytes);
}

// Returns when a call arrived, in ms. A call may have waited for its server's era, or have been held, before it goes to
// the server.
static uint64_t arrival_of(const struct shard *shard, const struct message *message) {
    uint64_t now_ms = shard_now_ms(shard), arrived_ms = now_ms;
    if (message->unrouted)
        arrived_ms = message->unrouted->arrived_ms;
    else if (message->exchange && message->exchange->arrived_ms)
        arrived_ms = message->exchange->arrived_ms;
    else if (message->hold)
        arrived_ms = message->hold->since_ms;
    return arrived_ms < now_ms ? arrived_ms : now_ms; // arrived_ms may be by another shard's clock
}

static struct tool_call *add_call(struct shard *shard, const struct message *message,
                                  const struct pending *pending, const char *server, size_t server_bytes) {
    struct tool_call *call = quota_take(&shard->quota, sizeof *call + server_bytes);
    if (!call)
        return NULL;
    *call = (struct tool_call){.hub_id = pending_hub_id(&shard->pending, pending),
                               .began_ms = arrival_of(shard, message),
                               .server_bytes = (uint32_t)server_bytes};
    memcpy(call->server, server, server_bytes);
    if (hash_table_add(&calls_of(shard)->calls, &call->by_id))
        return call;
    quota_give(&shard->quota, call);
    return NULL;
}

static void begin_call(struct shard *shard, const struct message *message, const struct agent *agent,
                       struct pending *pending) {
    char tool[METHOD_BYTES_MAX];
    size_t bytes = read_tool(message, tool, sizeof tool);
    struct tool_call *call = add_call(shard, message, pending, "", 0);
    if (call)
        pending_mark_rare(pending);
    if (call && journal_is_on(shard))
        call->entry = audit_entry(shard, message, "tool", agent);
    if (journal_is_on(shard) && (!call || !call->entry))
        stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
    if (call && call->entry)
        put_tool(&call->entry->line, tool, bytes);
    if (call && bytes != SIZE_MAX)
        call->figures = find_figures(shard->hub, agent, tool, bytes);
}

// Marks a tools/list from whose answer sift_list may remove tools. router/features/mcp_http composes the lists of
// clients over HTTP.
static void begin_list(struct shard *shard, const struct message *message, const struct agent *agent,
                       struct pending *pending) {
    if (message->peer->transport->filters_lists ||
        !tool_list_may_hide(shard, pending->user, agent->child->name, strlen(agent->child->name)))
        return;
    if (add_call(shard, message, pending, agent->child->name, strlen(agent->child->name)))
        pending_mark_rare(pending);
}

// Called for each request to a child, since features/children asks for that (children_before_request).
static void tool_call_began(struct shard *shard, const struct message *message, const struct agent *agent,
                            struct pending *pending, struct parcel *parcel) {
    (void)parcel;
    if (!agent || !agent->child || !child_record_is_mcp(agent->child))
        return;
    if (message_method_is(message, "tools/call"))
        begin_call(shard, message, agent, pending);
    else if (message_method_is(message, "tools/list"))
        begin_list(shard, message, agent, pending);
}

// --- Ending

// Returns whether a result has `isError`, by which a tool tells the model of its failure.
static bool has_failed(const struct shard *shard, const struct parcel *response) {
    struct lookup lookup;
    if (!response->buffer)
        return false;
    const uint8_t *body = response->buffer->bytes + response->body.at;
    lookup_body(&lookup, body, response->body.bytes, shard_limits(shard)->id_bytes_max);
    return lookup.verdict == LOOKUP_GOOD && lookup_has(&lookup, KEY_RESULT) &&
           lookup.type[KEY_RESULT] == JSON_OBJECT &&
           json_member_true(body, lookup.value[KEY_RESULT], "isError");
}

static enum tool_counter outcome_of(const struct shard *shard, const struct request_end *end) {
    if (end->response)
        return end->is_error || has_failed(shard, end->response) ? TOOL_COUNT_ERROR : TOOL_COUNT_OK;
    if (end->is_abandoned || end->error == ERROR_CANCELLED)
        return TOOL_COUNT_CANCELLED;
    return end->error == ERROR_NONE ? TOOL_COUNT_OK : TOOL_COUNT_ERROR;
}

static void write_line(struct shard *shard, struct journal_entry *entry, enum tool_counter outcome,
                       uint64_t ms) {
    static const char *const texts[TOOL_COUNTERS] = {"ok", "error", "cancelled"};
    journal_line_stamp(&entry->line, io_wall_ms(shard->io));
    journal_line_string(&entry->line, "outcome", texts[outcome], strlen(texts[outcome]));
    journal_line_number(&entry->line, "ms", (int64_t)ms);
    audit_submit(shard, audit_finish(entry));
}

static bool is_about_tools(const struct pending *pending) {
    return pending->method_bytes == sizeof "tools/call" - 1 &&
           (memcmp(pending->method, "tools/call", pending->method_bytes) == 0 ||
            memcmp(pending->method, "tools/list", pending->method_bytes) == 0);
}

static struct tool_call *find_call(const struct shard *shard, const struct pending *pending) {
    const struct hash_table *calls = &calls_of(shard)->calls;
    if (calls->count == 0 || !is_about_tools(pending))
        return NULL;
    uint64_t hub_id = pending_hub_id(&shard->pending, pending);
    struct hash_node *node = hash_table_find(calls, hash_of(hub_id));
    while (node && hash_table_entry(node, struct tool_call, by_id)->hub_id != hub_id)
        node = node->next;
    return node ? hash_table_entry(node, struct tool_call, by_id) : NULL;
}

static void end_call(struct shard *shard, struct tool_call *call, const struct request_end *end) {
    enum tool_counter outcome = outcome_of(shard, end);
    uint64_t ms = shard_now_ms(shard) - call->began_ms;
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_MCP_CALLS, outcome));
    if (call->figures)
        measure(call->figures, ms, outcome == TOOL_COUNT_ERROR);
    if (call->entry)
        write_line(shard, call->entry, outcome, ms);
}

static void tool_call_ended(struct shard *shard, struct pending *pending, const struct request_end *end) {
    struct tool_call *call = find_call(shard, pending);
    if (!call)
        return;
    if (!call->server_bytes)
        end_call(shard, call, end);
    hash_table_remove(&calls_of(shard)->calls, &call->by_id);
    quota_give(&shard->quota, call);
}

// Removes the tools that the source isn't shown from the answer to a tools/list. Without memory the answer stays as it
// is, because hidden tools can't be called anyway.
static void sift_list(struct shard *shard, const struct pending *pending, struct parcel **response) {
    const struct tool_call *call = find_call(shard, pending);
    struct text body;
    if (!call || !call->server_bytes || ((*response)->mail.detail & ANSWER_ERROR))
        return;
    text_init(&body);
    if (!tool_list_filter(shard, pending->user, call->server, call->server_bytes, *response, &body))
        return;
    struct parcel *filtered = body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
    if (!filtered) {
        text_deinit(&body);
        return;
    }
    filtered->mail.detail = (*response)->mail.detail;
    filtered->mail.came_us = (*response)->mail.came_us;
    filtered->lane = (*response)->lane;
    filtered->body.bytes = (uint32_t)filtered->bytes;
    send_release(shard, *response);
    *response = filtered;
}

// --- Calls that no server gets

// Returns whether a refused call has a line in the journal. Refused calls must not fill the journal, so their lines
// share the bound of the lines of refusals. A call without a right or a level is a refusal, too, which audit_refused
// has counted already: the call has a line if the refusal has one. A call that an approver or the source has ended
// always has a line.
static bool has_line(struct shard *shard, const struct message *message, const struct user *user,
                     enum error error) {
    assert(message_is_request(message) && error < ERRORS_COUNT);
    bool is_noted = error == ERROR_NOT_ALLOWED || error == ERROR_GOVERNANCE_VIOLATION;
    if (!journal_is_on(shard))
        return false;
    if (message->hold || error == ERROR_NONE || error == ERROR_CANCELLED)
        return true;
    return is_noted ? audit_reports(shard, user) : audit_may_report(shard, user);
}

// Counts a refused call, and writes its line. `lined`: the call has a line, which is `entry`; NULL: there was no memory
// for the line.
static void end_refused(struct shard *shard, bool lined, struct journal_entry *entry, enum error error,
                        uint64_t ms) {
    bool is_cancelled = error == ERROR_NONE || error == ERROR_CANCELLED;
    enum tool_counter outcome = is_cancelled ? TOOL_COUNT_CANCELLED : TOOL_COUNT_ERROR;
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_MCP_CALLS, outcome));
    if (entry)
        write_line(shard, entry, outcome, ms);
    else if (lined)
        stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
}

static struct journal_entry *begin_line(struct shard *shard, const struct message *message) {
    const struct unrouted_source *source = message->unrouted;
    struct journal_entry *entry =
        source ? journal_entry_create(shard, source->connection) : audit_entry(shard, message, "tool", NULL);
    if (!entry || !source)
        return entry;
    size_t bytes = json_cut_at_character(source->target, source->target_bytes, AGENT_ID_BYTES_MAX);
    journal_line_begin(&entry->line, io_wall_ms(shard->io), "tool");
    audit_put_user(shard, &entry->line, source->connection, source->user);
    journal_line_string(&entry->line, "target", bytes ? source->target : NULL, bytes);
    return entry;
}

// Returns whether a message is for an MCP server of a section, which may have been removed.
static bool is_for_server(const struct shard *shard, const struct message *message) {
    char text[AGENT_ID_BYTES_MAX];
    const struct attachment *attachment = message_attachment(message);
    if (message->exchange && message->exchange->is_mcp)
        return true;
    if (attachment)
        return feature_has_tools(shard, attachment->agent, attachment->bytes);
    if (!lookup_has(&message->lookup, KEY_TARGET_AGENT) ||
        message->lookup.type[KEY_TARGET_AGENT] != JSON_STRING)
        return false;
    size_t bytes =
        json_string_decode(message->body, message->lookup.value[KEY_TARGET_AGENT], text, sizeof text);
    return bytes != SIZE_MAX && feature_has_tools(shard, text, bytes);
}

static void tool_call_refused(struct shard *shard, const struct message *message, unsigned error) {
    char tool[METHOD_BYTES_MAX];
    const struct unrouted_source *source =
        message->unrouted; // an unrouted source calls a server, and with a users file has a user
    // The call came before a credential
    bool is_nobodys = error == ERROR_NOT_INITIALIZED && shard->settings->users;
    if (!message_is_request(message) || !message_method_is(message, "tools/call") ||
        (!source && (is_nobodys || !is_for_server(shard, message))))
        return;
    const struct user *user = source ? source->user : identity_user(message->peer);
    bool lined = has_line(shard, message, user, (enum error)error);
    struct journal_entry *entry = lined ? begin_line(shard, message) : NULL;
    if (entry)
        put_tool(&entry->line, tool, read_tool(message, tool, sizeof tool));
    end_refused(shard, lined, entry, (enum error)error, shard_now_ms(shard) - arrival_of(shard, message));
}

// --- hub/stats

static void put_server(const struct hub *hub, const struct child_record *record, struct text *out) {
    const struct child_record *modern = child_record_modern(hub, record);
    const struct {
        const char *name;
        const _Atomic uint32_t *value;
    } members[] = {{"legacyClients", child_record_is_each(record) ? &record->instances : &record->clients},
                   {"modernClients", modern ? &modern->clients : NULL},
                   {"sessions", &record->web_sessions},
                   {"restarts", &record->restarts}};
    text_put(out, "{\"name\":");
    text_string(out, record->name, strlen(record->name));
    for (size_t index = 0; index < sizeof members / sizeof *members; index++) {
        text_put(out, ",\"");
        text_put(out, members[index].name);
        text_put(out, "\":");
        text_number(out, members[index].value
                             ? (int64_t)atomic_load_explicit(members[index].value, memory_order_relaxed)
                             : 0);
    }
    text_put(out, "}");
}

// Returns whether a record is a section's MCP server. Another process of a section has a record of its own, with a # in
// the name.
static bool is_server(const struct child_record *record) {
    return child_record_is_there(record) && child_record_is_mcp(record) && !strchr(record->name, '#');
}

static void put_stats(struct shard *shard, struct text *out) {
    enum { TOOLS_SHOWN = 10 };
    const struct hub *hub = shard->hub;
    uint32_t count = child_record_count(hub);
    bool is_first = true;
    text_put(out, ",\"mcp\":{\"servers\":[");
    for (uint32_t index = 0; index < count; index++) {
        if (!is_server(child_record_at(hub, index)))
            continue;
        text_put(out, is_first ? "" : ",");
        put_server(hub, child_record_at(hub, index), out);
        is_first = false;
    }
    text_put(out, "],\"slowest_tools\":");
    tool_calls_put(hub, TOOLS_SHOWN, out);
    text_put(out, "}");
}

// --- The registration

static bool is_on(const struct hub_settings *settings) {
    return settings->keeper != NULL;
}

static bool open_calls(struct shard *shard) {
    struct tool_calls *calls = calls_of(shard);
    hash_table_init(&calls->calls, hash_of_call, &shard->quota);
    if (shard->index == 0)
        calls->figures = memory_take_zeroed(TOOL_FIGURES_MAX, sizeof *calls->figures);
    return calls->figures || shard->index != 0;
}

static void close_calls(struct shard *shard) {
    assert(calls_of(shard)->calls.count == 0);
    hash_table_deinit(&calls_of(shard)->calls);
    memory_give(calls_of(shard)->figures);
}

static const struct stats_row counters[TOOL_COUNTERS + 1] = {
    [TOOL_COUNT_OK] = {"mcp_tool_calls_ok", "mcp_tool_calls_total", "outcome=\"ok\"",
                       "Calls of tools of MCP servers, by how they ended.", STATS_LAST},
    [TOOL_COUNT_ERROR] = {"mcp_tool_calls_error", "mcp_tool_calls_total", "outcome=\"error\"", NULL,
                          STATS_LAST},
    [TOOL_COUNT_CANCELLED] = {"mcp_tool_calls_cancelled", "mcp_tool_calls_total", "outcome=\"cancelled\"",
                              NULL, STATS_LAST},
};

const struct feature mcp_calls_feature = {
    .name = "mcp calls",
    .is_on = is_on,
    .counters = counters,
    .shard_bytes = sizeof(struct tool_calls),
    .open = open_calls,
    .close = close_calls,
    .request_began = tool_call_began,
    .stats = put_stats,
    .response_came = sift_list,
    .request_ended = tool_call_ended,
    .message_refused = tool_call_refused,
};
