#include "router/forwarding/remote_target.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/send/pack.h"
#include "router/engine/message/message.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/identity.h"

enum { FIRST_LINE_BYTES_MAX = 5 + SUBJECT_BYTES_MAX + 1 + SUBJECT_BYTES_MAX + 1 + 20 + 1 + 20 + 2 };

// --- The target

// Returns the name of the message's target and sets its kind, in the order of the rules (core/agents/rules.h): target,
// tool, approver, command, method. If a group's members here support a lower level than required, members at other hubs
// may support it. A single agent that doesn't is the final answer.
static struct rules_field name_of(const struct rules_message *criteria, const struct rules_verdict *verdict,
                                  bool skips_first, struct remote_target *out) {
    static const struct rules_field no_field = {.is_present = false};
    bool by_group = verdict->error == ERROR_GOVERNANCE_VIOLATION;
    struct rules_field name = criteria->target;
    out->kind = SUBJECT_AGENT;
    if (name.is_present && name.text && name.bytes && name.text[0] == '@') {
        out->kind = SUBJECT_CAPABILITY;
        name.text++;
        name.bytes--;
        return name;
    }
    if (name.is_present)
        return by_group ? no_field : name;
    if (rules_is_tool_call(criteria)) {
        out->kind = SUBJECT_TOOL;
        return criteria->tool;
    }
    bool by_approver = rules_is_approval(criteria) && criteria->approver.text;
    bool by_command = rules_is_command(criteria) && criteria->command.text;
    out->is_first = (by_approver || by_command) && !skips_first;
    if (out->is_first && !verdict->stands_in)
        return no_field; // the named agent is here and doesn't support the level
    if (out->is_first) {
        out->kind = by_approver ? SUBJECT_AGENT : SUBJECT_COMMAND;
        return by_approver ? criteria->approver : criteria->command;
    }
    out->kind = SUBJECT_METHOD;
    return (struct rules_field){.text = criteria->method, .bytes = criteria->method_bytes};
}

bool remote_target_find(const struct shard *shard, const struct message *message,
                        const struct rules_message *criteria, const struct rules_verdict *verdict,
                        struct remote_target *out) {
    enum error none = verdict->error;
    bool skips_first = message->retry && message->retry->first_over;
    bool is_known = none == ERROR_AGENT_NOT_FOUND || none == ERROR_TOOL || none == ERROR_METHOD_NOT_FOUND ||
                    none == ERROR_GOVERNANCE_VIOLATION;
    if (!hub_has_cluster(shard->hub) || message->origin)
        return false;
    if (!is_known && (!verdict->stands_in || skips_first))
        return false;
    out->hub = NULL;
    out->is_first = false;
    out->is_former = message->retry && message->retry->is_former;
    out->supports_less = none == ERROR_GOVERNANCE_VIOLATION;
    struct rules_field name = name_of(criteria, verdict, skips_first, out);
    assert(out->kind < SUBJECT_EVENT);
    if (name.bytes > METHOD_BYTES_MAX) // no hub has one of that name
        return false;
    out->bytes = name.text ? subject_escape(out->token, name.text, name.bytes) : 0;
    return out->bytes > 0;
}

bool remote_target_find_all(const struct shard *shard, const struct message *message, enum subject_kind kind,
                            const char *name, size_t name_bytes, struct remote_target *out) {
    assert(kind == SUBJECT_EVENT || kind == SUBJECT_NOTICE);
    if (!hub_has_cluster(shard->hub) || message->origin || !remote_target_link(shard))
        return false;
    *out = (struct remote_target){.kind = kind};
    out->bytes = subject_escape(out->token, name, name_bytes);
    return out->bytes > 0;
}

void remote_target_refuse(struct shard *shard, const struct message *message, enum error error) {
    struct text data;
    assert(error != ERROR_NONE);
    text_init(&data);
    reply_data_text(&data, "link", error == ERROR_TARGET_DISCONNECTED ? "down" : "overloaded");
    refuse(shard, message, error, &data);
}

