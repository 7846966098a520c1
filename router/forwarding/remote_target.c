#include "router/forwarding/remote_target.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/cluster/hub_header.h"
#include "core/cluster/remote_acl.h"
#include "router/audit/journal.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/cluster_server.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"
#include "router/forwarding/outbound_identity.h"

enum { FIRST_LINE_BYTES_MAX = 5 + SUBJECT_BYTES_MAX + 1 + SUBJECT_BYTES_MAX + 1 + 20 + 1 + 20 + 2 };

// --- Who is meant

// By target, by tool, by method: as the rules look for one (core/agents/rules.h). Where those who are here support less than the
// message requires, others of their group may support it: of one agent there is no other.
static struct rules_field name_of(const struct rules_message *asked, const struct rules_verdict *verdict,
                                  bool first, enum subject_kind *kind) {
    static const struct rules_field nobody = {.given = false};
    bool by_group = verdict->error == ERROR_GOVERNANCE_VIOLATION;
    struct rules_field name = asked->target;
    *kind = SUBJECT_AGENT;
    if (name.given && name.text && name.bytes && name.text[0] == '@') {
        *kind = SUBJECT_CAPABILITY;
        name.text++;
        name.bytes--;
        return name;
    }
    if (name.given)
        return by_group ? nobody : name;
    if (rules_read_tool(asked)) {
        *kind = SUBJECT_TOOL;
        return asked->tool;
    }
    bool by_approver = rules_read_approver(asked) && asked->approver.text;
    bool by_command = rules_read_command(asked) && asked->command.text;
    if (first) {
        *kind = by_approver ? SUBJECT_AGENT : SUBJECT_COMMAND;
        return by_approver ? asked->approver : asked->command;
    }
    if ((by_approver || by_command) && !verdict->stands_in)
        return nobody; // who is here, and doesn't support the level
    *kind = SUBJECT_METHOD;
    return (struct rules_field){.text = asked->method, .bytes = asked->method_bytes};
}

// Once that was in vain, who offers the method is next.
static bool is_first(const struct message *message, const struct rules_verdict *verdict) {
    return verdict->stands_in && !(message->returned && message->returned->sought);
}

// Of a group there may be members at more than one hub.
static bool has_others(const struct shard *shard, enum subject_kind kind) {
    return kind != SUBJECT_AGENT &&
           atomic_load_explicit(&shard->hub->link_neighbours, memory_order_relaxed) > 1;
}

// What the other hub's file holds is handed back, to be held here.
static bool may_be_held(const struct shard *shard, const struct message *message) {
    return shard->gate && shard->settings->users && !message->approved;
}

bool remote_target_find(const struct shard *shard, const struct message *message,
                        const struct rules_message *asked, const struct rules_verdict *verdict,
                        struct remote_target *out) {
    enum error none = verdict->error;
    bool first = is_first(message, verdict);
    bool is_known = none == ERROR_AGENT_NOT_FOUND || none == ERROR_TOOL || none == ERROR_METHOD_NOT_FOUND ||
                    none == ERROR_GOVERNANCE_VIOLATION;
    if (!shard->hub->settings.cluster || message->peer->transport->is_link)
        return false;
    if (!is_known && !first)
        return false;
    struct rules_field name = name_of(asked, verdict, first, &out->kind);
    out->offered = 0;
    out->returns = first && message_is_request(message); // a notification, where it can be kept
    out->hub = NULL;
    out->sought = 0;
    out->first = first;
    out->probes = out->judged = out->attaches = false;
    out->kept = message_is_request(message) &&
                (journal_is_on(shard) || has_others(shard, out->kind) || may_be_held(shard, message));
    assert(out->kind < SUBJECT_EVENT);
    if (name.bytes >
        METHOD_BYTES_MAX) // no hub has one of that name, and outbound_request.c's answer has no room for it
        return false;
    out->bytes = name.text ? subject_escape(out->token, name.text, name.bytes) : 0;
    return out->bytes > 0;
}

const struct agent *remote_target_find_all(struct shard *shard, const struct message *message,
                                           enum subject_kind kind, const char *name, size_t name_bytes,
                                           struct remote_target *out) {
    assert(shard->hub->settings.cluster && (kind == SUBJECT_EVENT || kind == SUBJECT_NOTICE));
    if (message->peer->transport->is_link)
        return NULL;
    out->kind = kind;
    out->offered = 0;
    out->returns = out->kept = out->first = out->probes = out->judged = out->attaches = false;
    out->hub = NULL;
    out->sought = 0;
    out->bytes = subject_escape(out->token, name, name_bytes);
    return out->bytes ? remote_target_link(shard) : NULL;
}

