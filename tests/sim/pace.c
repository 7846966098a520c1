// Guests that read at a pace of their own, by time and not by chance. Also frames that stop in the middle, and bytes
// that must have come by a connection's end.
#include <string.h>

#include "tests/sim/kernel.h"
#include "tests/sim/run.h"

enum { PAUSE_MS = 150, MS = 1000000 }; // who takes nothing for longer may be closed

void pace_choose(const struct run *run, struct guest *guest) {
    if (run->profile.steady && random_chance(run->random, 500))
        pace_take(run, guest);
}

void pace_take(const struct run *run, struct guest *guest) {
    guest->piece = 300 + random_below(run->random, 3000);
    guest->reads = 1000;
}

bool pace_rests(const struct run *run, const struct guest *guest) {
    return guest->piece && kernel_now(run->world.kernel) < guest->reads_at_ns;
}

void pace_has_read(const struct run *run, struct guest *guest) {
    guest->reads_at_ns = kernel_now(run->world.kernel) + (20 + random_below(run->random, PAUSE_MS - 20)) * MS;
}

uint64_t pace_next_ns(const struct run *run) {
    uint64_t next_ns = UINT64_MAX;
    for (unsigned index = 0; index < run->guest_count; index++) {
        const struct guest *guest = run->guests[index];
        if (!guest->gone && pace_rests(run, guest) && cable_readable(guest->cable) &&
            guest->reads_at_ns < next_ns)
            next_ns = guest->reads_at_ns;
    }
    return next_ns;
}

// --- Ends

void pace_stall(struct run *run, struct guest *guest) {
    static const char *const starts[] = {"Content-Le", "Content-Length: 50\r\n\r\n{",
                                         "Content-Length: 100000\r\nX: y\r\n\r\n{\"jsonrpc\":"};
    if (guest->caller.on) {
        callers_stall(run, guest);
        return;
    }
    if (guest->socket.on) {
        sockets_stall(run, guest);
        run->late = guest->breaks = guest->stalled = guest->doomed = guest->leaving = true;
        return;
    }
    const char *start = guest->lines ? liners_start(run) : starts[random_below(run->random, 3)];
    queue_bytes_add(&guest->out, start, strlen(start));
    dues_add(&guest->dues, (struct due){.code = -32700,
                                        .data = "{\"fault\":\"the frame was not whole in time\"}",
                                        .offset_least = strlen(start),
                                        .offset_most = strlen(start),
                                        .last = true});
    run->late = guest->breaks = guest->stalled = guest->doomed = guest->leaving = true;
}

void pace_exit(struct run *run, struct guest *guest) {
    for (uint32_t pings = guest->piece ? random_below(run->random, 30) : 0; pings > 0; pings--)
        compose_ping(run, guest);
    forms_leave(run, guest, "exit");
    guest->exits = guest->doomed = guest->leaving = true;
    guest->null_errors++; // is answered with a result; no error is due
}

static void check_pings(const struct run *run, const struct guest *guest) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *record = run->records[tag];
        if (record->ping && record->source == guest->index && !record->flawed && !record->batched &&
            !record->ended)
            oracle_fail(run, (int)tag, NULL, "an exit cut off what was due before it");
    }
}

void pace_check_end(const struct run *run, const struct guest *guest) {
    if (guest->in.at != guest->in.count && !run->profile.timed) // who is idle is cut off where it is
        oracle_fail(run, NOBODY, NULL, "a connection was ended in the middle of a frame");
    if (guest->breaks && !guest->silenced)
        oracle_fail(run, NOBODY, NULL, "a framing error was not answered");
    if (guest->exits)
        check_pings(run, guest);
}
