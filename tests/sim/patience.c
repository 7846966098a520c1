// Guests that take their time, and the hub's right to end them. Some guests go in two steps: they end their direction,
// and later go altogether. In some runs guests stop reading, stop in the middle of a frame, or send a frame slowly. In
// these runs the configuration's times change in mid-traffic. The kernel knows when the hub heard of each and when each
// took something. The oracle therefore knows who may be closed, and who must be.
#include <inttypes.h>
#include <stdio.h>

#include "tests/sim/kernel.h"
#include "tests/sim/run.h"

#define SECOND_NS UINT64_C(1000000000)
// For so long a connection of HTTP may wait for its next request.
#define UNUSED_NS (75 * SECOND_NS)
// Clocks are read once a turn and timers count milliseconds.
#define SLACK_NS (SECOND_NS / 20)

enum { GUEST_PACE_MS = 250, GUEST_PACE_BYTES = 2000, CHANGES_MAX = 12 };

// --- The configuration's times

static void note_times(struct run *run, uint64_t now_ns) {
    run->times[run->time_count++] =
        (struct times){now_ns, run->limits.idle_timeout_ns, run->limits.frame_timeout_ns};
}

void patience_choose(struct run *run, uint64_t seed, struct world_options *options) {
    static const uint8_t idle[] = {0, 1, 2, 5, 60};
    struct random sequence, *random = &sequence; // another one than the world's
    random_init(random, seed ^ UINT64_C(0x74696d6573));
    if (run->profile.timed) {
        options->limits.idle_timeout_ns = idle[random_below(random, 5)] * SECOND_NS;
        options->limits.frame_timeout_ns = (1 + random_below(random, 10)) * SECOND_NS;
    }
    options->half_close_leaves = run->profile.leave;
    run->limits = options->limits;
    note_times(run, 0);
}

void patience_reload(struct run *run) {
    if (!run->profile.timed || run->draining || run->time_count > CHANGES_MAX ||
        !random_chance(run->random, 150))
        return;
    static const uint8_t idle[] = {0, 0, 1, 3, 60};
    run->limits.idle_timeout_ns = idle[random_below(run->random, 5)] * SECOND_NS;
    if (random_chance(run->random, 500))
        run->limits.frame_timeout_ns = (1 + random_below(run->random, 60)) * SECOND_NS;
    if (random_chance(run->random, 300)) {
        run->limits.frame_bytes_max =
            random_chance(run->random, 500) ? 1000 + random_below(run->random, 5000) : 400000;
        run->narrowed = true;
        run->limits.header_bytes_max = 64 + random_below(run->random, 8000);
    }
    note_times(run, kernel_now(run->world.kernel));
    world_reload(&run->world, &run->limits);
}

// --- Behaviour

void patience_begin(struct run *run, struct guest *guest) {
    uint32_t dice = run->profile.timed ? random_below(run->random, 10) : 9;
    guest->deaf_after = dice == 0 ? 1 + random_below(run->random, 20) : 0;
    guest->halts = dice == 1;
    guest->slow = dice == 2 || dice == 3;
    if (dice == 4 || dice == 5)
        pace_take(run, guest); // so that sends last, and nobody is idle
}

void patience_end(struct guest *guest) {
    guest->deaf_after = 0;
    guest->deaf = guest->halts = guest->halted = guest->slow = false;
}

bool patience_reads(struct guest *guest) {
    if (guest->deaf_after && --guest->deaf_after == 0)
        guest->deaf = true;
    return !guest->deaf;
}

size_t patience_piece(struct run *run, struct guest *guest, size_t piece) {
    uint64_t now_ns = kernel_now(run->world.kernel);
    if (guest->halted || (guest->slow && now_ns < guest->writes_ns))
        return 0;
    if (guest->slow) {
        guest->writes_ns = now_ns + GUEST_PACE_MS * SECOND_NS / 1000;
        size_t left = guest->out.count - guest->out.at;
        return left < GUEST_PACE_BYTES ? left : GUEST_PACE_BYTES;
    }
    guest->halted = guest->halts && guest->plan == 0 && piece > 1;
    guest->has_halted |= guest->halted;
    return guest->halted ? piece / 2 : piece;
}

void patience_shut(struct run *run, struct guest *guest) {
    guest->shut_ns = kernel_now(run->world.kernel);
    guest->goes = random_chance(run->random, 400);
    guest->deaf |= run->profile.timed && random_chance(run->random, 400);
}

