#include "router/features/observe/tap.h"

#include <assert.h>
#include <string.h>

#include "core/requests/journal_line.h"
#include "core/rights/rights.h"
#include "core/rights/users.h"
#include "io/log.h"
#include "router/audit/audit.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/send.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/identity.h"
#include "router/features/feature_list.h"
#include "router/features/observe/observe_params.h"
#include "router/features/observe/observe_types.h"
#include "router/features/observe/tap_entry.h"
#include "router/rights/authz.h"

enum {
    TAPS_MAX = 16, // taps of a hub
    RATE_USUAL = 1000,
    RATE_MAX = 100000,
    BODY_MAX = 16 << 20,
    BATCH_BYTES = 64 * 1024, // bytes of small entries in one hub/tapped
    LOOK_MS = 500,
    PATTERN_BYTES = METHOD_BYTES_MAX + 1,
    ENTRY_BYTES_MAX = 4096, // bytes of an entry without its body
};

struct tap_pattern {
    uint32_t bytes; // 0: the pattern matches any text
    char text[PATTERN_BYTES];
};

struct tap {
    struct mail mail; // the tap goes from shard to shard by this mail; its connection is the one that taps
    struct list link; // in observe_shard.own_taps
    struct timer timer;
    uint64_t number;
    const struct user *user;
    struct tap_pattern agent, method;
    bool errors;
    bool is_travelling; // the tap is on its way from shard to shard
    bool is_begun;      // hub/tap was answered; what was observed before is not shown
    bool is_closing;    // the tap ends; its entries under way are shown if hub/untap waits for them
    bool is_leaving;    // the shards free their shares
    bool is_over;       // all shards have freed their shares
    bool lacks_memory;  // a shard could make no share
    uint64_t slow_ns, body_bytes;
    uint32_t rate;
    uint32_t id_bytes; // of `id`
    char *id;          // of hub/tap, or of hub/untap; NULL: neither waits for its answer
    struct exchange *exchange;
    // Counts of all shards.
    _Atomic uint64_t second;  // a second in the upper half, the entries of that second in the lower half
    _Atomic uint64_t missed;  // entries missed that no hub/tapped has told of
    _Atomic uint64_t waiting; // bytes of entries on their way to the tap's shard
    _Atomic uint32_t out;     // batches of entries under way
};

struct tap_share {
    struct list link; // in observe_shard.taps
    struct tap *tap;
    struct text entries;
    uint32_t count;  // of entries
    uint64_t missed; // in this turn, messages that were not observed
};

struct tap_batch {
    struct mail mail;
    struct tap *tap;
    struct text entries;
    uint32_t count;
};

static uint32_t home_of(const struct tap *tap) {
    return connection_shard(tap->mail.connection);
}

// --- Journal and log

static void put_line(struct shard *shard, const struct tap *tap, const char *step) {
    assert(tap->number && tap->mail.connection);
    if (!journal_is_on(shard))
        return;
    struct journal_entry *entry = journal_entry_create(shard, tap->mail.connection);
    if (entry) {
        journal_line_begin(&entry->line, io_wall_ms(shard->io), "tap");
        audit_put_user(shard, &entry->line, tap->mail.connection, tap->user);
        journal_line_string(&entry->line, "target", NULL, 0);
        journal_line_string(&entry->line, "step", step, strlen(step));
        journal_line_number(&entry->line, "tap", (int64_t)tap->number);
        journal_line_string(&entry->line, "agent", tap->agent.bytes ? tap->agent.text : NULL,
                            tap->agent.bytes);
        journal_line_string(&entry->line, "method", tap->method.bytes ? tap->method.text : NULL,
                            tap->method.bytes);
        journal_line_number(&entry->line, "body", (int64_t)tap->body_bytes);
        entry = audit_finish(entry);
    }
    audit_submit(shard, entry);
}

