// The audit journal's file: any shard hands in lines; shard 0 owns the file and appends the lines in groups.
//
// Entries that come while a group is being written form the next group. A group takes one gathering write and one
// fdatasync; more writes if the group is long or the kernel takes only a part. Then every entry goes back to the shard
// that made it, with the result.
//
// A group that can't be written or synced fails as a whole. The written part is cut off the file; if even that
// fails, the next group begins with a line feed, so that no line follows a torn line directly. The next group is tried
// as usual. Until a group succeeds the journal is failing: messages that must be in the journal first are refused. Each
// second an entry of kind "lost" tries whether there is room again, and tells how many entries failed. A file that was
// removed is made again.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/shard.h"

// One line of the journal, between its shard and the file.
struct journal_entry {
    struct mail mail;           // mail.connection: the connection that the line is about
    struct journal_entry *next; // a chain of entries is one piece of mail, that of the first entry
    uint32_t shard;             // the shard that made the entry
    int32_t fault;              // 0: the entry is on disk; else an errno
    uint32_t lost;              // entries that were lost before, whose number this entry records
    struct text line;
    // The request that is answered when the entry is on disk: its id, which the entry owns, or NULL; and its exchange,
    // or NULL.
    char *request_id;
    uint32_t request_id_bytes;
    struct exchange *exchange;
    struct observation *observation; // of that request, by a feature that observes it; or NULL
};

// Makes an entry about a connection, with an empty line. Returns NULL without memory.
struct journal_entry *journal_entry_create(const struct shard *shard, uint64_t connection);
void journal_entry_destroy(struct journal_entry *entry);

static inline bool journal_is_on(const struct shard *shard) {
    return shard->hub->start_settings.journal != NULL;
}
// Returns whether one more entry may be handed in: the bytes that wait are bounded in the whole hub. The outcome of a
// request that was let in is handed in even without room.
bool journal_has_room(const struct shard *shard);
// Returns whether the last group could not be written. Then messages that must be in the journal first must not be
// routed.
static inline bool journal_is_failing(const struct shard *shard) {
    return atomic_load_explicit(&shard->hub->journal_failing, memory_order_relaxed);
}
// Returns whether an entry of so many bytes could be written now: the last group was written, the file is there, and
// the system has reserved room. Otherwise shard 0 makes a removed file again, or marks the journal as failing.
bool journal_is_writable(struct shard *shard, size_t bytes);
// Hands in an entry of this shard. The entry comes back in shard->settled.
void journal_submit(struct shard *shard, struct journal_entry *entry);
// Sends the entries of this turn to shard 0. On shard 0, begins a group with all entries that have come. Called once a
// turn.
void journal_turn(struct shard *shard);
// Adds entries of this shard that have come back to shard->settled.
void journal_entry_returned(struct shard *shard, struct journal_entry *chain);

// --- Shard 0

// Opens the file that the hub's settings name. Returns 0 or -errno.
int journal_open(struct shard *shard);
// Closes the file. All entries must have gone back to their shards. Does nothing if no file is open.
void journal_close(struct shard *shard);
// Takes entries of another shard.
void journal_arrived(struct shard *shard, struct journal_entry *chain);
// Handles an IO_WRITTEN or IO_SYNCED event.
void journal_event(struct shard *shard, const struct io_event *event);
// Submits an entry that records lost entries, when the timer has gone off. The entry also tests whether the journal can
// be written again.
void journal_report_lost(struct shard *shard);
// Opens the file again by its name, since the file may have been renamed; waits for the group that is being written. If
// opening fails nothing is written until a later attempt succeeds: one each second, and one with each group.
void journal_reopen(struct shard *shard);

// Returns the text of an errno; static.
const char *journal_fault_text(int error);