static void unsecure_answers(struct run *run, const struct guest *guest) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *answer = run->records[tag];
        if (answer->kind == RECORD_ANSWER && answer->source == guest->index && answer->answers != NOBODY)
            run->records[answer->answers]->secured = false;
    }
}

// Arrivals that a hub has read and put off go with the connection, too, when its sends aren't taken any more.
static bool any_put_off(const struct run *run) {
    for (unsigned shard = 0; shard < run->world.shard_count; shard++)
        if (run->world.shards[shard]->read_fairness.waiting)
            return true;
    return false;
}

bool patience_goes(struct run *run, struct guest *guest) {
    if (!guest->goes || !guest->shut || run->draining)
        return false;
    if (!random_chance(run->random, 100))
        return true;
    guest->goes = false;
    bool resets = random_chance(run->random, 500);
    // A reset takes what wasn't read yet, also one that answers what is sent; and a line that only its end ends.
    if (cable_unread(guest->cable) || any_put_off(run) || liners_open(guest))
        unsecure_answers(run, guest);
    if (resets)
        cable_reset(guest->cable);
    guest_leave(run, guest);
    return true;
}

// A TCP peer that closes, but for a reset, can't be told from one that only ends its direction until the last
// probe. The last probe doesn't come before the peer's kernel has forgotten the connection.
void patience_left(const struct run *run, struct guest *guest) {
    const struct cable *cable = guest->cable;
    bool shows = cable->local || cable->reset || cable_readable(cable);
    guest->gone_ns = kernel_now(run->world.kernel) + (shows ? 0 : ORPHAN_S * SECOND_NS + 2 * PROBE_NS);
}

uint64_t patience_next_ns(const struct run *run) {
    uint64_t next_ns = UINT64_MAX, now_ns = kernel_now(run->world.kernel);
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        if (!guest->gone && !guest->shut && guest->slow && guest->out.at < guest->out.count &&
            guest->writes_ns > now_ns && guest->writes_ns < next_ns)
            next_ns = guest->writes_ns;
    }
    return next_ns;
}

// --- Guests that may be closed, and those that must be

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t active_ns(const struct cable *cable) {
    return later(later(cable->heard_ns, cable->taken_ns), cable->shown_ns);
}

// Returns whether one of the times that were in force when the hub closed it, or just before, says so. For one that had
// half-closed none does unless something was being sent, which the hub has to break off then.
static bool has_reason(const struct run *run, const struct guest *guest) {
    uint64_t closed_ns = guest->cable->closed_ns + SLACK_NS;
    bool unused = guest->caller.on && closed_ns - active_ns(guest->cable) >= UNUSED_NS;
    if (sockets_silent(guest) || guest->caller.closes || unused)
        return true;
    for (unsigned index = run->time_count; index-- > 0;) {
        const struct times *times = &run->times[index];
        if (times->since_ns > closed_ns)
            continue;
        bool may_idle = times->idle_ns && (!guest->shut || guest->cable->hub_shut_read);
        bool idle = may_idle && closed_ns - active_ns(guest->cable) >= times->idle_ns;
        bool slow = guest->halted && closed_ns - guest->cable->heard_ns >= times->frame_ns;
        if (idle || slow)
            return true;
        uint64_t lingered_ns = guest->halted ? SECOND_NS : 0; // it was told why, and given time to read it
        if (times->since_ns + 2 * SLACK_NS + lingered_ns < closed_ns)
            return false; // what held before is no reason
    }
    return false;
}

__attribute__((noreturn)) static void fail(const struct run *run, const struct guest *guest,
                                           const char *what) {
    const struct cable *cable = guest->cable;
    for (unsigned index = 0; index < run->time_count; index++)
        fprintf(stderr, "  from %" PRIu64 ": idle %" PRIu64 ", frame %" PRIu64 "\n",
                run->times[index].since_ns, run->times[index].idle_ns, run->times[index].frame_ns);
    fprintf(stderr,
            "  guest %d: heard %" PRIu64 ", took %" PRIu64 ", closed %" PRIu64 "; %u %u %u %u; now %" PRIu64
            "\n",
            guest->index, cable->heard_ns, cable->taken_ns, cable->closed_ns, guest->deaf, guest->halted,
            guest->slow, guest->shut, kernel_now(run->world.kernel));
    oracle_fail(run, NOBODY, NULL, what);
}

static uint64_t slow_readers(const struct run *run) {
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < run->world.shard_count; shard++)
        sum += stats_read(&run->world.shards[shard]->stats, COUNT_CLOSED_SLOW_READER);
    return sum;
}

