// The audit journal's file: lines that any shard hands in, appended to one file that shard 0 owns, in groups.
//
// Entries that come while a group is under way wait and are the next one: one gathering write (more where it
// is long or the kernel takes only a part) and one fdatasync a group. Then every entry goes home to the shard
// that made it, which learns whether it is on disk.
//
// A group that can't be written or synced fails as a whole. Its written part is cut off the file again, and
// where even that fails the next group begins with a line feed, so that no line is glued to a torn one. The
// next group is tried as if nothing had happened. Until one succeeds the journal fails: messages that must be
// in the journal first are refused. Each second an entry of kind "lost" tries whether there is room again,
// and tells how many entries failed. A file that was removed is made again.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/shard.h"

// One line on its way to the file and back.
struct journal_entry {
    struct mail mail;           // mail.connection: whose it is
    struct journal_entry *next; // a chain of them travels as one piece of mail, that of the first
    uint32_t shard;             // where it was made
    int32_t fault;              // 0: it is on disk; else why not, an errno
    uint32_t lost;              // entries that were lost before, and that this one tells of
    struct text line;
    // A request that waits for an answer: its id, memory of its own, or NULL, and its exchange, or NULL.
    char *request_id;
    uint32_t request_id_bytes;
    struct exchange *exchange;
};

// An entry about a connection, with an empty line, or NULL when memory is used up.
struct journal_entry *journal_entry_create(const struct shard *shard, uint64_t connection);
void journal_entry_destroy(struct journal_entry *entry);

static inline bool journal_is_on(const struct shard *shard) {
    return shard->hub->settings.journal != NULL;
}
// Whether one more entry may be handed in: what waits is bounded in the whole hub. An entry that can't be
// refused (how something ended that was let in) is handed in all the same.
bool journal_has_room(const struct shard *shard);
// Returns whether the last group could not be written. Messages that must be on record first must not be
// routed then.
static inline bool journal_is_failing(const struct shard *shard) {
    return atomic_load_explicit(&shard->hub->journal_failing, memory_order_relaxed);
}
// Returns whether an entry of so many bytes could be written now, as far as the system knows: the last group was, the file
// is there, and room for it was set aside. If not, the journal fails from now on.
bool journal_is_writable(struct shard *shard, size_t bytes);
// Hands in an entry of this shard's. The entry comes back in shard->settled.
void journal_submit(struct shard *shard, struct journal_entry *entry);
// Once a turn: sends on what was handed in, and on shard 0 begins a group with all that has come.
void journal_turn(struct shard *shard);
// Entries of this shard's came home: they are added to shard->settled.
void journal_entry_returned(struct shard *shard, struct journal_entry *chain);

// --- Shard 0

// Opens the file that the hub's settings name. 0 or -errno.
int journal_open(struct shard *shard);
// Closes it, when every entry has gone home. Nothing happens where none is open.
void journal_close(struct shard *shard);
// Entries came from another shard.
void journal_arrived(struct shard *shard, struct journal_entry *chain);
// An IO_WRITTEN or IO_SYNCED event came.
void journal_event(struct shard *shard, const struct io_event *event);
// The timer went off: an entry tells of those that failed, which finds out, too, whether the journal can be written again.
void journal_report_lost(struct shard *shard);
// Opens the file anew by its name, after the group that is under way: it may have been renamed. If that fails nothing is
// written any more: each second, and with each group, it is tried again.
void journal_reopen(struct shard *shard);

// Returns the text of an errno; static.
const char *journal_fault_text(int error);
