#include "router/features/children/children.h"
#include "router/engine/shard/option.h"
#include "router/features/children/child_methods.h"
#include "router/features/children/child_mux.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/memory.h"
#include "io/log.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/children/child_absence.h"
#include "router/features/children/child_agent.h"
#include "router/features/children/child_registration.h"
#include "router/features/children/child_rights.h"
#include "router/features/children/child_sections.h"
#include "router/features/feature_list.h"

static struct child *children_find(const struct children *children, const char *name, uint32_t number) {
    struct child *child = children->first;
    while (child && (child->number != number || strcmp(child->settings->name, name) != 0))
        child = child->next;
    return child;
}

// --- The configuration

// Gives a child's stub the user that the section names, or none.
static void identify(struct shard *shard, struct peer *stub, const struct child_settings *settings) {
    struct identity *identity = identity_of(stub);
    const struct users *users = shard->settings->users;
    assert(!identity == !users);
    if (!identity)
        return;
    identity->kind = CREDENTIAL_CHILD;
    identity->user = settings->user ? users_by_name(users, settings->user, strlen(settings->user)) : NULL;
}

static struct child *take_stub(struct shard *shard, struct child *child,
                               const struct child_settings *settings) {
    assert(shard->index == 0);
    struct children *children = children_of(shard);
    child->stub = peer_open_stub(shard, settings->lines ? children->ops->lines : children->ops->framed);
    struct peer_cold *cold = child->stub ? peer_take_cold(shard, child->stub) : NULL;
    struct child_peer *own = cold ? child_peer_take(shard, child->stub) : NULL;
    bool taken = own && (!shard->settings->users || identity_take(shard, cold, -1)) &&
                 child_prepare_leave(shard, child->stub);
    if (child->stub && !taken)
        peer_close(shard, child->stub, COUNT_CLOSED_NO_MEMORY);
    if (!taken)
        return NULL;
    own->child = child;
    identify(shard, child->stub, settings);
    return child;
}

// A bit in the number of a child of the modern era, beside the number of its first child.
enum { MODERN_NUMBER = 1 << 30 };

// Returns the record of a child; NULL: there is none left. The first child has the section's name. The others have
// names with a #, which no agent can have.
static struct child_record *take_record(struct shard *shard, const struct child_settings *settings,
                                        uint32_t number) {
    char name[AGENT_ID_BYTES_MAX + 32];
    uint32_t plain = number & ~(uint32_t)MODERN_NUMBER;
    const char *modern = plain == number ? "" : "#modern";
    int bytes = plain ? snprintf(name, sizeof name, "%s#%u%s", settings->name, plain, modern)
                      : snprintf(name, sizeof name, "%s%s", settings->name, modern);
    assert(bytes > 0);
    return bytes <= AGENT_ID_BYTES_MAX ? child_record_take(shard->hub, name) : NULL;
}

// Makes a child of a section; `of` is as in struct child. Returns NULL if there is no room.
static struct child *create(struct shard *shard, const struct child_settings *settings, uint32_t number,
                            struct child *of) {
    assert(children_of(shard) && !children_of(shard)->closing);
    struct child_record *record = take_record(shard, settings, number);
    struct child *child = record ? memory_take_zeroed(1, sizeof *child) : NULL;
    if (!child || !take_stub(shard, child, settings)) {
        memory_give(child);
        return NULL;
    }
    outbox_init(&child->hub_outbox);
    child->record = record;
    child->number = number;
    child->ops = children_of(shard)->ops;
    child->of = of;
    child->settings = child_settings_hold(settings);
    child->newest = child_settings_hold(settings);
    child->next = children_of(shard)->first;
    children_of(shard)->first = child;
    list_init(&child->due);
    child->due_of = &children_of(shard)->due;
    atomic_store_explicit(&record->restarts, 0, memory_order_relaxed);
    atomic_store_explicit(&record->failures, 0, memory_order_relaxed);
    atomic_store_explicit(&record->fault, 0, memory_order_relaxed);
    atomic_store_explicit(&record->orders, 0, memory_order_relaxed);
    child_set_state(child, of ? CHILD_IDLE : CHILD_WAITING);
    return child;
}