bool patience_is_answered(const struct run *run, const struct guest *guest) {
    return run->profile.timed && !run->narrowed && guest->shut && !guest->deaf && !guest->doomed &&
           !run->draining && !run->profile.leave && !has_reason(run, guest) && !slow_readers(run);
}

static bool counts(const struct run *run, const struct guest *guest) {
    return run->profile.timed && !run->draining && !guest->doomed && !guest->judged && !guest->silenced;
}

void patience_closed(const struct run *run, struct guest *guest) {
    if (!counts(run, guest) || guest->shut || !cable_hub_closed(guest->cable))
        return;
    guest->judged = true;
    if (run->narrowed && guest->cable->hub_shut_write)
        return; // a message of it was too large; it may not have read that
    if (!has_reason(run, guest) && !(run->profile.small_queue && slow_readers(run)))
        fail(run, guest, "a connection was closed though no time says so");
}

// When the hub must have closed it by what holds now; UINT64_MAX: there is no such time.
static uint64_t due_ns(const struct run *run, const struct guest *guest) {
    const struct cable *cable = guest->cable;
    const struct times *times = &run->times[run->time_count - 1];
    bool whole = !guest->halted && guest->out.at == guest->out.count && !cable_unread(cable);
    // The hub sees at its looks what the guest takes of a send that lasts: four times until it may be closed.
    // Where the hub hadn't looked before the time changed, all of it begins anew at the first look.
    uint64_t idle_ns = active_ns(cable) + times->idle_ns, since_ns = times->since_ns;
    if (cable->send.armed) {
        idle_ns += times->idle_ns / 4;
        since_ns += times->idle_ns + times->idle_ns / 4;
    }
    // The guest stopped in the middle of a frame or, by chance, between two. In the middle of a frame the fault is told
    // first. A window may have begun when the time changed.
    if (guest->halted && times->idle_ns)
        return later(later(idle_ns, cable->heard_ns + 2 * times->frame_ns), since_ns + times->frame_ns) +
               2 * SECOND_NS;
    if (guest->halted)
        return UINT64_MAX;
    // Behind a caller's body that is over a limit which has become less, the hub hears no more. The answer to
    // that waits behind those before it.
    bool ends = guest->shut || guest->caller.closes || (guest->caller.on && run->narrowed);
    if (!times->idle_ns || !whole || (ends && !cable->send.armed))
        return UINT64_MAX;
    return later(idle_ns, since_ns);
}

static void check_kept(const struct run *run, struct guest *guest, uint64_t next_ns) {
    const struct cable *cable = guest->cable;
    if (!counts(run, guest) || guest->gone || !cable->heard_ns || cable->reset ||
        sockets_turned_away(run, guest))
        return;
    if (cable_hub_closed(cable)) {
        patience_closed(run, guest);
        return;
    }
    uint64_t due = due_ns(run, guest);
    if (!cable->hub_shut_write && due != UINT64_MAX && next_ns > due + SLACK_NS)
        fail(run, guest, "a connection was kept though its time had passed");
}

// --- Requests of guests that have left

static bool owes(const struct run *run, const struct record *record, unsigned tag) {
    const struct guest *target = run->guests[record->delivered_to];
    if (target->gone || target->shut || target->doomed || target->ended_by_hub || target->deaf ||
        cable_hub_closed(target->cable) || target->cable->reset || cable_readable(target->cable))
        return false;
    for (unsigned index = 0; index < target->duty_count; index++)
        if (target->duties[index].tag == (int)tag)
            return true;
    return record->ignored;
}

static uint64_t left_ns(const struct run *run, const struct guest *guest) {
    uint64_t at_ns = guest->gone ? guest->gone_ns : UINT64_MAX;
    return run->profile.leave && guest->shut && guest->shut_ns < at_ns ? guest->shut_ns : at_ns;
}

static void check_given_up(const struct run *run, uint64_t next_ns) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        if (record->kind != RECORD_ASK || !record->delivered || record->delivered_to == NOBODY ||
            record->cancelled || record->ended)
            continue;
        uint64_t at_ns = left_ns(run, run->guests[record->source]);
        if (at_ns != UINT64_MAX && next_ns > at_ns + SECOND_NS && owes(run, record, tag))
            oracle_fail(run, (int)tag, NULL, "a peer has left, and nobody told the target of what it asked");
    }
}

void patience_check(const struct run *run, uint64_t next_ns) {
    for (unsigned index = 0; index < run->guest_count; index++)
        check_kept(run, run->guests[index], next_ns);
    sockets_check(run, next_ns);
    subscribers_check(run, next_ns);
    if (run->profile.sure_cancels && !run->draining)
        check_given_up(run, next_ns);
}