struct agent *remote_target_link(struct shard *shard) {
    struct across *across = &shard->across;
    if (across->changes != shard->agents.changes) {
        across->agent = agents_find(&shard->agents, HUB_LINK_ID, sizeof HUB_LINK_ID - 1);
        across->changes = shard->agents.changes;
    }
    return across->agent && !across->agent->home->leaving ? across->agent : NULL;
}

void remote_target_refuse_down(struct shard *shard, const struct message *message) {
    struct text data;
    assert(shard->hub->settings.cluster);
    text_init(&data);
    reply_data_text(&data, "link", "down");
    refuse(shard, message, ERROR_TARGET_DISCONNECTED, &data);
}

void remote_target_refuse(struct shard *shard, const struct message *message, enum error error) {
    struct text data;
    assert(error != ERROR_NONE);
    if (error == ERROR_TARGET_DISCONNECTED) {
        remote_target_refuse_down(shard, message);
        return;
    }
    text_init(&data);
    reply_data_text(&data, "link", "overloaded");
    refuse(shard, message, error, &data);
}

// --- How it leaves

// Where bytes are written, one behind the other.
static char *put(char *to, const void *bytes, size_t count) {
    if (count)
        memcpy(to, bytes, count);
    return to + count;
}

// The name under which other hubs know this one by that link.
static const char *own_name(struct shard *shard, uint64_t link) {
    static_assert((int)HUB_SESSION_BYTES == (int)HUB_NAME_BYTES, "a hub is known by the name of its link");
    assert(link);
    if (shard->across.link != link) {
        hub_session(shard->hub, link, shard->across.name);
        shard->across.inbox_bytes = (uint32_t)subject_write_inbox(
            shard->across.inbox, shard->hub->settings.cluster->name, shard->across.name);
        shard->across.link = link;
    }
    return shard->across.name;
}

// "HPUB SUBJECT REPLY HEADERS ALL", or "PUB SUBJECT REPLY ALL".
static size_t first_line(char out[FIRST_LINE_BYTES_MAX], const struct hub_envelope *letter, size_t headers,
                         size_t all) {
    char *to = put(out, letter->bare ? "PUB " : "HPUB ", letter->bare ? 4 : 5);
    assert(letter->subject_bytes > 0 && letter->subject_bytes <= SUBJECT_BYTES_MAX);
    to = put(to, letter->subject, letter->subject_bytes);
    *to++ = ' ';
    to = put(to, letter->reply, letter->reply_bytes);
    if (letter->reply_bytes)
        *to++ = ' ';
    if (!letter->bare) {
        to += text_digits(to, headers);
        *to++ = ' ';
    }
    to += text_digits(to, all);
    to = put(to, "\r\n", 2);
    return (size_t)(to - out);
}

static const char approved_pair[] = " approved=1", judged_pair[] = " judge=1";
enum { PAIRS_BYTES_MAX = REMOTE_ACL_BYTES_MAX + sizeof approved_pair + sizeof judged_pair };

// What stands behind "NATS/1.0": the hubs' own line, and the frame's header block as it would go to a peer.
struct block {
    char mark[HUB_HEADER_BYTES_MAX + PAIRS_BYTES_MAX], length[WIRE_HEAD_BYTES_MAX];
    size_t mark_bytes, length_bytes;
    struct piece before, after;
};

static size_t block_of(struct shard *shard, uint64_t link, const struct parcel *parcel,
                       const struct hub_envelope *letter, struct block *block) {
    block->mark_bytes = hub_header_write(block->mark, own_name(shard, link), letter->time_ms, letter->level,
                                         letter->offered, letter->answered, letter->flags, &letter->source);
    if (letter->pairs_bytes)
        block->mark_bytes =
            hub_header_add(block->mark, block->mark_bytes, letter->pairs, letter->pairs_bytes);
    block->length_bytes = wire_framed.head(block->length, parcel->bytes);
    block->before = (struct piece){NULL, 0};
    block->after = (struct piece){"\r\n", 2};
    if (parcel->block) {
        uint32_t behind = parcel->line_at + parcel->line_bytes;
        block->before = (struct piece){parcel->block, parcel->line_at};
        block->after = (struct piece){parcel->block + behind, parcel->block_bytes - behind};
    }
    if (letter->answered && block->before.count == 0 && block->after.count == 2)
        block->length_bytes = 0; // the server says it, and that hub knows
    return block->mark_bytes + block->length_bytes + block->before.count + block->after.count;
}

