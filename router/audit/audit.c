#include "router/audit/audit.h"

#include <assert.h>
#include <string.h>

#include "core/lookup/schema.h"
#include "core/requests/journal_line.h"
#include "core/rights/users.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"

// --- Lines

// Returns whether the message goes to another hub to find the approver that it names. Agents that are approvers by
// their method get the message only after that search has failed.
static bool seeks_approver(const struct message *message, const struct agent *agent) {
    return !agent && message->audit == MESSAGE_APPROVAL && !(message->retry && message->retry->first_over) &&
           lookup_has(&message->lookup, KEY_APPROVER);
}

// Puts the agent; or, if no agent was found, the agent that the message names.
static void put_target(struct text *line, const struct message *message, const struct agent *agent) {
    bool by_approver = !message_has_target(message) && seeks_approver(message, agent);
    struct span named = message->lookup.value[by_approver ? KEY_APPROVER : KEY_TARGET_AGENT];
    const struct attachment *attachment = message_attachment(message);
    if (agent)
        journal_line_string(line, "target", agent->id, agent->id_bytes);
    else if ((by_approver || lookup_has(&message->lookup, KEY_TARGET_AGENT)) &&
             json_string_valid(message->body, named))
        journal_line_json(line, "target", message->body + named.at, named.bytes);
    else if (attachment)
        journal_line_string(line, "target", attachment->agent, attachment->bytes);
    else
        journal_line_string(line, "target", NULL, 0);
}

void audit_put_entry(struct text *line, const struct message *message) {
    struct span params = message->lookup.value[KEY_PARAMS];
    if (lookup_has(&message->lookup, KEY_PARAMS))
        journal_line_json(line, "entry", message->body + params.at, params.bytes);
    else
        journal_line_string(line, "entry", NULL, 0);
}

static void put_outcome(struct text *line, const char *outcome, enum error error) {
    assert(error < ERRORS_COUNT);
    journal_line_string(line, "outcome", outcome, strlen(outcome));
    if (error)
        journal_line_number(line, "code", error_code(error));
}

// Adds the members of the error data that the source gets. `data` is a JSON object that isn't closed yet.
static void put_members(struct text *line, const struct text *data) {
    assert(data->failed || data->bytes[0] == '{');
    text_put(line, ",");
    if (data->failed)
        line->failed = true;
    else
        text_add(line, data->bytes + 1, data->length - 1);
}

struct journal_entry *audit_entry(struct shard *shard, const struct message *message, const char *kind,
                                  const struct agent *agent) {
    assert(journal_is_on(shard));
    struct journal_entry *entry = journal_entry_create(shard, message->peer->connection_id);
    if (!entry)
        return NULL;
    journal_line_begin(&entry->line, io_wall_ms(shard->io), kind);
    audit_put_source(shard, &entry->line, message);
    put_target(&entry->line, message, agent);
    return entry;
}

struct journal_entry *audit_finish(struct journal_entry *entry) {
    assert(!entry->next && journal_line_is_open(&entry->line));
    journal_line_end(&entry->line);
    if (!entry->line.failed)
        return entry;
    journal_entry_destroy(entry);
    return NULL;
}

void audit_submit(struct shard *shard, struct journal_entry *entry) {
    if (entry && journal_has_room(shard)) {
        journal_submit(shard, entry);
        return;
    }
    if (entry)
        journal_entry_destroy(entry);
    stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
}

// --- governance/approval

enum { OUTCOME_BYTES_MAX = 128 };

// Makes the line of a request's outcome in advance, so that every outcome is recorded. The line has room for what is
// added later. Returns NULL without memory.
static struct mail *outcome_entry(struct shard *shard, const struct message *message,
                                  const struct agent *agent, uint64_t hub_id) {
    assert(hub_id_shard(hub_id) == shard->index);
    struct journal_entry *entry = audit_entry(shard, message, "outcome", agent);
    if (!entry)
        return NULL;
    journal_line_number(&entry->line, "request", (int64_t)hub_id);
    text_reserve(&entry->line, OUTCOME_BYTES_MAX);
    if (!entry->line.failed)
        return &entry->mail;
    journal_entry_destroy(entry);
    return NULL;
}