static void report(struct shard *shard, const struct tap *tap, bool begins) {
    const char *user = tap->user ? tap->user->name : NULL;
    put_line(shard, tap, begins ? "begins" : "ends");
    if (begins)
        log_write(LOG_TAP_STARTED, LOG_FIELDS(log_text(user)), "tap %llu started%s%s",
                  (unsigned long long)tap->number, user ? " by " : "", user ? user : "");
    else
        log_write(LOG_TAP_ENDED, LOG_FIELDS(log_text(user)), "tap %llu ended%s%s",
                  (unsigned long long)tap->number, user ? ", of " : "", user ? user : "");
}

// --- Entries

static bool matches(const struct tap_pattern *pattern, const char *text, size_t bytes) {
    assert(pattern->bytes <= sizeof pattern->text);
    if (pattern->bytes == 0)
        return true;
    bool is_prefix = pattern->text[pattern->bytes - 1] == '*';
    size_t wanted = pattern->bytes - is_prefix;
    return (is_prefix ? bytes >= wanted : bytes == wanted) && memcmp(pattern->text, text, wanted) == 0;
}

static bool is_wanted(const struct tap *tap, const struct observation *observation) {
    return matches(&tap->method, observation_method(observation), observation->method_bytes) &&
           (matches(&tap->agent, observation_source(observation), observation->source_bytes) ||
            (observation->target_bytes &&
             matches(&tap->agent, observation->target, observation->target_bytes)));
}

static bool is_wanted_now(const struct tap *tap, const struct observation *observation) {
    assert(observation->outcome != OUTCOME_NONE);
    uint64_t took_ns = observation->ended_ns - observation->came_ns;
    bool is_good = observation->outcome == OUTCOME_RESULT || observation->outcome == OUTCOME_DELIVERED;
    if ((tap->errors && is_good) ||
        (tap->slow_ns && (observation->kind != OBSERVED_REQUEST || took_ns < tap->slow_ns)))
        return false;
    return is_wanted(tap, observation);
}