static void add(struct shard *shard, const struct child_settings *settings, uint32_t number) {
    assert(number < settings->instances);
    struct child *child = create(shard, settings, number, NULL);
    if (!child) {
        children_of(shard)->lacks_place |= !child_record_has_place(shard->hub);
        log_write(LOG_CHILD_FAULT, LOG_FIELDS(log_text(settings->name)),
                  "child %s: there is no room for it%s", settings->name,
                  children_of(shard)->lacks_place ? " yet" : "");
        return;
    }
    if (!child_register(shard, child, NULL, NULL, true))
        child_log(child, "memory is used up");
    child_wake_after(shard, child, 0);
}

// Counts the instances of a stand-in, without instances that end with their users: the next user waits for the place.
static uint32_t count_used(const struct children *children, const struct child *stand_in) {
    uint32_t count = 0;
    assert(child_is_stand_in(stand_in));
    for (const struct child *child = children->first; child; child = child->next)
        count += child->of == stand_in && child->after != CHILD_AFTER_FREE;
    return count;
}

// The bound of a chain of instances that use instances. The chain may be a circle, in which each instance would need
// one more process.
enum { CHAIN_MAX = 4 };

// Returns the depth of an instance (struct child) that this connection is to have.
static uint32_t depth_for(const struct children *children, uint64_t user) {
    for (const struct child *child = children->first; child; child = child->next)
        if (child->of && child->stub->connection_id == user)
            return child->depth + 1;
    return 0;
}

struct child *children_add_instance(struct shard *shard, struct child *stand_in, uint64_t user) {
    const struct child_settings *settings = stand_in->newest ? stand_in->newest : stand_in->settings;
    uint32_t number = 1, depth = depth_for(children_of(shard), user);
    bool is_closing = children_of(shard)->closing || stand_in->after == CHILD_AFTER_FREE;
    assert(child_is_stand_in(stand_in) && user);
    if (is_closing || depth >= CHAIN_MAX ||
        count_used(children_of(shard), stand_in) >= settings->instances_max)
        return NULL;
    while (children_find(children_of(shard), settings->name, number))
        number++;
    struct child *child = create(shard, settings, number, stand_in);
    if (!child)
        return NULL;
    child->user = user;
    child->depth = depth;
    child->stub->cold->cancel_ends = settings->protocol == CHILD_MCP;
    atomic_store_explicit(&stand_in->record->instances, ++stand_in->instances, memory_order_relaxed);
    return child;
}

struct child *children_add_modern(struct shard *shard, struct child *first) {
    // The settings that the first child has, or will take
    const struct child_settings *settings = first->newest;
    bool is_closing = children_of(shard)->closing || first->after == CHILD_AFTER_FREE;
    assert(!first->of && !first->other);
    if (is_closing || !settings || settings->protocol != CHILD_MCP)
        return NULL;
    struct child *child = create(shard, settings, MODERN_NUMBER | first->number, first);
    if (!child)
        return NULL;
    child->modern = true;
    child->stub->cold->cancel_ends = true;
    first->other = child;
    first->instances++;
    child_show_era(child, MCP_MODERN);
    return child;
}

// Gives a child its section's settings, and restarts the child if the settings differ. For another wire the child is
// freed and made anew, because queued parcels are encoded for the child's wire.
static void configure_one(struct shard *shard, struct child *child, const struct child_settings *settings) {
    assert(strcmp(settings->name, child->settings->name) == 0);
    bool same = child_settings_same(child->newest ? child->newest : child->settings, settings);
    bool restarts = child->state == CHILD_DOWN || child->after == CHILD_AFTER_STOP; // or will be stopped
    child_settings_drop(child->newest);
    child->newest = child_settings_hold(settings);
    if (child_settings_same(child->settings, settings)) { // so that the old configuration may be freed
        child_settings_drop(child->settings);
        child->settings = child_settings_hold(settings);
    }
    bool alike = settings->lines == child->settings->lines;
    if (!same || restarts)
        child_stop(shard, child, alike ? CHILD_AFTER_FRESH : CHILD_AFTER_FREE, "reload");
}