// Makes a new outcome line for a request that is sent again. Replaces the former line if there is memory. The new line
// names the new target, as far as the target is known.
static struct mail *outcome_again(struct shard *shard, const struct message *message,
                                  const struct agent *agent) {
    struct mail **previous = message->retry->outcome;
    assert(previous && *previous);
    struct mail *outcome = outcome_entry(shard, message, agent, message->retry->hub_id);
    if (outcome)
        journal_entry_destroy(list_entry(*previous, struct journal_entry, mail));
    else
        outcome = *previous;
    *previous = NULL;
    return outcome;
}

static struct journal_entry *approval_entry(struct shard *shard, const struct message *message,
                                            const struct agent *agent, uint64_t hub_id) {
    struct journal_entry *entry = audit_entry(shard, message, "approval", agent);
    if (!entry)
        return NULL;
    if (hub_id)
        journal_line_number(&entry->line, "request", (int64_t)hub_id);
    else
        put_outcome(&entry->line, "forwarded", ERROR_NONE);
    audit_put_entry(&entry->line, message);
    return audit_finish(entry);
}

bool audit_approval(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct pending *pending) {
    bool has_gone = !pending && message->retry; // its line is in the journal already
    if (message->audit != MESSAGE_APPROVAL || has_gone)
        return true;
    assert(!pending || !pending->outcome);
    if (pending && message->retry && message->retry->outcome) {
        pending_mark_rare(pending);
        pending->outcome = outcome_again(shard, message, agent);
        return true;
    }
    uint64_t hub_id = pending ? pending_hub_id(&shard->pending, pending) : 0;
    struct mail *outcome = pending ? outcome_entry(shard, message, agent, hub_id) : NULL;
    struct journal_entry *entry = approval_entry(shard, message, agent, hub_id);
    if (!entry || (pending && !outcome)) {
        if (entry)
            journal_entry_destroy(entry);
        if (outcome)
            journal_entry_destroy(list_entry(outcome, struct journal_entry, mail));
        stats_count(&shard->stats, COUNT_JOURNAL_REFUSED);
        return false;
    }
    journal_submit(shard, entry);
    if (pending) {
        pending_mark_rare(pending);
        pending->outcome = outcome;
    }
    return true;
}

// Takes the outcome line of a request and sets its time. Returns NULL if there is no such line.
static struct journal_entry *take_outcome(struct shard *shard, struct mail **outcome) {
    if (!*outcome)
        return NULL;
    struct journal_entry *entry = list_entry(*outcome, struct journal_entry, mail);
    *outcome = NULL;
    assert(entry->shard == shard->index && journal_line_is_open(&entry->line));
    journal_line_stamp(&entry->line, io_wall_ms(shard->io));
    return entry;
}

static void submit_outcome(struct shard *shard, struct journal_entry *entry) {
    assert(journal_line_is_open(&entry->line));
    journal_line_end(&entry->line);
    journal_submit(shard, entry);
}

// Returns why an answer can't be written, or NULL. An answer must not make the line fail, nor exceed the bound of
// waiting entries.
static const char *fault_of(const struct shard *shard, struct journal_entry *entry,
                            const struct parcel *answer, struct span *value) {
    assert(answer->buffer && answer->body.at + answer->body.bytes <= answer->buffer->capacity);
    const uint8_t *body = answer->buffer->bytes + answer->body.at;
    struct lookup lookup;
    lookup_body_strict(&lookup, body, answer->body.bytes, shard_limits(shard)->id_bytes_max);
    if (lookup.verdict != LOOKUP_GOOD || !schema_outcome_fits(body, &lookup))
        return "not what strict validation lets pass";
    *value = lookup.value[lookup_has(&lookup, KEY_ERROR) ? KEY_ERROR : KEY_RESULT];
    if (value->bytes > JOURNAL_ANSWER_BYTES_MAX)
        return "too large";
    if (!journal_has_room(shard))
        return "the journal's queue is full";
    return text_try_reserve(&entry->line, value->bytes + OUTCOME_BYTES_MAX) ? NULL : "memory is used up";
}

void audit_answered(struct shard *shard, struct pending *pending, const struct parcel *parcel) {
    struct journal_entry *entry = take_outcome(shard, &pending->outcome);
    if (!entry)
        return;
    assert(parcel->hole_count == 0);
    const char *name = parcel->mail.detail & ANSWER_ERROR ? "error" : "result";
    struct span value;
    const char *fault = fault_of(shard, entry, parcel, &value);
    put_outcome(&entry->line, name, ERROR_NONE);
    if (!fault) {
        journal_line_json(&entry->line, name, parcel->buffer->bytes + parcel->body.at + value.at,
                          value.bytes);
    } else {
        journal_line_string(&entry->line, "fault", fault, strlen(fault));
        journal_line_number(&entry->line, "bytes", parcel->body.bytes);
    }
    submit_outcome(shard, entry);
}