// Counts one more entry of this second. Returns false if the tap's rate is used up.
static bool is_within_rate(struct shard *shard, struct tap *tap) {
    assert(tap->rate >= 1 && tap->rate <= RATE_MAX);
    uint64_t second = io_now(shard->io) / UINT64_C(1000000000) << 32;
    uint64_t seen = atomic_load_explicit(&tap->second, memory_order_relaxed), next;
    do {
        bool is_same = (seen >> 32 << 32) == second;
        if (is_same && (uint32_t)seen >= tap->rate)
            return false;
        next = is_same ? seen + 1 : second + 1;
    } while (!atomic_compare_exchange_weak_explicit(&tap->second, &seen, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void miss(struct tap *tap, uint64_t count) {
    atomic_fetch_add_explicit(&tap->missed, count, memory_order_relaxed);
}

// Returns whether an entry may wait for the tap. Only the bytes that wait before the entry count, as in any queue, so a
// large entry passes a tap that reads.
static bool has_room(struct shard *shard, const struct tap *tap, uint64_t bytes) {
    return atomic_load_explicit(&tap->waiting, memory_order_relaxed) < shard_limits(shard)->queue_bytes_max &&
           buffer_budget_has_room(&shard->hub->budget, 4 * bytes, BUDGET_PLENTY);
}

static void flush_share(struct shard *shard, struct tap_share *share);

// Returns a bound of an entry's bytes. Each character of a name may take six bytes. The bytes of the body are exact.
static uint64_t bound_of(const struct observation *observation, const char *body, size_t body_bytes) {
    return ENTRY_BYTES_MAX + (body ? text_string_bytes(body, body_bytes) : 0) +
           6 * (uint64_t)(observation->method_bytes + observation->source_bytes + observation->target_bytes +
                          observation->event_bytes);
}

static void add_entry(struct shard *shard, struct tap_share *share, const struct observation *observation,
                      const struct message *message, bool has_ended) {
    assert(share->tap->number);
    struct tap *tap = share->tap;
    const char *body = NULL;
    size_t bytes = 0;
    if (tap->body_bytes && message) {
        body = (const char *)message->body;
        bytes = json_cut_at_character(body, message->frame->body.bytes, tap->body_bytes);
    } else if (tap->body_bytes && observation->body) {
        body = observation->body;
        bytes = json_cut_at_character(body, observation->body_bytes, tap->body_bytes);
    }
    uint64_t room = bound_of(observation, body, bytes);
    if (room > shard_limits(shard)->frame_bytes_max - ENTRY_BYTES_MAX || !is_within_rate(shard, tap) ||
        !has_room(shard, tap, room)) {
        miss(tap, 1);
        return;
    }
    if (share->entries.length && share->entries.length + room > BATCH_BYTES)
        flush_share(shard, share);
    size_t before = share->entries.length;
    if (!text_try_reserve(&share->entries, room + 1)) {
        miss(tap, 1);
        return;
    }
    text_put(&share->entries, before ? "," : "");
    if (has_ended)
        tap_entry_put(&share->entries, observation, body, bytes);
    else
        tap_entry_put_begun(&share->entries, observation, body, bytes);
    atomic_fetch_add_explicit(&tap->waiting, share->entries.length - before, memory_order_relaxed);
    share->count++;
}

static bool is_filled(const struct shard *shard, const struct tap *tap) {
    uint64_t seen = atomic_load_explicit(&tap->second, memory_order_relaxed);
    assert(tap->number);
    return seen >> 32 == io_now(shard->io) / UINT64_C(1000000000) && (uint32_t)seen >= tap->rate;
}

bool tap_has_enough(struct shard *shard) {
    struct list *all = &observe_of(shard)->taps;
    for (struct list *node = all->next; node != all; node = node->next) {
        const struct tap *tap = list_entry(node, struct tap_share, link)->tap;
        if (tap->agent.bytes || tap->method.bytes || tap->errors || tap->slow_ns || !is_filled(shard, tap))
            return false;
    }
    for (struct list *node = all->next; node != all; node = node->next) {
        struct tap_share *share = list_entry(node, struct tap_share, link);
        share->missed += share->tap->body_bytes ? 2 : 1;
    }
    return true;
}

void tap_note_begun(struct shard *shard, const struct observation *observation,
                    const struct message *message) {
    struct list *all = &observe_of(shard)->taps;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct tap_share *share = list_entry(node, struct tap_share, link);
        if (share->tap->body_bytes && is_wanted(share->tap, observation))
            add_entry(shard, share, observation, message, false);
    }
}

void tap_note(struct shard *shard, const struct observation *observation, const struct message *message) {
    struct list *all = &observe_of(shard)->taps;
    const struct message *shown = observation->kind == OBSERVED_REQUEST ? NULL : message;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct tap_share *share = list_entry(node, struct tap_share, link);
        if (is_wanted_now(share->tap, observation))
            add_entry(shard, share, observation, shown, true);
    }
}

uint64_t tap_body_bytes(struct shard *shard, const struct observation *observation) {
    struct list *all = &observe_of(shard)->taps;
    uint64_t most = 0;
    for (struct list *node = all->next; node != all; node = node->next) {
        const struct tap *tap = list_entry(node, struct tap_share, link)->tap;
        if (tap->body_bytes > most && is_wanted(tap, observation))
            most = tap->body_bytes;
    }
    return most;
}

void tap_note_missed(struct shard *shard) {
    struct list *all = &observe_of(shard)->taps;
    for (struct list *node = all->next; node != all; node = node->next)
        miss(list_entry(node, struct tap_share, link)->tap, 1);
}

// --- On the tap's shard

static struct parcel *notice_of(struct shard *shard, struct tap *tap, const struct text *entries) {
    assert(home_of(tap) == shard->index);
    struct text body;
    uint64_t missed = atomic_exchange_explicit(&tap->missed, 0, memory_order_relaxed);
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/tapped\",\"params\":{\"tap\":");
    text_number(&body, (int64_t)tap->number);
    text_put(&body, ",\"entries\":[");
    if (entries)
        text_add(&body, entries->bytes, entries->length);
    text_put(&body, "],\"missed\":");
    text_number(&body, (int64_t)missed);
    text_put(&body, "}}");
    struct parcel *parcel = body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
    if (!parcel) {
        text_deinit(&body);
        miss(tap, missed);
    }
    return parcel;
}

// Returns whether a peer may tap by the users file that the shard has taken up.
static bool may_receive(struct shard *shard, const struct peer *peer) {
    const struct user *user = authz_user(shard, peer);
    return !user || rights_admin(user).allowed;
}