static uint64_t payload_bytes_max(const struct shard *shard) {
    return atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
}

void remote_target_put_sizes(const struct shard *shard, struct text *data, uint64_t bytes) {
    assert(bytes > 0);
    reply_data_number(data, "limit", (int64_t)payload_bytes_max(shard));
    reply_data_number(data, "bytes", (int64_t)bytes);
}

// --- How it leaves

static char *put(char *to, const void *bytes, size_t count) {
    if (count)
        memcpy(to, bytes, count);
    return to + count;
}

// "HPUB SUBJECT REPLY HEADERS ALL", or "PUB SUBJECT REPLY ALL".
static size_t first_line(char out[FIRST_LINE_BYTES_MAX], const struct hub_envelope *envelope, size_t headers,
                         size_t all) {
    char *to = put(out, envelope->is_bare ? "PUB " : "HPUB ", envelope->is_bare ? 4 : 5);
    assert(envelope->subject_bytes > 0 && envelope->subject_bytes <= SUBJECT_BYTES_MAX);
    to = put(to, envelope->subject, envelope->subject_bytes);
    *to++ = ' ';
    to = put(to, envelope->reply, envelope->reply_bytes);
    if (envelope->reply_bytes)
        *to++ = ' ';
    if (!envelope->is_bare) {
        to += text_digits(to, headers);
        *to++ = ' ';
    }
    to += text_digits(to, all);
    to = put(to, "\r\n", 2);
    return (size_t)(to - out);
}

// The pieces before the body: the hub's own line, and the frame's header block as a peer would get it.
struct block {
    char header[HUB_HEADER_BYTES_MAX], length[WIRE_HEAD_BYTES_MAX];
    size_t header_bytes, length_bytes;
    struct piece prefix, after;
};

// `parcel` is NULL where the frame came with no header fields.
static size_t block_of(const struct shard *shard, const struct parcel *parcel, size_t bytes,
                       const struct hub_envelope *envelope, struct block *block) {
    block->header_bytes = hub_header_write(block->header, &shard->remote_link.hub, &envelope->source);
    block->length_bytes = wire_framed.head(block->length, bytes);
    block->prefix = (struct piece){NULL, 0};
    block->after = (struct piece){"\r\n", 2};
    if (envelope->is_json) {
        block->length_bytes = 0;
        block->after.count = 0;
    } else if (parcel && parcel->block) {
        uint32_t suffix_at = parcel->line_at + parcel->line_bytes;
        block->prefix = (struct piece){parcel->block, parcel->line_at};
        block->after = (struct piece){parcel->block + suffix_at, parcel->block_bytes - suffix_at};
    }
    // The user's header, which peers get, is left out: the hub's own line names the user.
    return block->header_bytes + block->length_bytes + block->prefix.count + block->after.count;
}

static void put_block(char *to, const struct block *block) {
    to = put(to, block->header, block->header_bytes);
    to = put(to, block->length, block->length_bytes);
    to = put(to, block->prefix.bytes, block->prefix.count);
    put(to, block->after.bytes, block->after.count);
}

// Joins the pieces of a parcel if there is no room for a piece before them and one behind them: a body may have as many
// holes as there can be. Returns false without memory.
static bool make_pieces_fit(struct parcel *parcel) {
    if (parcel->piece_count + 2 <= PARCEL_PIECES_MAX)
        return true;
    size_t count = parcel->bytes;
    char *text = parcel_text_take(parcel, count);
    if (!text)
        return false;
    parcel_copy(parcel, (uint8_t *)text);
    parcel_retext(parcel, text, count);
    return true;
}