static void end_outcome(struct shard *shard, struct mail **outcome, enum error error) {
    struct journal_entry *entry = take_outcome(shard, outcome);
    if (!entry)
        return;
    put_outcome(&entry->line, error ? "failed" : "source left", error);
    submit_outcome(shard, entry);
}

void audit_ended(struct shard *shard, struct pending *pending, enum error error) {
    assert(pending->used && error < ERRORS_COUNT);
    end_outcome(shard, &pending->outcome, error);
}

void audit_source_gone(struct shard *shard, struct mail **outcome) {
    end_outcome(shard, outcome, ERROR_NONE);
}

// --- Refusals

void audit_refused(struct shard *shard, const struct message *message, enum error error) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    if (message->audit != MESSAGE_APPROVAL)
        return;
    if (message->retry && message->retry->outcome) {
        end_outcome(shard, message->retry->outcome, error);
        return;
    }
    struct journal_entry *entry = audit_entry(shard, message, "approval", NULL);
    if (entry) {
        put_outcome(&entry->line, "refused", error);
        audit_put_entry(&entry->line, message);
        entry = audit_finish(entry);
    }
    audit_submit(shard, entry);
}

// Records how many refusals of a user had no line of their own.
static void report_count(struct shard *shard, const struct user *user, uint32_t count) {
    struct journal_entry *entry = journal_entry_create(shard, 0);
    if (entry) {
        journal_line_begin(&entry->line, io_wall_ms(shard->io), "refusals");
        journal_line_name(&entry->line, "source");
        text_put(&entry->line, "{\"user\":");
        if (user)
            text_string(&entry->line, user->name, strlen(user->name));
        text_put(&entry->line, user ? "}" : "null}");
        journal_line_number(&entry->line, "count", count);
        entry = audit_finish(entry);
    }
    audit_submit(shard, entry);
}

static void arm_refusals(struct shard *shard) {
    enum { PAUSE_MS = 1000 };
    assert(shard->settings->users && journal_is_on(shard));
    if (!timer_armed(&shard->refusals_timer))
        wheel_arm(&shard->wheel, &shard->refusals_timer, shard_now_ms(shard) + PAUSE_MS);
}

// With a users file, ten refusals a second of each user have lines of their own. The others share one line, which is
// written with the next refusal or by this shard's timer.
bool audit_may_report(struct shard *shard, const struct user *user) {
    uint32_t unreported = 0;
    if (!shard->settings->users)
        return true;
    struct account *account = user ? user->account : shard->hub->strangers;
    bool may_report = account_refuse(account, io_now(shard->io), &unreported);
    if (unreported)
        report_count(shard, user, unreported);
    if (!may_report)
        arm_refusals(shard);
    return may_report;
}

bool audit_reports(const struct shard *shard, const struct user *user) {
    const struct account *account = user ? user->account : shard->hub->strangers;
    return !shard->settings->users || account_reports(account, io_now(shard->io));
}

// Reports the count of an account, or arms the timer once more for refusals of the present second.
static void report_account(struct shard *shard, const struct user *user, struct account *account) {
    assert(account == (user ? user->account : shard->hub->strangers));
    uint32_t count = account_suppressed(account, io_now(shard->io));
    if (count)
        report_count(shard, user, count);
    else if (account_suppresses(account))
        arm_refusals(shard);
}

void audit_report_suppressed(struct shard *shard) {
    const struct users *users = shard->settings->users;
    assert(users && journal_is_on(shard));
    report_account(shard, NULL, shard->hub->strangers);
    for (uint32_t index = 0; index < users_count(users); index++)
        report_account(shard, users_at(users, index), users_at(users, index)->account);
    for (uint32_t index = 0; index < users->gone_count; index++)
        report_account(shard, users->gone[index].user, users->gone[index].user->account);
}