// Returns whether the peer's queue takes so many bytes more before the peer counts as a slow reader that is closed.
static bool fits(const struct shard *shard, const struct peer *peer, size_t bytes) {
    assert(!peer_is_unreachable(peer) && bytes > 0);
    return connection_waiting(&peer->connection) + bytes + ENTRY_BYTES_MAX < slow_reader_bytes_max(shard);
}

// Sends entries in one hub/tapped; `entries` NULL: the number missed alone. Returns false if nothing was sent.
static bool send_entries(struct shard *shard, struct tap *tap, const struct text *entries) {
    assert(home_of(tap) == shard->index);
    struct peer *peer = peer_find(shard, tap->mail.connection);
    if (!peer || !tap->is_begun || (tap->is_closing && !tap->id))
        return false;
    // A client that asked hub/untap may have half-closed its connection, and still gets what was observed before.
    if (tap->id ? peer_is_unreachable(peer) : peer->state != PEER_OPEN)
        return false;
    // The number that was missed, before the answer to hub/untap, passes a full queue: it is sent once.
    bool is_last = tap->id && !entries;
    bool can = may_receive(shard, peer) && (is_last || queue_limit_has_room(shard, peer)) &&
               (!entries || fits(shard, peer, entries->length));
    struct parcel *parcel = can ? notice_of(shard, tap, entries) : NULL;
    if (parcel)
        send_queue(shard, peer, parcel);
    return parcel != NULL;
}

static void take_entries(struct shard *shard, struct tap *tap, const struct text *entries, uint32_t count) {
    assert(count > 0 && entries->length > 0);
    atomic_fetch_sub_explicit(&tap->waiting, entries->length, memory_order_relaxed);
    if (!send_entries(shard, tap, entries))
        miss(tap, count);
}

static void reply_number(struct shard *shard, const struct tap *tap, struct peer *peer, struct reply_to to) {
    assert(peer->awaited > 0);
    struct text result;
    peer->awaited--;
    text_init(&result);
    text_put(&result, "{\"tap\":");
    text_number(&result, (int64_t)tap->number);
    text_put(&result, "}");
    if (tap->lacks_memory)
        reply_without_memory(shard, peer, to);
    else if (result.failed)
        reply_failed(shard, peer, to);
    else
        reply_result(shard, peer, to, result.bytes, result.length);
    text_deinit(&result);
    peer_settle(shard, peer);
}

// Answers hub/tap or hub/untap.
static void answer(struct shard *shard, struct tap *tap) {
    struct peer *peer = peer_find(shard, tap->mail.connection);
    struct reply_to to = {tap->id, tap->id_bytes, tap->exchange};
    assert(tap->id && shard->remote_queries_out > 0);
    shard->remote_queries_out--;
    if (peer)
        reply_number(shard, tap, peer, to);
    else
        reply_missed(shard, tap->mail.connection, to);
    quota_give(&shard->quota, tap->id);
    tap->id = NULL;
}

// Frees the tap once no shard has a share, and no entries are under way. Then hub/untap is answered: its client has all
// that was observed before, or the number that was missed.
static void give_if_over(struct shard *shard, struct tap *tap) {
    assert(home_of(tap) == shard->index);
    if (!tap->is_over || atomic_load(&tap->out))
        return;
    list_remove(&tap->link);
    wheel_disarm(&tap->timer);
    atomic_fetch_sub(&observe_hub_of(shard)->taps, 1);
    if (tap->id && atomic_load_explicit(&tap->missed, memory_order_relaxed))
        send_entries(shard, tap, NULL);
    if (tap->id)
        answer(shard, tap);
    quota_give(&shard->quota, tap);
}

void tap_entries_arrived(struct shard *shard, struct mail *mail) {
    assert(mail->kind == FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_MAIL_ENTRIES));
    struct tap_batch *batch = list_entry(mail, struct tap_batch, mail);
    struct tap *tap = batch->tap;
    take_entries(shard, tap, &batch->entries, batch->count);
    text_deinit(&batch->entries);
    quota_give(&shard->quota, batch);
    atomic_fetch_sub(&tap->out, 1);
    give_if_over(shard, tap);
}