enum error remote_target_put_head(struct shard *shard, struct parcel *parcel,
                                  const struct hub_envelope *envelope, uint64_t *bytes) {
    struct block block;
    char line[FIRST_LINE_BYTES_MAX];
    assert(!parcel->is_encoded && parcel->hole_count == 0 && shard->remote_link.hub.bytes);
    size_t head = envelope->is_bare ? 0 : block_of(shard, parcel, parcel->bytes, envelope, &block);
    *bytes = head + parcel->bytes;
    if (*bytes > payload_bytes_max(shard))
        return ERROR_FRAME_TOO_LARGE;
    size_t line_bytes = first_line(line, envelope, envelope->is_bare ? 0 : block.header_bytes, *bytes);
    char *to = make_pieces_fit(parcel) ? parcel_head_take(parcel, line_bytes + head, &shard->parcels) : NULL;
    if (!to)
        return ERROR_OVERLOADED;
    to = put(to, line, line_bytes);
    if (!envelope->is_bare)
        put_block(to, &block);
    return ERROR_NONE;
}

bool remote_target_pack_enveloped(struct shard *shard, struct peer *link, const struct frame *frame,
                                  struct span value, struct piece text, uint64_t hub_id,
                                  const struct hub_envelope *envelope) {
    char head[FIRST_LINE_BYTES_MAX + HUB_HEADER_BYTES_MAX + PARCEL_HEAD_BYTES_MAX];
    struct block block;
    size_t body = frame->body.bytes - value.bytes + text.count;
    size_t before = block_of(shard, NULL, body, envelope, &block);
    assert(send_may_pack(shard, link) && !envelope->is_bare && !envelope->is_json);
    if (before + body > payload_bytes_max(shard))
        return false;
    size_t line = first_line(head, envelope, block.header_bytes, before + body);
    put_block(head + line, &block);
    struct pack_envelope around = {{head, line + before}, {wire_nats.tail, wire_nats.tail_bytes}};
    return send_pack(shard, link, frame, value, text, hub_id, &around);
}

// --- In whose name

// Returns whether sourceAgent equals the last one that was found to be the connection's own.
static bool is_authenticated(const struct shard *shard, const struct message *message) {
    const struct remote_link *across = &shard->remote_link;
    struct span value = message->lookup.value[KEY_SOURCE_AGENT];
    return across->source_connection == message->peer->connection_id &&
           across->source_changes == shard->agents.changes &&
           message->lookup.type[KEY_SOURCE_AGENT] == JSON_STRING &&
           value.bytes == across->source_name_bytes + 2 &&
           memcmp(message->body + value.at + 1, across->source_name, across->source_name_bytes) == 0;
}

// A name with escapes isn't found by its text. For a source that has left the name is asked each time.
static void note_authenticated(struct shard *shard, const struct message *message, const char *name,
                               size_t bytes, bool is_there) {
    struct remote_link *across = &shard->remote_link;
    bool is_plain = is_there && !memchr(name, '\\', bytes) && !memchr(name, '"', bytes);
    assert(bytes > 0 && bytes <= AGENT_ID_BYTES_MAX);
    across->source_connection = is_plain ? message->peer->connection_id : 0;
    across->source_changes = shard->agents.changes;
    across->source_name_bytes = (uint32_t)bytes;
    memcpy(across->source_name, name, bytes);
}

// Writes the source's user, and the agent that the source names, where that agent is one of its connection's.
static struct hub_header_source source_of(struct shard *shard, const struct message *message) {
    struct remote_link *across = &shard->remote_link;
    const struct user *user = identity_user(message->peer);
    struct hub_header_source source = {.user = user ? user->name : NULL, .agent = across->source_name};
    char name[AGENT_ID_BYTES_MAX];
    size_t bytes = 0;
    if (!lookup_has(&message->lookup, KEY_SOURCE_AGENT))
        return source;
    if (is_authenticated(shard, message)) {
        source.agent_bytes = across->source_name_bytes;
        return source;
    }
    enum source_agent named = source_agent_read(shard, message, name, &bytes);
    if (named == SOURCE_FOREIGN)
        return source;
    note_authenticated(shard, message, name, bytes, named == SOURCE_OWN);
    source.agent_bytes = bytes;
    return source;
}