// A body with as many holes as there can be leaves no room for a piece before and one behind it.
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

enum error remote_target_put_head(struct shard *shard, uint64_t link, struct parcel *parcel,
                                  const struct hub_envelope *letter, uint64_t *bytes) {
    struct block block;
    char line[FIRST_LINE_BYTES_MAX];
    assert(!parcel->dressed && parcel->hole_count == 0);
    size_t headers = letter->bare ? 0 : block_of(shard, link, parcel, letter, &block);
    *bytes = headers + parcel->bytes;
    if (*bytes > atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed))
        return ERROR_FRAME_TOO_LARGE;
    size_t line_bytes = first_line(line, letter, headers, *bytes);
    char *to = make_pieces_fit(parcel) ? parcel_head_take(parcel, line_bytes + headers) : NULL;
    if (!to)
        return ERROR_OVERLOADED;
    to = put(to, line, line_bytes);
    if (letter->bare)
        return ERROR_NONE;
    to = put(to, block.mark, block.mark_bytes);
    to = put(to, block.length, block.length_bytes);
    to = put(to, block.before.bytes, block.before.count);
    put(to, block.after.bytes, block.after.count);
    return ERROR_NONE;
}

size_t remote_target_inbox(struct shard *shard, uint64_t link, uint64_t hub_id, char out[SUBJECT_BYTES_MAX]) {
    const struct across *across = &shard->across;
    own_name(shard, link);
    assert(across->inbox_bytes > 0);
    memcpy(out, across->inbox, across->inbox_bytes);
    if (hub_id)
        return across->inbox_bytes + hub_header_digits(out + across->inbox_bytes, hub_id);
    out[across->inbox_bytes] = REMOTE_TARGET_UNANSWERED;
    return across->inbox_bytes + 1;
}

void remote_target_put_sizes(const struct shard *shard, struct text *data, uint64_t bytes) {
    uint64_t max = atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
    assert(bytes > 0);
    reply_data_number(data, "limit", (int64_t)max);
    reply_data_number(data, "bytes", (int64_t)bytes);
}

// Whom it may reach by another name than its own that hub must be told: of an agent by its name it was judged here.
static bool is_fenced(const struct message *message, const struct remote_target *to) {
    const struct user *user = identity_user(message->peer);
    bool by_name = (to->kind == SUBJECT_AGENT && !to->first) || to->kind == SUBJECT_EVENT;
    return user && !by_name && remote_acl_is_needed(user);
}

// What it is told, written once for what one user sends in a row: those of a file that was read again are others.
static const struct remote_acl_text *fence_of(struct shard *shard, const struct message *message) {
    struct remote_acl_text *acl = &shard->across.acl;
    const struct user *user = identity_user(message->peer);
    assert(user);
    if (acl->user != user || acl->number != shard->settings->users->number) {
        acl->count = remote_acl_write(acl->text, user);
        acl->user = user;
        acl->number = shard->settings->users->number;
    }
    return acl;
}

bool remote_target_may_go(struct shard *shard, const struct message *message,
                          const struct remote_target *to) {
    assert(!message->peer->transport->is_link);
    return !is_fenced(message, to) ||
           (!atomic_load_explicit(&shard->hub->link_unfenced, memory_order_relaxed) &&
            fence_of(shard, message)->count != REMOTE_ACL_UNTOLD);
}

static size_t put_pairs(struct shard *shard, char out[PAIRS_BYTES_MAX], const struct message *message,
                        const struct remote_target *to) {
    static const char all[] = " deny=*"; // the file has changed since it was looked at
    char *at = out;
    if (is_fenced(message, to)) {
        const struct remote_acl_text *acl = fence_of(shard, message);
        bool is_told = acl->count != REMOTE_ACL_UNTOLD;
        at = is_told ? put(out, acl->text, (size_t)acl->count) : put(out, all, sizeof all - 1);
    }
    if (message->approved || to->judged)
        at = put(at, approved_pair, sizeof approved_pair - 1);
    if (to->judged)
        at = put(at, judged_pair, sizeof judged_pair - 1);
    assert(at <= out + PAIRS_BYTES_MAX);
    return (size_t)(at - out);
}

