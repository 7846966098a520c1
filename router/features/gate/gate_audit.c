#include "router/features/gate/gate_audit.h"

#include <assert.h>
#include <string.h>

#include "core/requests/journal_line.h"
#include "router/audit/audit.h"
#include "router/features/gate/gate_json.h"

static void put_step(struct text *line, const struct shard *shard, const struct held_message *held,
                     const char *step) {
    journal_line_string(line, "step", step, strlen(step));
    journal_line_name(line, "checkpoint");
    gate_json_put_checkpoint(line, shard, &held->checkpoint);
}

static void put_string(struct text *line, const struct held_message *held, const char *name,
                       struct span string) {
    char decoded[METHOD_BYTES_MAX];
    size_t bytes;
    const char *text = gate_json_string(held, string, decoded, &bytes);
    journal_line_string(line, name, text, bytes);
}

static void put_ruling(struct text *line, const struct ruling *ruling) {
    journal_line_string(line, "approver", ruling->approver, ruling->approver_bytes);
    journal_line_string(line, "feedback", ruling->feedback, ruling->feedback_bytes);
}

// Begins a line with the source and target of a held message. All lines of one message have the same source and target:
// its connection may have left, or may have no user now.
static void open_line(struct shard *shard, struct journal_entry *entry, const struct held_message *held) {
    char decoded[METHOD_BYTES_MAX];
    size_t bytes;
    const char *target = gate_json_target(held, decoded, &bytes);
    journal_line_begin(&entry->line, io_wall_ms(shard->io), "gate");
    audit_put_user(shard, &entry->line, held->source, held->user);
    journal_line_string(&entry->line, "target", target, bytes);
}

bool gate_audit_held(struct shard *shard, const struct held_message *held) {
    if (!journal_is_on(shard))
        return true;
    bool may_enter = journal_has_room(shard) && journal_is_writable(shard, METHOD_BYTES_MAX);
    struct journal_entry *entry = may_enter ? journal_entry_create(shard, held->source) : NULL;
    if (!entry)
        return false;
    assert(!held->is_released);
    const char *level = governance_text(held->governance);
    open_line(shard, entry, held);
    put_step(&entry->line, shard, held, "held");
    put_string(&entry->line, held, "method", held->method);
    journal_line_string(&entry->line, "governanceLevel", level, strlen(level));
    journal_line_number(&entry->line, "bytes", held->frame.body.bytes);
    journal_line_number(&entry->line, "until", (int64_t)held->until_ms);
    entry = audit_finish(entry);
    if (entry)
        journal_submit(shard, entry);
    return entry != NULL;
}

// Makes an entry. Returns NULL without a journal, and without memory, which is counted as a refused entry.
static struct journal_entry *begin(struct shard *shard, uint64_t connection) {
    if (!journal_is_on(shard))
        return NULL;
    struct journal_entry *entry = journal_entry_create(shard, connection);
    if (!entry)
        audit_submit(shard, NULL);
    return entry;
}

void gate_audit_step(struct shard *shard, const struct held_message *held, const char *step,
                     const struct ruling *ruling, enum error error) {
    struct journal_entry *entry = begin(shard, held->source);
    assert(error < ERRORS_COUNT);
    if (!entry)
        return;
    open_line(shard, entry, held);
    put_step(&entry->line, shard, held, step);
    if (ruling)
        put_ruling(&entry->line, ruling);
    if (error)
        journal_line_number(&entry->line, "code", error_code(error));
    audit_submit(shard, audit_finish(entry));
}

void gate_audit_decision(struct shard *shard, struct approver decider,
                         const struct gate_audit_entry *record) {
    struct journal_entry *entry = begin(shard, decider.connection);
    assert(record->error < ERRORS_COUNT);
    if (!entry)
        return;
    journal_line_begin(&entry->line, io_wall_ms(shard->io), "approval");
    audit_put_user(shard, &entry->line, decider.connection, decider.user);
    journal_line_string(&entry->line, "target", record->target, record->target_bytes);
    journal_line_string(&entry->line, "checkpoint", record->checkpoint, record->checkpoint_bytes);
    journal_line_string(&entry->line, "decision", record->decision, strlen(record->decision));
    put_ruling(&entry->line, record->ruling);
    journal_line_string(&entry->line, "outcome", record->outcome, strlen(record->outcome));
    if (record->error)
        journal_line_number(&entry->line, "code", error_code(record->error));
    audit_submit(shard, audit_finish(entry));
}