static void close_tap(struct shard *shard, struct tap *tap);

void tap_expired(struct shard *shard, struct timer *timer) {
    assert(!timer_armed(timer));
    struct tap *tap = list_entry(timer, struct tap, timer);
    struct peer *peer = peer_find(shard, tap->mail.connection);
    if (tap->is_closing)
        return;
    wheel_arm(&shard->wheel, &tap->timer, shard_now_ms(shard) + LOOK_MS);
    if (peer && !may_receive(shard, peer))
        close_tap(shard, tap);
    else if (atomic_load_explicit(&tap->missed, memory_order_relaxed))
        send_entries(shard, tap, NULL);
}

// --- Batches

static void flush_share(struct shard *shard, struct tap_share *share) {
    assert(share->count > 0);
    struct tap *tap = share->tap;
    struct text entries = share->entries;
    uint32_t count = share->count;
    text_init(&share->entries);
    share->count = 0;
    if (home_of(tap) == shard->index) {
        take_entries(shard, tap, &entries, count);
        text_deinit(&entries);
        return;
    }
    struct tap_batch *batch = quota_take(&shard->quota, sizeof *batch);
    if (!batch) {
        atomic_fetch_sub_explicit(&tap->waiting, entries.length, memory_order_relaxed);
        miss(tap, count);
        text_deinit(&entries);
        return;
    }
    *batch = (struct tap_batch){.tap = tap, .entries = entries, .count = count};
    batch->mail.connection = tap->mail.connection;
    batch->mail.kind = FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_MAIL_ENTRIES);
    atomic_fetch_add(&tap->out, 1);
    mailbox_post(hub_mailbox(shard->hub, shard->index, home_of(tap)), &batch->mail);
}

void tap_flush(struct shard *shard) {
    struct list *all = &observe_of(shard)->taps;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct tap_share *share = list_entry(node, struct tap_share, link);
        next = node->next;
        if (share->missed)
            miss(share->tap, share->missed);
        share->missed = 0;
        if (share->count)
            flush_share(shard, share);
    }
}

// --- Shares

static struct tap_share *share_of(struct shard *shard, const struct tap *tap) {
    struct list *all = &observe_of(shard)->taps;
    for (struct list *node = all->next; node != all; node = node->next)
        if (list_entry(node, struct tap_share, link)->tap == tap)
            return list_entry(node, struct tap_share, link);
    return NULL;
}

static bool add_share(struct shard *shard, struct tap *tap) {
    assert(!share_of(shard, tap));
    struct tap_share *share = quota_take(&shard->quota, sizeof *share);
    if (!share)
        return false;
    *share = (struct tap_share){.tap = tap};
    text_init(&share->entries);
    list_init(&share->link);
    list_append(&observe_of(shard)->taps, &share->link);
    observe_of(shard)->tap_count++;
    return true;
}

static void drop_share(struct shard *shard, struct tap *tap) {
    struct tap_share *share = share_of(shard, tap);
    if (!share)
        return;
    miss(tap, share->missed);
    if (share->count)
        flush_share(shard, share);
    list_remove(&share->link);
    text_deinit(&share->entries);
    quota_give(&shard->quota, share);
    observe_of(shard)->tap_count--;
}

static void travel(struct shard *shard, struct tap *tap);

// Ends a round of a tap through all shards: answers hub/tap, or frees the tap after hub/untap.
static void end_round(struct shard *shard, struct tap *tap) {
    assert(tap->is_travelling && !tap->is_over);
    tap->is_travelling = false;
    if (tap->is_leaving) {
        tap->is_over = true;
        report(shard, tap, false);
        give_if_over(shard, tap);
        return;
    }
    answer(shard, tap);
    tap->is_begun = true;
    atomic_store_explicit(&tap->missed, 0, memory_order_relaxed);
    if (tap->is_closing || tap->lacks_memory || !peer_find(shard, tap->mail.connection)) {
        tap->is_closing = false;
        close_tap(shard, tap);
    }
}