// Returns whether a section asks for this child, with the present settings or with other ones.
static bool is_asked_for(const struct child *child, const struct child_settings *settings) {
    if (!settings || settings->each != child->settings->each)
        return false;
    if (child->modern && (settings->protocol != CHILD_MCP || child->of->number >= settings->instances))
        return false;
    return child->of ? child->of->settings->lines == settings->lines : child->number < settings->instances;
}

void children_add_missing(struct shard *shard) {
    assert(shard->index == 0);
    for (const struct child_settings *settings = hub_settings(shard->hub)->children; settings;
         settings = settings->next)
        for (uint32_t number = 0; number < settings->instances; number++)
            if (!children_find(children_of(shard), settings->name, number))
                add(shard, settings, number);
}

static void children_configure(struct shard *shard) {
    assert(shard->index == 0);
    struct children *children = children_of(shard);
    const struct child_settings *all = hub_settings(shard->hub)->children;
    if (!children || children->closing)
        return;
    for (struct child *child = children->first; child; child = child->next) {
        const struct child_settings *settings = all;
        while (settings && strcmp(settings->name, child->settings->name) != 0)
            settings = settings->next;
        if (is_asked_for(child, settings)) {
            identify(shard, child->stub, settings);
            configure_one(shard, child, settings);
            if (shard->settings->users)
                child_rights_review(shard, child);
            continue;
        }
        child_settings_drop(child->newest);
        child->newest = NULL;
        child->removed = !settings;
        child_stop(shard, child, CHILD_AFTER_FREE, "disabled");
    }
    children_add_missing(shard);
}

bool children_open(struct shard *shard, const struct child_ops *ops) {
    struct keeper *keeper = shard->hub->start_settings.keeper;
    assert(shard->index == 0 && !children_of(shard));
    if (!keeper)
        return true;
    struct children *children = memory_take_zeroed(1, sizeof *children);
    if (!children)
        return false;
    list_init(&children->due);
    children->ops = ops;
    children->listening = true;
    shard->states[FEATURE_CHILDREN] = children;
    io_receive(shard->io, keeper->reports, FEATURE_TOKEN(FEATURE_CHILDREN, CHILDREN_TOKEN_KEEPER), 0);
    children_configure(shard);
    return true;
}

// --- The keeper

static struct child *child_of(const struct children *children, const struct keeper_report *report) {
    struct child *child = children->first;
    while (child && (child->record->place != report->place || child->serial != report->serial))
        child = child->next;
    return child;
}

// Notes why a child wasn't started, unless the child has failed before.
static void not_started(struct child *child, int32_t error) {
    assert(!child->has_process && child->state != CHILD_RUNNING);
    if (child->fault != CHILD_FAULT_NONE)
        return;
    child->fault = CHILD_FAULT_START;
    child->fault_number = error;
}

// Logs the end of a child's process. The status is as a shell's: 128 and the number for a signal.
static void log_end(const struct child *child) {
    assert(child->has_status);
    bool is_signal = WIFSIGNALED(child->status);
    int number = is_signal ? WTERMSIG(child->status) : WEXITSTATUS(child->status);
    log_write(LOG_CHILD_ENDED,
              LOG_FIELDS(log_text(child->record->name), log_number(is_signal ? 128 + number : number)),
              "child %s: it ended %s %d", child->record->name, is_signal ? "by signal" : "with status",
              number);
}

static void take_report(struct shard *shard, const struct keeper_report *report) {
    assert(shard->index == 0);
    struct child *child = child_of(children_of(shard), report);
    if (!child)
        return;
    switch ((enum keeper_report_kind)report->kind) {
    case KEEPER_STARTED:
        log_write(LOG_CHILD_STARTED, LOG_FIELDS(log_text(child->record->name)), "child %s: process %d",
                  child->record->name, report->value);
        child_started(shard, child, report->value);
        break;
    case KEEPER_FAILED:
        child_note_process(child, false);
        not_started(child, report->value);
        child_fail(shard, child, CHILD_FAULT_START, report->value);
        break;
    case KEEPER_EXITED: // the rest of the output is read first
        child->status = report->value;
        child->has_status = true;
        log_end(child);
        child_exited(shard, child);
        break;
    case KEEPER_GONE:
        child_note_process(child, false);
        break;
    }
}

