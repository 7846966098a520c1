// Errors without an id: whoever sends what can't be read must be told, once and of what is wrong with it. Messages that
// the hub drops without a word must stand in its counters.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/run.h"

void dues_add(struct dues *dues, struct due due) {
    if (dues->count == DUES_MAX)
        abort();
    dues->list[dues->count++] = due;
}

bool dues_data_fits(const struct naive_frame *frame, const char *members) {
    struct bit data = naive_find(frame->body, "error.data");
    struct bit wanted = {(const uint8_t *)members, strlen(members)};
    struct naive_item item;
    for (size_t at = 0; naive_next(wanted, &at, &item);) {
        char key[32];
        snprintf(key, sizeof key, "%.*s", (int)item.key.count - 2, (const char *)item.key.bytes + 1);
        if (!bit_equal(naive_find(data, key), item.value))
            return false;
    }
    return data.bytes != NULL;
}

// --- Errors come

// Where a body breaks is known wherever it is judged by itself; lazily a batch isn't.
static bool offset_fits(const struct run *run, const struct due *due, const struct naive_frame *frame) {
    struct bit text = naive_find(frame->body, "error.data.offset");
    uint64_t offset = bit_number(text);
    if (due->offset_most == 0 || (!text.bytes && !run->profile.strict))
        return true;
    return offset >= due->offset_least && offset <= due->offset_most;
}

// Dues that come by themselves come in the order in which they became due, those in arrays in any.
static struct due *find_due(const struct run *run, struct guest *guest, const struct naive_frame *frame,
                            int64_t code) {
    for (unsigned index = 0; index < guest->dues.count; index++) {
        struct due *due = &guest->dues.list[index];
        if (due->batched != run->in_array)
            continue;
        if (due->code == code && dues_data_fits(frame, due->data) && offset_fits(run, due, frame))
            return due;
        if (!due->batched)
            return NULL;
    }
    return NULL;
}

static void fail_undue(const struct run *run, const struct guest *guest, const struct naive_frame *frame) {
    for (unsigned index = 0; index < guest->dues.count; index++) {
        const struct due *due = &guest->dues.list[index];
        fprintf(stderr, "  due: %d %s, offset %zu to %zu%s\n", due->code, due->data, due->offset_least,
                due->offset_most, due->batched ? ", in an array" : "");
    }
    oracle_fail(run, NOBODY, frame, "an error without an id came that wasn't due, or says what isn't so");
}

void dues_check(const struct run *run, struct guest *guest, const struct naive_frame *frame, int64_t code) {
    struct due *due = find_due(run, guest, frame, code);
    bool cut_off = guest->has_halted && code == -32700;
    bool too_large = run->profile.lossy && code == -32055;
    guest->null_errors++;
    totals.null_errors++;
    guest->silenced =
        due ? due->last : cut_off || (too_large && naive_find(frame->body, "error.data.offset").bytes);
    if (due)
        memmove(due, due + 1, (size_t)(&guest->dues.list[--guest->dues.count] - due) * sizeof *due);
    else if (run->in_array || (!too_large && !cut_off))
        fail_undue(run, guest, frame);
}

// --- The counters

static uint64_t counted(const struct run *run, enum counter counter) {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < run->world.shard_count; shard++)
        sum += stats_read(&run->world.shards[shard]->stats, counter);
    return sum;
}

// Returns whether all that the guest sent has been dealt with.
static bool has_settled(const struct guest *guest) {
    return !guest->gone && !guest->doomed && !guest->ended_by_hub && !guest->deaf &&
           guest->out.at == guest->out.count;
}

static void check_count(const struct run *run, enum counter counter, uint64_t least, uint64_t most,
                        const char *what) {
    uint64_t count = counted(run, counter);
    if (count >= least && count <= most)
        return;
    fprintf(stderr, "  %s: %llu, not %llu to %llu\n", stats_name(counter), (unsigned long long)count,
            (unsigned long long)least, (unsigned long long)most);
    oracle_fail(run, NOBODY, NULL, what);
}

// A notification that the hub refuses for its flaw; others may be refused for governance.
static void check_refused(const struct run *run) {
    uint64_t least = 0, most = 0;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        bool told = record->kind == RECORD_TELL || record->copied;
        if (!told || record->voided || record->delivered)
            continue;
        if (record->refusal == -32601)
            continue; // is counted as without a route
        least += record->kind == RECORD_TELL && record->refusal && has_settled(run->guests[record->source]);
        bool unmade = record->to == TO_HUB && run->profile.lossy; // memory was used up
        most += record->refusal || record->governance || record->own_source || record->journaled || unmade;
    }
    check_count(run, COUNT_DROP_REFUSED, least, most, "refused notifications were not counted, or others");
}

// Under a name that is nobody's; others may find nobody, too.
static void check_unknown(const struct run *run) {
    uint64_t least = 0, most = 0;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        if (record->kind != RECORD_TELL || record->voided || record->delivered)
            continue;
        least += record->refusal == -32601 && has_settled(run->guests[record->source]);
        most++;
    }
    check_count(run, COUNT_DROP_NO_ROUTE, least, most, "notifications to nobody were not counted, or others");
}

static void check_broken(const struct run *run) {
    uint64_t least = 0, most = 0;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        bool broken = record->kind == RECORD_ANSWER && record->flawed && !record->voided;
        least += broken && has_settled(run->guests[record->source]);
        most += broken;
    }
    for (unsigned index = 0; index < run->guest_count; index++)
        most += run->guests[index]->torn;
    check_count(run, COUNT_DROP_RESPONSE_BROKEN, least, most, "broken responses were not counted, or others");
}

// Reports on what has ended or was asked of somebody else.
static void check_reports(const struct run *run) {
    uint64_t least = 0, most = 0;
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        if (record->to != TO_ASKER || record->flawed || record->voided || record->delivered)
            continue;
        least += record->never && !run->profile.lossy && has_settled(run->guests[record->source]);
        most++;
    }
    check_count(run, COUNT_DROP_PROGRESS_UNKNOWN, least, most,
                "reports of progress were not counted, or others");
}

void dues_rest(const struct run *run) {
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        bool here = !guest->gone && !guest->ended_by_hub && !guest->doomed && !guest->deaf && !guest->halted;
        if (here && guest->dues.count)
            oracle_fail(run, NOBODY, NULL, "what can't be read was not answered");
    }
    check_refused(run);
    check_unknown(run);
    check_broken(run);
    check_reports(run);
}