static void visit(struct shard *shard, struct tap *tap) {
    assert(tap->is_travelling);
    if (tap->is_leaving)
        drop_share(shard, tap);
    else if (!add_share(shard, tap))
        tap->lacks_memory = true;
    uint32_t next = (shard->index + 1) % shard->hub->start_settings.shard_count;
    if (next == home_of(tap) && next == shard->index) {
        end_round(shard, tap);
        return;
    }
    tap->mail.kind = FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_MAIL_TAP);
    mailbox_post(hub_mailbox(shard->hub, shard->index, next), &tap->mail);
}

static void travel(struct shard *shard, struct tap *tap) {
    assert(!tap->is_travelling && home_of(tap) == shard->index);
    tap->is_travelling = true;
    visit(shard, tap);
}

void tap_arrived(struct shard *shard, struct mail *mail) {
    assert(mail->kind == FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_MAIL_TAP));
    struct tap *tap = list_entry(mail, struct tap, mail);
    if (home_of(tap) == shard->index)
        end_round(shard, tap);
    else
        visit(shard, tap);
}

// Begins the end of a tap. A tap that is on its way from shard to shard comes home first.
static void close_tap(struct shard *shard, struct tap *tap) {
    assert(home_of(tap) == shard->index);
    if (tap->is_closing)
        return;
    tap->is_closing = true;
    wheel_disarm(&tap->timer);
    if (tap->is_travelling)
        return;
    tap->is_leaving = true;
    travel(shard, tap);
}

void tap_leave(struct shard *shard, const struct peer *peer) {
    assert(peer->state != PEER_OPEN);
    struct list *all = &observe_of(shard)->own_taps;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct tap *tap = list_entry(node, struct tap, link);
        next = node->next;
        if (tap->mail.connection == peer->connection_id)
            close_tap(shard, tap);
    }
}

void tap_end_all(struct shard *shard) {
    struct list *all = &observe_of(shard)->own_taps;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct tap *tap = list_entry(node, struct tap, link);
        next = node->next;
        close_tap(shard, tap);
    }
}

bool tap_holds(const struct shard *shard) {
    return !list_empty(&observe_of(shard)->own_taps) || observe_of(shard)->tap_count > 0;
}

// --- Asked

static bool read_pattern(struct shard *shard, const struct message *message, const char *key,
                         struct tap_pattern *pattern) {
    size_t bytes;
    if (!observe_params_pattern(shard, message, key, pattern->text, sizeof pattern->text, &bytes))
        return false;
    pattern->bytes = (uint32_t)bytes;
    return true;
}

static bool read_agent(struct shard *shard, const struct message *message, struct tap_pattern *pattern) {
    size_t bytes;
    if (!observe_params_agent(shard, message, "agent", pattern->text, sizeof pattern->text, &bytes))
        return false;
    pattern->bytes = (uint32_t)bytes;
    return true;
}

static bool read_params(struct shard *shard, const struct message *message, struct tap *tap) {
    static const char *const keys[] = {"agent", "method", "errors", "slowMs", "body", "rate", NULL};
    uint64_t slow_ms = 0, body = 0, rate = RATE_USUAL;
    struct json_item errors = message_param(message, "errors");
    if (!observe_params_check(shard, message, keys) || !read_agent(shard, message, &tap->agent) ||
        !read_pattern(shard, message, "method", &tap->method) ||
        !observe_params_number(shard, message, "slowMs", 1, 24 * 3600 * 1000, &slow_ms) ||
        !observe_params_number(shard, message, "body", 1, BODY_MAX, &body) ||
        !observe_params_number(shard, message, "rate", 1, RATE_MAX, &rate))
        return false;
    if (errors.type != JSON_NONE && errors.type != JSON_TRUE && errors.type != JSON_FALSE) {
        observe_params_refuse(shard, message, "errors", "true or false");
        return false;
    }
    tap->errors = errors.type == JSON_TRUE;
    tap->slow_ns = slow_ms * 1000000;
    tap->body_bytes = body;
    tap->rate = (uint32_t)rate;
    if (body && (tap->errors || slow_ms)) {
        observe_params_refuse(shard, message, "body", "no errors or slowMs beside it");
        return false;
    }
    return true;
}