static void take_bytes(struct shard *shard, const uint8_t *bytes, uint32_t count) {
    assert(children_of(shard)->report_bytes < sizeof children_of(shard)->report);
    struct children *children = children_of(shard);
    while (count > 0) {
        uint32_t lacking = (uint32_t)sizeof children->report - children->report_bytes;
        uint32_t part = count < lacking ? count : lacking;
        memcpy((uint8_t *)&children->report + children->report_bytes, bytes, part);
        children->report_bytes += part;
        bytes += part;
        count -= part;
        if (part < lacking)
            break;
        children->report_bytes = 0;
        take_report(shard, &children->report);
    }
}

// Ends the hub with all programs, because its keeper has ended: without the keeper the hub can't wait for programs, or
// end them in good order.
static void lose_keeper(struct shard *shard) {
    assert(children_of(shard) && !atomic_load(&shard->hub->failed));
    struct children *children = children_of(shard);
    log_write(LOG_FAILED, LOG_NO_FIELDS, "the keeper of its children has ended; the hub ends, too");
    atomic_store(&shard->hub->failed, true);
    for (struct child *child = children->first; child; child = child->next) {
        int32_t process = atomic_load_explicit(&child->record->process, memory_order_relaxed);
        if (child->has_process && process > 0)
            io_kill_group(shard->io, process);
        child_note_process(child, false);
        child_fail(shard, child, CHILD_FAULT_START, EPIPE);
    }
}

static void children_report(struct shard *shard, const struct io_event *event, unsigned kind) {
    struct children *children = children_of(shard);
    assert(shard->index == 0 && children && kind == CHILDREN_TOKEN_KEEPER);
    (void)kind;
    if (event->result > 0)
        take_bytes(shard, event->buffer->bytes + RECEIVE_HEAD_BYTES, (uint32_t)event->result);
    buffer_drop(event->buffer);
    if (event->more)
        return;
    children->listening = false;
    bool ended = event->result == 0 || (event->result < 0 && event->result != -ENOBUFS &&
                                        event->result != -ECANCELED && event->result != -EINTR);
    if (ended && !atomic_load(&shard->hub->failed))
        lose_keeper(shard);
}

// --- The end

static void children_close(struct shard *shard) {
    struct children *children = children_of(shard);
    if (!children || children->closing)
        return;
    children->closing = true;
    for (struct child *child = children->first; child; child = child->next)
        child_stop(shard, child, CHILD_AFTER_FREE, "closing");
}

static bool children_at_rest(const struct shard *shard) {
    const struct children *children = children_of(shard);
    return !children || (!children->first && !children->listening);
}

static void children_end(struct shard *shard) {
    assert(children_at_rest(shard));
    if (children_of(shard))
        child_absence_free(&children_of(shard)->absences, &shard->quota);
}

// --- Work on children, once a turn

static bool may_listen(const struct shard *shard) {
    const struct children *children = children_of(shard);
    return !atomic_load(&shard->hub->failed) && !(children->closing && !children->first);
}

static void stop_or_restart(struct shard *shard, struct child *child) {
    assert(shard->index == 0);
    uint32_t orders = atomic_exchange_explicit(&child->record->orders, 0, memory_order_relaxed);
    if (orders & CHILD_ORDER_STOP)
        child_stop(shard, child, CHILD_AFTER_STOP, "disabled");
    if (orders & CHILD_ORDER_RESTART)
        child_stop(shard, child, CHILD_AFTER_FRESH, "reload");
}

static void count_states(struct shard *shard) {
    uint32_t running = 0, down = 0, other = 0;
    assert(children_of(shard));
    for (const struct child *child = children_of(shard)->first; child; child = child->next)
        if (!child_is_stand_in(child))
            ++*(child->state == CHILD_RUNNING ? &running : child->state == CHILD_DOWN ? &down : &other);
    stats_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_CHILDREN, CHILDREN_GAUGE_RUNNING), running);
    stats_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_CHILDREN, CHILDREN_GAUGE_DOWN), down);
    stats_gauge(&shard->stats, FEATURE_GAUGE(FEATURE_CHILDREN, CHILDREN_GAUGE_OTHER), other);
}

