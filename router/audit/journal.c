#include "router/audit/journal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/requests/journal_line.h"
#include "io/log.h"
#include "router/engine/shard/post.h"

enum {
    LOST_PAUSE_MS = 1000,
    RESERVE_BYTES = 4096, // what an entry needs besides its message
};

struct journal {
    struct io_file file; // bytes: the file's length without the current group
    uint32_t lost;       // failed entries that no line has recorded yet
    bool reopen;         // open the file again after the current group
    // The errno for which the file couldn't be opened again by its name; 0: `file` is the file of that name
    int stale;
    int told; // the last errno that was logged; 0: none since the journal could be written
    struct journal_entry *waiting, **waiting_last;
    struct journal_entry *group; // being written
    struct journal_entry *at;    // the first entry of the group that isn't written wholly, or NULL
    size_t offset;               // bytes of `at` that are written
    uint64_t written;            // bytes of the group that are written
    bool break_due;              // the next group begins with a line feed
    struct iovec vectors[JOURNAL_VECTORS_MAX];
};

// --- Entries

struct journal_entry *journal_entry_create(const struct shard *shard, uint64_t connection) {
    struct journal_entry *entry = memory_take_zeroed(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->mail.connection = connection;
    entry->shard = shard->index;
    text_init(&entry->line);
    return entry;
}

void journal_entry_destroy(struct journal_entry *entry) {
    text_deinit(&entry->line);
    memory_give(entry->request_id);
    memory_give(entry);
}

static uint64_t journal_footprint(const struct journal_entry *entry) {
    return sizeof *entry + entry->line.length;
}

bool journal_has_room(const struct shard *shard) {
    assert(journal_is_on(shard));
    return atomic_load_explicit(&shard->hub->journal_bytes, memory_order_relaxed) <
           shard_limits(shard)->journal_bytes_max;
}

void journal_submit(struct shard *shard, struct journal_entry *entry) {
    assert(journal_is_on(shard) && entry->shard == shard->index && !*shard->entries_last);
    assert(!entry->line.failed && !journal_line_is_open(&entry->line));
    atomic_fetch_add_explicit(&shard->hub->journal_bytes, journal_footprint(entry), memory_order_relaxed);
    shard->entries_out++;
    entry->next = NULL;
    *shard->entries_last = entry;
    shard->entries_last = &entry->next;
}

void journal_entry_returned(struct shard *shard, struct journal_entry *chain) {
    assert(chain->shard == shard->index && shard->entries_out > 0);
    struct journal_entry **last = &shard->settled;
    while (*last)
        last = &(*last)->next;
    *last = chain;
}

// Sends a chain of entries back to its shard. A chain is one piece of mail, so that thousands of entries don't delay
// other mail.
static void journal_return(struct shard *shard, struct journal_entry *chain) {
    assert(shard->index == 0 && chain->shard < shard->hub->start_settings.shard_count);
    if (chain->shard == shard->index) {
        journal_entry_returned(shard, chain);
        return;
    }
    chain->mail.kind = MAIL_ENTRIES_SETTLED;
    mailbox_post(hub_mailbox(shard->hub, shard->index, chain->shard), &chain->mail);
}

// --- Opening

int journal_open(struct shard *shard) {
    assert(shard->index == 0 && !shard->journal && journal_is_on(shard));
    struct journal *journal = memory_take_zeroed(1, sizeof *journal);
    if (!journal)
        return -ENOMEM;
    journal->waiting_last = &journal->waiting;
    int failed = io_file_open(shard->io, shard->hub->start_settings.journal, &journal->file);
    if (failed) {
        memory_give(journal);
        return failed;
    }
    shard->journal = journal;
    atomic_store_explicit(&shard->hub->journal_file, journal->file.number, memory_order_relaxed);
    return 0;
}

void journal_close(struct shard *shard) {
    struct journal *journal = shard->journal;
    if (!journal)
        return;
    assert(!journal->group && !journal->waiting);
    io_file_close(shard->io, &journal->file);
    memory_give(journal);
    shard->journal = NULL;
}

const char *journal_fault_text(int error) {
    assert(error > 0);
    const char *text = strerrordesc_np(error);
    return text ? text : "the journal could not be written";
}

static void journal_log_fault(const struct shard *shard, const char *cause, int error) {
    log_write(LOG_JOURNAL_FAILED, LOG_NO_FIELDS, "the journal %s %s: %s", shard->hub->start_settings.journal,
              cause, journal_fault_text(error));
}

// Arms the timer that tries a failing journal again. A hub that drains doesn't arm the timer: it reports lost entries
// in its log.
static void arm_lost(struct shard *shard) {
    bool is_due = shard->journal->lost > 0 || journal_is_failing(shard);
    if (is_due && shard->phase == HUB_SERVING && !timer_armed(&shard->journal_timer))
        wheel_arm(&shard->wheel, &shard->journal_timer, shard_now_ms(shard) + LOST_PAUSE_MS);
}

// Sets whether the journal is failing, and logs when the journal can be written again.
static void set_failing(struct shard *shard, bool failing) {
    if (!failing && atomic_load_explicit(&shard->hub->journal_failing, memory_order_relaxed))
        log_write(LOG_JOURNAL_RESTORED, LOG_NO_FIELDS, "the journal %s can be written again",
                  shard->hub->start_settings.journal);
    shard->journal->told = failing ? shard->journal->told : 0;
    atomic_store_explicit(&shard->hub->journal_failing, failing, memory_order_relaxed);
    arm_lost(shard);
}

// Marks the journal as failing. Logs the first failure, and each change of the reason.
static void begin_failing(struct shard *shard, const char *cause, int error) {
    assert(error > 0);
    if (error != shard->journal->told)
        journal_log_fault(shard, cause, error);
    shard->journal->told = error;
    set_failing(shard, true);
}

// Opens the file again by its name, and replaces the open file. Returns false if that fails.
static bool reopen_file(struct shard *shard, struct journal *journal) {
    assert(!journal->at); // a group is written to one file
    struct io_file fresh;
    journal->reopen = false;
    int failed = io_file_open(shard->io, shard->hub->start_settings.journal, &fresh);
    if (!failed) // other shards use the file's number meanwhile (journal_is_writable)
        failed = io_file_replace(shard->io, &journal->file, &fresh);
    if (failed) {
        stats_count(&shard->stats, COUNT_JOURNAL_REOPEN_FAILED);
        begin_failing(shard, "can't be opened again", -failed);
        journal->stale = -failed;
        return false;
    }
    atomic_store_explicit(&shard->hub->journal_file, journal->file.number, memory_order_relaxed);
    stats_count(&shard->stats, COUNT_JOURNAL_REOPENED);
    if (journal->stale && !journal->lost)
        set_failing(shard, false);
    journal->stale = 0;
    return true;
}

// Opens the file again if it was removed or `stale` is set. Returns 0, or an errno.
static int journal_look(struct shard *shard, struct journal *journal) {
    if (!journal->stale && io_file_reserve(shard->io, &journal->file, 0) != -ENOENT)
        return 0;
    return reopen_file(shard, journal) ? 0 : journal->stale;
}

bool journal_is_writable(struct shard *shard, size_t bytes) {
    struct hub *hub = shard->hub;
    assert(journal_is_on(shard));
    if (journal_is_failing(shard))
        return false;
    uint64_t room = RESERVE_BYTES + bytes + atomic_load_explicit(&hub->journal_bytes, memory_order_relaxed);
    struct io_file file = {.number = atomic_load_explicit(&hub->journal_file, memory_order_relaxed)};
    int result = io_file_reserve(shard->io, &file, room);
    if (result == 0 || result == -EBADF) // -EBADF: the file was opened again just now
        return true;
    atomic_store_explicit(&hub->journal_doubt, -result, memory_order_relaxed);
    shard_wake_others(shard);
    return false;
}

// Takes up a failed journal_is_writable of any shard.
static void take_doubt(struct shard *shard, struct journal *journal) {
    int error = atomic_exchange_explicit(&shard->hub->journal_doubt, 0, memory_order_relaxed);
    if (error && !(error == ENOENT && !journal->group && journal_look(shard, journal) == 0))
        begin_failing(shard, "can't be written", error);
}

void journal_reopen(struct shard *shard) {
    struct journal *journal = shard->journal;
    if (!journal)
        return;
    // The operator has asked for the file, so the next fault is logged even if it was logged before
    journal->told = 0;
    if (journal->group)
        journal->reopen = true;
    else
        reopen_file(shard, journal);
}

// --- The end of a group

static void journal_settle(struct shard *shard, struct journal_entry *entry, int error) {
    assert(error >= 0 && atomic_load(&shard->hub->journal_bytes) >= journal_footprint(entry));
    entry->fault = error;
    atomic_fetch_sub_explicit(&shard->hub->journal_bytes, journal_footprint(entry), memory_order_relaxed);
    stats_count(&shard->stats, error ? COUNT_JOURNAL_FAILED : COUNT_JOURNAL_ENTRIES);
    if (error)
        shard->journal->lost += entry->lost ? entry->lost : 1;
}

void journal_report_lost(struct shard *shard) {
    struct journal *journal = shard->journal;
    assert(shard->index == 0 && journal);
    if (shard->phase != HUB_SERVING)
        return;
    if (!journal->group && journal_look(shard, journal) == 0 && !journal->lost &&
        io_file_reserve(shard->io, &journal->file, RESERVE_BYTES) == 0)
        set_failing(shard, false);
    if (journal->lost == 0 || journal->stale) {
        arm_lost(shard);
        return;
    }
    struct journal_entry *entry = journal_has_room(shard) ? journal_entry_create(shard, 0) : NULL;
    if (entry) {
        journal_line_begin(&entry->line, io_wall_ms(shard->io), "lost");
        journal_line_string(&entry->line, "source", NULL, 0);
        journal_line_string(&entry->line, "target", NULL, 0);
        journal_line_number(&entry->line, "count", journal->lost);
        journal_line_end(&entry->line);
    }
    if (!entry || entry->line.failed) {
        if (entry)
            journal_entry_destroy(entry);
        arm_lost(shard);
        return;
    }
    entry->lost = journal->lost;
    journal->lost = 0;
    journal_submit(shard, entry);
}

static void end_group(struct shard *shard, struct journal *journal, int error) {
    assert(journal->group);
    struct journal_entry *lists[SHARDS_MAX] = {0}, **ends[SHARDS_MAX];
    for (struct journal_entry *entry = journal->group, *next; entry; entry = next) {
        next = entry->next;
        assert(entry->shard < shard->hub->start_settings.shard_count);
        journal_settle(shard, entry, error);
        if (!lists[entry->shard])
            ends[entry->shard] = &lists[entry->shard];
        *ends[entry->shard] = entry;
        ends[entry->shard] = &entry->next;
        entry->next = NULL;
    }
    journal->group = journal->at = NULL;
    set_failing(shard, error != 0);
    stats_count(&shard->stats, COUNT_JOURNAL_GROUPS);
    for (uint32_t index = 0; index < shard->hub->start_settings.shard_count; index++)
        if (lists[index])
            journal_return(shard, lists[index]);
    if (journal->reopen)
        reopen_file(shard, journal);
}

static void succeed(struct shard *shard, struct journal *journal) {
    assert(!journal->at && journal->offset == 0 && journal->written > 0);
    journal->file.bytes += journal->written;
    journal->file.torn = false;
    end_group(shard, journal, 0);
}

static void fail(struct shard *shard, struct journal *journal, int error) {
    begin_failing(shard, "can't be written", error);
    if (journal->written && io_file_cut(shard->io, &journal->file, journal->written))
        stats_count(&shard->stats, COUNT_JOURNAL_CUT_FAILED);
    end_group(shard, journal, error);
}

// --- Writing

static unsigned fill_vectors(struct journal *journal) {
    assert(journal->at && journal->offset < journal->at->line.length);
    unsigned count = 0;
    size_t offset = journal->offset, room = JOURNAL_WRITE_BYTES_MAX;
    if (journal->break_due)
        journal->vectors[count++] = (struct iovec){.iov_base = "\n", .iov_len = 1};
    for (struct journal_entry *entry = journal->at; entry && room && count < JOURNAL_VECTORS_MAX;
         entry = entry->next) {
        size_t remaining = entry->line.length - offset, bytes = remaining < room ? remaining : room;
        journal->vectors[count++] = (struct iovec){.iov_base = entry->line.bytes + offset, .iov_len = bytes};
        room -= bytes;
        offset = 0;
    }
    return count;
}

static void write_on(struct shard *shard, struct journal *journal) {
    assert(journal->group);
    if (journal->at)
        io_file_write(shard->io, &journal->file, TOKEN_JOURNAL, journal->vectors, fill_vectors(journal));
    else
        io_file_sync(shard->io, &journal->file, TOKEN_JOURNAL);
}

static void advance(struct journal *journal, size_t count) {
    journal->written += count;
    if (count && journal->break_due) {
        journal->break_due = false;
        count--;
    }
    while (count) {
        assert(journal->at); // no more is written than was handed over
        size_t remaining = journal->at->line.length - journal->offset;
        if (count < remaining) {
            journal->offset += count;
            return;
        }
        count -= remaining;
        journal->at = journal->at->next;
        journal->offset = 0;
    }
}

void journal_arrived(struct shard *shard, struct journal_entry *chain) {
    struct journal *journal = shard->journal;
    assert(journal && !*journal->waiting_last && chain);
    *journal->waiting_last = chain;
    while (*journal->waiting_last)
        journal->waiting_last = &(*journal->waiting_last)->next;
}

static void send_on(struct shard *shard) {
    struct journal_entry *chain = shard->entries;
    if (!chain)
        return;
    shard->entries = NULL;
    shard->entries_last = &shard->entries;
    if (shard->index == 0) {
        journal_arrived(shard, chain);
        return;
    }
    chain->mail.kind = MAIL_ENTRIES;
    mailbox_post(hub_mailbox(shard->hub, shard->index, 0), &chain->mail);
}

static void begin_group(struct shard *shard, struct journal *journal) {
    assert(!journal->group && journal->waiting);
    int fault = journal_look(shard, journal);
    journal->group = journal->at = journal->waiting;
    journal->waiting = NULL;
    journal->waiting_last = &journal->waiting;
    journal->offset = 0;
    journal->written = 0;
    journal->break_due = journal->file.torn;
    if (fault)
        end_group(shard, journal, fault);
    else
        write_on(shard, journal);
}

void journal_turn(struct shard *shard) {
    struct journal *journal = shard->journal;
    assert(!journal || shard->index == 0);
    send_on(shard);
    if (journal)
        take_doubt(shard, journal);
    if (journal && !journal->group && journal->waiting)
        begin_group(shard, journal);
}

void journal_event(struct shard *shard, const struct io_event *event) {
    struct journal *journal = shard->journal;
    assert(journal && journal->group && (event->kind == IO_WRITTEN || event->kind == IO_SYNCED));
    if (event->result == -EINTR) {
        write_on(shard, journal);
    } else if (event->result < 0) {
        fail(shard, journal, -event->result);
    } else if (event->kind == IO_SYNCED) {
        succeed(shard, journal);
    } else if (event->result == 0) { // writing nothing again would never end
        fail(shard, journal, EIO);
    } else {
        advance(journal, (size_t)event->result);
        write_on(shard, journal);
    }
}