// Counts one more tap of the hub. Returns false if the message was refused, since the hub has too many taps.
static bool take_place(struct shard *shard, const struct message *message) {
    if (atomic_fetch_add(&observe_hub_of(shard)->taps, 1) < TAPS_MAX)
        return true;
    struct text data;
    atomic_fetch_sub(&observe_hub_of(shard)->taps, 1);
    text_init(&data);
    reply_data_text(&data, "fault", "the hub has as many taps as it may");
    reply_data_number(&data, "limit", TAPS_MAX);
    refuse(shard, message, ERROR_OVERLOADED, &data);
    return false;
}

// Keeps the id of hub/tap or hub/untap until its answer. Returns false without memory.
static bool keep_id(struct shard *shard, struct tap *tap, const struct message *message) {
    struct reply_to to = message_reply_to(message);
    assert(!tap->id && message->peer->connection_id == tap->mail.connection);
    tap->id = quota_take(&shard->quota, to.id_bytes);
    if (!tap->id)
        return false;
    memcpy(tap->id, to.id, to.id_bytes);
    tap->id_bytes = to.id_bytes;
    tap->exchange = to.exchange;
    message->peer->awaited++;
    shard->remote_queries_out++;
    return true;
}

static void begin(struct shard *shard, const struct message *message, const struct tap *asked) {
    assert(asked->number && asked->mail.connection == message->peer->connection_id);
    struct tap *tap = quota_take(&shard->quota, sizeof *tap);
    if (tap)
        memcpy(tap, asked, sizeof *tap);
    if (!tap || !keep_id(shard, tap, message)) {
        atomic_fetch_sub(&observe_hub_of(shard)->taps, 1);
        quota_give(&shard->quota, tap);
        refuse_without_quota(shard, message, NULL);
        return;
    }
    list_init(&tap->link);
    list_append(&observe_of(shard)->own_taps, &tap->link);
    timer_init(&tap->timer, FEATURE_KIND(FEATURE_OBSERVE, OBSERVE_TIMER_TAP));
    wheel_arm(&shard->wheel, &tap->timer, shard_now_ms(shard) + LOOK_MS);
    report(shard, tap, true);
    travel(shard, tap);
}

void tap_ask(struct shard *shard, const struct message *message) {
    struct tap tap = {.user = authz_user(shard, message->peer)};
    if (!authz_admin(shard, message) || !read_params(shard, message, &tap) || !message_is_request(message))
        return;
    if (shard->phase != HUB_SERVING) {
        refuse_for(shard, message, ERROR_OVERLOADED, refuse_hub_ends);
        return;
    }
    if (!take_place(shard, message))
        return;
    tap.mail.connection = message->peer->connection_id;
    tap.number = atomic_fetch_add(&observe_hub_of(shard)->tap_numbers, 1) + 1;
    begin(shard, message, &tap);
}

// Returns a tap of this connection that was answered and doesn't end; NULL if the connection has no tap of that number.
static struct tap *find_open(struct shard *shard, const struct message *message, uint64_t number) {
    struct list *all = &observe_of(shard)->own_taps;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct tap *tap = list_entry(node, struct tap, link);
        if (tap->number == number && tap->mail.connection == message->peer->connection_id && tap->is_begun &&
            !tap->is_closing)
            return tap;
    }
    return NULL;
}

// Ends a tap of this connection. The number of another connection's tap is refused like an unknown number.
void tap_ask_end(struct shard *shard, const struct message *message) {
    static const char *const keys[] = {"tap", NULL};
    struct json_item item = message_param(message, "tap");
    uint64_t number = 0;
    if (!authz_admin(shard, message) || !observe_params_check(shard, message, keys))
        return;
    if (item.type == JSON_NUMBER)
        json_number_whole(message->body, item.value, &number);
    struct tap *tap = find_open(shard, message, number);
    if (!tap)
        observe_params_refuse(shard, message, "tap", "a tap of this connection's");
    else if (message_is_request(message) && !keep_id(shard, tap, message))
        refuse_without_quota(shard, message, NULL);
    else
        close_tap(shard, tap);
}