// Carries out an operator's restarts and stops.
static void carry_out_orders(struct shard *shard) {
    assert(shard->index == 0);
    struct children *children = children_of(shard);
    if (!atomic_load_explicit(&child_records_of(shard->hub)->has_orders, memory_order_relaxed))
        return;
    atomic_store(&child_records_of(shard->hub)->has_orders, false);
    for (struct child *child = children->first; child && !children->closing; child = child->next)
        if (atomic_load_explicit(&child->record->orders, memory_order_relaxed))
            stop_or_restart(shard, child);
}

static void forget(struct children *children, struct child *child) {
    struct child **link = &children->first;
    while (*link != child)
        link = &(*link)->next;
    *link = child->next;
    list_remove(&child->due);
    child_settings_drop(child->settings);
    child_settings_drop(child->newest);
    memory_give(child);
}

// Goes on with children that may have work to do: children may be many, but few have. Returns whether a child has gone.
static bool follow_due(struct shard *shard) {
    assert(shard->index == 0);
    struct children *children = children_of(shard);
    struct list due;
    bool freed = false;
    list_init(&due);
    for (struct list *node; (node = list_take(&children->due));)
        list_append(&due, node);
    for (struct list *node; (node = list_take(&due));) {
        struct child *child = list_entry(node, struct child, due);
        child_send_on(shard, child);
        if (!child_settle(shard, child)) {
            forget(children, child);
            freed = true;
        } else if (!child_is_quiet(child)) {
            child_touch(child);
        }
    }
    return freed;
}

static void children_turn(struct shard *shard) {
    struct children *children = children_of(shard);
    if (!children)
        return;
    assert(shard->index == 0);
    carry_out_orders(shard);
    bool any = !list_empty(&children->due), freed = any && follow_due(shard);
    bool has_place = children->lacks_place && child_record_has_place(shard->hub);
    children->lacks_place &= !has_place;
    if ((freed || has_place) && !children->closing)
        children_add_missing(shard);
    if (any)
        count_states(shard);
    const struct keeper *keeper = shard->hub->start_settings.keeper;
    if (!children->listening && may_listen(shard)) {
        children->listening = true;
        io_receive(shard->io, keeper->reports, FEATURE_TOKEN(FEATURE_CHILDREN, CHILDREN_TOKEN_KEEPER), 0);
    } else if (children->listening && children->closing && !children->first && !children->cancelling) {
        children->cancelling = true;
        io_cancel(shard->io, keeper->reports, FEATURE_TOKEN(FEATURE_CHILDREN, CHILDREN_TOKEN_KEEPER));
    }
}

// --- The registration

static bool children_are_on(const struct hub_settings *settings) {
    assert(settings->shard_count > 0);
    return settings->keeper != NULL;
}

static bool children_have_work(const struct shard *shard) {
    assert(!children_of(shard) || shard->index == 0);
    return children_of(shard) && atomic_load(&child_records_of(shard->hub)->has_orders);
}

static void children_drain(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    if (shard->phase == HUB_CLOSING)
        children_close(shard);
}

static bool children_hold_phase(const struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    return shard->phase == HUB_CLOSING && !children_at_rest(shard);
}

static bool children_before_forward(struct shard *shard, const struct message *message,
                                    const struct agent *agent) {
    assert(agent->registrant);
    return child_mux_is(agent) &&
           (child_mux_refuses(shard, message, agent) || child_mux_lacks_tool(shard, message, agent));
}

static void children_notification(struct shard *shard, const struct message *message,
                                  const struct agent *agent, struct parcel *parcel) {
    assert(!message_is_request(message));
    if (agent && child_mux_is(agent))
        child_mux_note(shard, message, agent, parcel);
}

// Has children_request, and tool_call_began of features/mcp_calls, called for each request to a child.
static void children_before_request(struct shard *shard, const struct message *message,
                                    const struct agent *agent, bool *is_watched) {
    (void)shard;
    (void)message;
    *is_watched |= agent && agent->child;
}