static size_t reply_of(struct shard *shard, uint64_t link, const struct remote_target *to, uint64_t hub_id,
                       char out[SUBJECT_BYTES_MAX]) {
    static const char sought[] =
        "m.0000000000000000.n"; // its number is the link's to write (features/cluster/fallback_watch.h)
    static_assert(sizeof sought - 1 == REMOTE_TARGET_SOUGHT_BYTES, "as it is read");
    if (to->kind == SUBJECT_EVENT || to->kind == SUBJECT_NOTICE)
        return 0;
    size_t bytes = remote_target_inbox(shard, link, hub_id, out);
    if (!to->sought)
        return bytes;
    memcpy(out + bytes - 1, sought, sizeof sought - 1);
    return bytes - 1 + sizeof sought - 1;
}

static enum error address_to(struct shard *shard, const struct message *message, struct parcel *parcel,
                             const struct remote_target *to, struct hub_envelope *letter, uint64_t hub_id,
                             uint64_t *bytes) {
    char subject[SUBJECT_BYTES_MAX], reply[SUBJECT_BYTES_MAX];
    char pairs[PAIRS_BYTES_MAX];
    const struct agent *agent = remote_target_link(shard);
    assert(agent);
    uint64_t link = agent->home->connection;
    outbound_identity_write(shard, message, &letter->source);
    letter->level = message->frame->unit->directives.governance;
    letter->offered = to->offered;
    letter->flags = !to->probes ? 0 : to->attaches ? HUB_HEADER_ATTACHES : HUB_HEADER_PROBES;
    letter->pairs = pairs;
    letter->pairs_bytes = put_pairs(shard, pairs, message, to);
    if (to->judged)
        letter->level = GOVERNANCE_AUTONOMOUS; // what its target supports isn't looked at
    letter->subject = subject;
    const char *cluster = shard->hub->settings.cluster->name;
    letter->subject_bytes = to->hub
                                ? subject_write_at(subject, cluster, to->hub, to->kind, to->token, to->bytes)
                                : subject_write(subject, cluster, to->kind, to->token, to->bytes);
    letter->reply = reply;
    letter->reply_bytes = reply_of(shard, link, to, hub_id, reply);
    enum error error = remote_target_put_head(shard, link, parcel, letter, bytes);
    if (!error && (hub_id || to->sought))
        parcel->bearing = (struct bearing){
            .kind = (uint8_t)to->kind,
            .level = (uint8_t)letter->level,
            .offered = letter->offered != 0,
            .probes = to->probes,
            .fenced = is_fenced(message, to),
            .token_at = (uint16_t)(HUB_ENVELOPE_VERB_BYTES + letter->subject_bytes - to->bytes),
            .token_bytes = (uint16_t)to->bytes,
        };
    return error;
}

bool remote_target_address(struct shard *shard, const struct message *message, struct parcel *parcel,
                           const struct remote_target *to, uint64_t hub_id, uint32_t time_ms) {
    struct hub_envelope letter = {.time_ms = time_ms};
    uint64_t bytes = 0;
    enum error error = address_to(shard, message, parcel, to, &letter, hub_id, &bytes);
    if (error == ERROR_NONE || to->returns)
        return error == ERROR_NONE;
    struct text data;
    text_init(&data);
    if (error == ERROR_FRAME_TOO_LARGE)
        remote_target_put_sizes(shard, &data, bytes);
    refuse(shard, message, error, &data);
    return false;
}

enum error remote_target_address_copy(struct shard *shard, const struct message *message,
                                      struct parcel *parcel, const struct remote_target *to) {
    struct hub_envelope letter = {.time_ms = 0};
    uint64_t bytes = 0;
    assert(to->kind == SUBJECT_EVENT || to->kind == SUBJECT_NOTICE);
    return address_to(shard, message, parcel, to, &letter, 0, &bytes);
}

bool remote_target_is_named(const struct shard *shard, const struct remote_target *to) {
    assert(to->kind == SUBJECT_NOTICE && to->bytes > 0);
    return hub_has_named(shard->hub, hub_named_hash(shard->hub, to->token, to->bytes));
}