// Returns whether other hubs judge more of a body than this one.
static bool tells_cuts(const struct shard *shard) {
    return !shard->settings->strict && atomic_load_explicit(&shard->hub->hubs_strict, memory_order_relaxed);
}

// Notes where pieces of the body lie in the source's frame, and where in the parcel. By the note an offset that another
// hub names in a fault becomes the source's own offset.
static void note_cuts(const struct shard *shard, const struct message *message, const struct parcel *parcel,
                      struct frame_offsets *offsets) {
    const uint8_t *body = message->body;
    uint64_t at = 0;
    assert(parcel->hole_count == 0);
    if (!tells_cuts(shard))
        return;
    offsets->is_known = true;
    offsets->body_at = message->frame->unit->body_at;
    for (uint32_t index = 0; index < parcel->piece_count; at += parcel->pieces[index++].count) {
        const uint8_t *piece = parcel->pieces[index].bytes;
        bool is_own = piece > body && piece < body + message->frame->body.bytes;
        if (is_own && offsets->cut_count < FRAME_CUTS_MAX)
            offsets->cuts[offsets->cut_count++] = (struct frame_cut){(uint32_t)at, (uint32_t)(piece - body)};
    }
}

// Says how a message leaves that is forwarded; its subjects are written to `subject` and `reply`.
static struct hub_envelope envelope_of(struct shard *shard, const struct message *message,
                                       const struct remote_target *to, uint64_t hub_id, uint32_t time_ms,
                                       char subject[SUBJECT_BYTES_MAX], char reply[SUBJECT_BYTES_MAX]) {
    struct hub_envelope envelope = {.subject = subject, .reply = reply, .source = source_of(shard, message)};
    const struct hub_settings *settings = shard->settings;
    const struct realm *realm = to->is_former ? &settings->previous : &settings->realm;
    const char *cluster = shard->hub->start_settings.cluster.name;
    assert(!message->origin && (to->kind == SUBJECT_DECIDE) == (to->hub != NULL));
    envelope.source.time_ms = time_ms;
    envelope.subject_bytes = to->hub ? subject_write_hub(subject, cluster, to->hub, to->kind, 0)
                                     : subject_write(subject, cluster, realm, to->kind, to->token, to->bytes);
    envelope.reply_bytes = hub_id ? answer_subject_put(&shard->remote_link.answers, hub_id, reply) : 0;
    return envelope;
}

enum error remote_target_address(struct shard *shard, const struct message *message, struct parcel *parcel,
                                 const struct remote_target *to, uint64_t hub_id, uint32_t time_ms,
                                 uint64_t *bytes) {
    char subject[SUBJECT_BYTES_MAX], reply[SUBJECT_BYTES_MAX];
    struct hub_envelope envelope = envelope_of(shard, message, to, hub_id, time_ms, subject, reply);
    if (hub_id)
        note_cuts(shard, message, parcel, &envelope.source.offsets);
    return remote_target_put_head(shard, parcel, &envelope, bytes);
}

bool remote_target_pack(struct shard *shard, struct peer *link, const struct message *message,
                        const struct remote_target *to, struct piece text, uint64_t hub_id,
                        uint32_t time_ms) {
    char subject[SUBJECT_BYTES_MAX], reply[SUBJECT_BYTES_MAX];
    assert(hub_id && link->transport->ops.note_packed);
    if (tells_cuts(shard))
        return false;
    struct hub_envelope envelope = envelope_of(shard, message, to, hub_id, time_ms, subject, reply);
    return remote_target_pack_enveloped(shard, link, message->frame, message->lookup.value[KEY_ID], text,
                                        hub_id, &envelope) &&
           link->transport->ops.note_packed(shard, link, hub_id);
}

bool remote_target_keeps(const struct shard *shard, const struct remote_target *to) {
    const struct hub_settings *settings = shard->settings;
    bool has_former = settings->previous.bytes && shard_now_ms(shard) < settings->previous_until_ms;
    return !to->hub && (to->is_first || (has_former && !to->is_former));
}