static void children_request(struct shard *shard, const struct message *message, const struct agent *agent,
                             struct pending *pending, struct parcel *parcel) {
    assert(message_is_request(message) && pending->used);
    if (!agent || !child_mux_is(agent))
        return;
    child_mux_note(shard, message, agent, parcel);
    pending->aside = child_mux_is_modern(parcel);
    if (child_mux_method(parcel) == MCP_LISTEN)
        wheel_disarm(&pending->timer); // a subscription has no time limit
}

static void children_peer_freed(struct shard *shard, struct peer *peer) {
    struct child_peer *own = child_peer_of(peer);
    if (!own)
        return;
    for (struct pool_affinity *affinity; (affinity = own->affinities);) {
        own->affinities = affinity->next;
        quota_give(&shard->quota, affinity);
    }
    quota_give(&shard->quota, own->departure);
}

static const struct feature_method children_methods[] = {
    {.name = "hub/children", .answer = child_methods_list, .result_grows = true},
    {.name = "hub/childRestart", .answer = child_methods_restart},
    {.name = "hub/childStop", .answer = child_methods_stop},
    {.name = "hub/childLog", .answer = child_methods_log, .result_grows = true},
    {.name = NULL},
};

static const struct stats_row children_counters[CHILDREN_COUNTERS + 1] = {
    [CHILDREN_COUNT_STARTED] = {"children_started", "children_started_total", NULL,
                                "Times that a program was started.", STATS_AFTER(COUNT_JOURNAL_REOPENED)},
    [CHILDREN_COUNT_ENDED] =
        {"children_ended", "children_ended_total", NULL,
         "Times that a program ended, or could not be started, that the hub had not ended.",
         STATS_AFTER(COUNT_JOURNAL_REOPENED)},
    [CHILDREN_COUNT_FAILED] = {"children_failed", "children_failed_total", NULL,
                               "Those of them that were failures.", STATS_AFTER(COUNT_JOURNAL_REOPENED)},
};

static const struct stats_row children_gauges[CHILDREN_GAUGES + 1] = {
    [CHILDREN_GAUGE_RUNNING] = {"children_running", "children", "state=\"running\"",
                                "Programs that the hub keeps, by state.", STATS_AFTER(GAUGE_QUEUED_FRAMES)},
    [CHILDREN_GAUGE_DOWN] = {"children_down", "children", "state=\"down\"", NULL,
                             STATS_AFTER(GAUGE_QUEUED_FRAMES)},
    [CHILDREN_GAUGE_OTHER] = {"children_other", "children", "state=\"other\"", NULL,
                              STATS_AFTER(GAUGE_QUEUED_FRAMES)},
};

static const struct option children_options[] = {
    {"extension", OPTION_PARSED, OPTIONS_CHILDREN,
     OPTION_REPEATS | OPTION_ADDS | OPTION_RELOADS | OPTION_CHILD, 0, 0, 0, 0, NULL, "NAME=COMMAND", NULL,
     NULL,
     "run a Hermes extension as the agent NAME; repeatable; all sources' extensions run; a [child "
     "NAME] section of --config has more settings"},
    {.name = NULL},
};

const struct feature children_feature = {
    .name = "children",
    .options = children_options,
    .read_option = child_section_read_option,
    .counters = children_counters,
    .gauges = children_gauges,
    .stats_order = 5,
    .is_on = children_are_on,
    .hub_bytes = sizeof(struct child_records),
    .methods = children_methods,
    .choose = pool_affinity_agent,
    .close = children_end,
    .event = children_report,
    .turn = children_turn,
    .has_work = children_have_work,
    .reloaded = children_configure,
    .drain = children_drain,
    .holds_phase = children_hold_phase,
    .before_forward = children_before_forward,
    .peer_freed = children_peer_freed,
    .before_request = children_before_request,
    .request_began = children_request,
    .notification_forwarded = children_notification,
    .describe_agent = child_agent_describe,
    .cancel_ends = child_agent_cancel_ends,
    .put_cancel = child_agent_put_cancel,
    .has_tools = child_agent_has_tools,
    .opens_there = child_agent_opens_there,
    .notify_agent = child_agent_notify,
};