void audit_refusal(struct shard *shard, const struct message *message, enum error error,
                   const struct agent *agent, const struct text *data) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT && data);
    if (!journal_is_on(shard) || !audit_may_report(shard, identity_user(message->peer)))
        return;
    struct journal_entry *entry = audit_entry(shard, message, "refusal", agent);
    if (entry) {
        journal_line_string(&entry->line, "method", message->method_long ? NULL : message->method,
                            message->method_bytes);
        journal_line_number(&entry->line, "code", error_code(error));
        put_members(&entry->line, data);
        entry = audit_finish(entry);
    }
    audit_submit(shard, entry);
}

void audit_refused_request(struct shard *shard, const struct peer *peer, const char *path, enum rule rule) {
    const struct user *user = identity_user(peer);
    stats_count(&shard->stats, (enum counter)(COUNT_REFUSED_REGISTER + rule));
    if (!journal_is_on(shard) || !audit_may_report(shard, user))
        return;
    struct journal_entry *entry = journal_entry_create(shard, peer->connection_id);
    if (entry) {
        journal_line_begin(&entry->line, io_wall_ms(shard->io), "refusal");
        audit_put_peer(shard, &entry->line, peer);
        journal_line_string(&entry->line, "target", NULL, 0);
        journal_line_string(&entry->line, "method", path, path ? strlen(path) : 0);
        journal_line_number(&entry->line, "code", error_code(ERROR_NOT_ALLOWED));
        journal_line_string(&entry->line, "rule", rule_text(rule), strlen(rule_text(rule)));
        entry = audit_finish(entry);
    }
    audit_submit(shard, entry);
}

void audit_refused_unrouted(struct shard *shard, const struct unrouted_request *request, enum error error,
                            const struct text *data) {
    if (!journal_is_on(shard) || !audit_may_report(shard, request->user))
        return;
    struct journal_entry *entry = journal_entry_create(shard, request->source);
    if (entry) {
        journal_line_begin(&entry->line, io_wall_ms(shard->io), "refusal");
        audit_put_user(shard, &entry->line, request->source, request->user);
        journal_line_string(
            &entry->line, "target", request->target_bytes ? request->target : NULL,
            json_cut_at_character(request->target, request->target_bytes, AGENT_ID_BYTES_MAX));
        journal_line_string(&entry->line, "method", request->method_bytes ? request->method : NULL,
                            request->method_bytes);
        journal_line_number(&entry->line, "code", error_code(error));
        put_members(&entry->line, data);
        entry = audit_finish(entry);
    }
    audit_submit(shard, entry);
}

// --- The source

static void put_agents(struct shard *shard, struct text *line, uint64_t connection) {
    const struct registrant *registrant = agents_registrant(&shard->agents, connection);
    for (struct list *node = registrant ? registrant->agents.next : NULL;
         registrant && node != &registrant->agents; node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_registrant);
        text_put(line, node == registrant->agents.next ? "" : ",");
        text_string(line, agent->id, agent->id_bytes);
    }
}

// Writes the agent and the hub of a remote source.
static void put_remote(struct text *line, const struct origin *origin) {
    if (origin->agent_bytes)
        text_string(line, origin->agent, origin->agent_bytes);
    text_put(line, "]");
    if (origin->hub.bytes) {
        text_put(line, ",\"hub\":");
        text_string(line, origin->hub.text, origin->hub.bytes);
    }
}

// Writes the member `source` of a line, with the user. `origin` is NULL unless the message came from another hub.
static void write_source(struct shard *shard, struct text *line, uint64_t connection, const struct user *user,
                         const struct origin *origin) {
    char name[HUB_SESSION_BYTES];
    assert(connection);
    hub_session(shard->hub, connection, name);
    journal_line_name(line, "source");
    text_put(line, "{\"connection\":");
    text_string(line, name, sizeof name);
    if (user) {
        text_put(line, ",\"user\":");
        text_string(line, user->name, strlen(user->name));
    }
    text_put(line, ",\"agents\":[");
    if (origin) {
        put_remote(line, origin);
    } else {
        put_agents(shard, line, connection);
        text_put(line, "]");
    }
    text_put(line, "}");
}

void audit_put_user(struct shard *shard, struct text *line, uint64_t connection, const struct user *user) {
    write_source(shard, line, connection, user, NULL);
}

void audit_put_peer(struct shard *shard, struct text *line, const struct peer *peer) {
    write_source(shard, line, peer->connection_id, identity_user(peer), NULL);
}

void audit_put_source(struct shard *shard, struct text *line, const struct message *message) {
    write_source(shard, line, message->peer->connection_id, identity_user(message->peer), message->origin);
}
