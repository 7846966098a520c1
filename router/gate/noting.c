#include "router/gate/noting.h"

#include <assert.h>
#include <string.h>

#include "core/requests/journal_line.h"
#include "router/gate/showing.h"

static void put_step(struct text *line, const struct held *held, const char *step) {
    journal_line_string(line, "step", step, strlen(step));
    journal_line_name(line, "checkpoint");
    showing_put_checkpoint(line, &held->checkpoint);
}

static void put_string(struct text *line, const struct held *held, const char *name, struct span string) {
    char decoded[METHOD_BYTES_MAX];
    size_t bytes;
    const char *text = showing_string(held, string, decoded, &bytes);
    journal_line_string(line, name, text, bytes);
}

static void put_ruling(struct text *line, const struct ruling *ruling) {
    journal_line_string(line, "approver", ruling->approver, ruling->approver_bytes);
    journal_line_string(line, "feedback", ruling->feedback, ruling->feedback_bytes);
}

bool noting_held(struct shard *shard, const struct message *message, const struct agent *agent,
                 const struct held *held) {
    if (!journal_is_on(shard))
        return true;
    struct entry *entry = journal_has_room(shard) ? audit_entry(shard, message, "gate", agent) : NULL;
    if (!entry)
        return false;
    assert(held->source == message->peer->name && !held->is_released);
    const char *level = governance_text(held->governance);
    put_step(&entry->line, held, "held");
    put_string(&entry->line, held, "method", held->method);
    journal_line_string(&entry->line, "governanceLevel", level, strlen(level));
    journal_line_number(&entry->line, "bytes", held->frame.body.bytes);
    journal_line_number(&entry->line, "until", (int64_t)held->until_ms);
    entry = audit_finish(entry);
    if (entry)
        journal_submit(shard, entry);
    return entry != NULL;
}

// NULL where no journal is kept, or, which is counted, memory is used up.
static struct entry *begin(struct shard *shard, uint64_t connection, const char *kind) {
    if (!journal_is_on(shard))
        return NULL;
    struct entry *entry = entry_create(shard, connection);
    if (!entry) {
        audit_submit(shard, NULL);
        return NULL;
    }
    journal_line_begin(&entry->line, io_wall_ms(shard->io), kind);
    audit_put_source(shard, &entry->line, connection);
    return entry;
}

void noting_step(struct shard *shard, const struct held *held, const char *step, const struct ruling *ruling,
                 enum error error) {
    struct entry *entry = begin(shard, held->source, "gate");
    assert(error < ERRORS_COUNT);
    if (!entry)
        return;
    put_string(&entry->line, held, "target", held->target);
    put_step(&entry->line, held, step);
    if (ruling)
        put_ruling(&entry->line, ruling);
    if (error)
        journal_line_number(&entry->line, "code", error_code(error));
    audit_submit(shard, audit_finish(entry));
}

void noting_decision(struct shard *shard, uint64_t connection, const char *checkpoint,
                     size_t checkpoint_bytes, const char *decision, const struct ruling *ruling,
                     const char *outcome, enum error error) {
    struct entry *entry = begin(shard, connection, "approval");
    assert(error < ERRORS_COUNT);
    if (!entry)
        return;
    journal_line_string(&entry->line, "target", NULL, 0);
    journal_line_string(&entry->line, "checkpoint", checkpoint, checkpoint_bytes);
    journal_line_string(&entry->line, "decision", decision, strlen(decision));
    put_ruling(&entry->line, ruling);
    journal_line_string(&entry->line, "outcome", outcome, strlen(outcome));
    if (error)
        journal_line_number(&entry->line, "code", error_code(error));
    audit_submit(shard, audit_finish(entry));
}
