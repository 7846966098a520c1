// The behaviour of guests. Each reads as eagerly as is its nature, writes its messages in pieces, and answers in any
// order. Some guests are slow, silent, rude or restless.
#include <stdlib.h>
#include <string.h>

#include "tests/sim/run.h"

void queue_bytes_add(struct queue_bytes *queue, const void *bytes, size_t count) {
    if (queue->at == queue->count)
        queue->at = queue->count = 0;
    if (queue->count + count > queue->capacity) {
        queue->capacity = (queue->count + count) * 2;
        queue->bytes = realloc(queue->bytes, queue->capacity);
        if (!queue->bytes)
            abort();
    }
    if (count)
        memcpy(queue->bytes + queue->count, bytes, count);
    queue->count += count;
}

struct guest *guest_arrive(struct run *run, int name) {
    bool lines = random_chance(run->random, run->profile.lines);
    bool caller = !lines && name == NOBODY && random_chance(run->random, run->profile.callers);
    bool subscriber =
        !lines && !caller && name == NOBODY && random_chance(run->random, run->profile.subscribers);
    bool socket = !lines && !caller && !subscriber && random_chance(run->random, run->profile.sockets);
    struct cable *cable = run->guest_count == GUESTS_MAX   ? NULL
                          : socket || caller || subscriber ? world_dial_http(&run->world)
                                                           : liners_dial(run, lines);
    if (!cable)
        return NULL;
    struct guest *guest = calloc(1, sizeof *guest);
    if (!guest)
        abort();
    guest->index = (int)run->guest_count;
    guest->cable = cable;
    guest->lines = lines;
    guest->socket.on = socket;
    totals.liners += lines;
    guest->caller.on = caller;
    guest->subscriber.on = subscriber;
    totals.subscribers += subscriber;
    totals.sockets += socket;
    totals.callers += caller;
    guest->name = name;
    guest->arrived = witness_now(run);
    guest->plan = 4 + random_below(run->random, 24);
    guest->reads = random_chance(run->random, 700) ? 1000 : 1 + random_below(run->random, 400);
    guest->stubborn = !run->profile.clean && random_chance(run->random, 100);
    if (name != NOBODY) {
        guest->level = random_chance(run->random, 700) ? 3 : (int)random_below(run->random, 4);
        guest->methods = random_below(run->random, 1 << METHODS_MAX);
        guest->logs = run->world.hub->start_settings.journal && random_chance(run->random, 400);
    }
    attaching_begin(run, guest);
    pace_choose(run, guest);
    patience_begin(run, guest);
    run->guests[run->guest_count++] = guest;
    if (socket)
        sockets_begin(run, guest);
    if (subscriber)
        subscribers_begin(run, guest);
    if (name != NOBODY)
        compose_register(run, guest);
    if (!caller && !subscriber && random_chance(run->random, 500))
        events_change_wish(run, guest);
    return guest;
}

void guest_leave(const struct run *run, struct guest *guest) {
    if (guest->gone)
        return;
    patience_left(run, guest);
    liners_left(run, guest);
    guest->gone = guest->leaving = true;
    guest->plan = 0;
    guest->out.at = guest->out.count;
    cable_close(guest->cable);
    guest->cable = NULL;
}

// --- Reading

static enum naive_result read_frame(struct run *run, struct guest *guest, struct naive_frame *frame,
                                    const uint8_t *bytes, size_t count) {
    if (guest->subscriber.on)
        return subscribers_read(run, guest, frame, bytes, count);
    if (guest->caller.on)
        return callers_read(run, guest, frame, bytes, count);
    if (guest->socket.on)
        return sockets_read(run, guest, frame, bytes, count);
    return guest->lines ? naive_line(frame, bytes, count) : naive_frame(frame, bytes, count);
}

static void read_frames(struct run *run, struct guest *guest) {
    struct naive_frame frame;
    while (guest->in.at < guest->in.count) {
        const uint8_t *bytes = guest->in.bytes + guest->in.at;
        size_t count = guest->in.count - guest->in.at;
        enum naive_result result = read_frame(run, guest, &frame, bytes, count);
        if (result == NAIVE_PARTIAL)
            return;
        if (result == NAIVE_BAD)
            oracle_fail(run, NOBODY, NULL, "the hub sent what is no frame, or no line");
        guest->in.at += frame.bytes;
        if (!frame.body.bytes)
            continue;
        if (!oracle_frame(run, guest, &frame))
            continue;
        struct duty *duty = &guest->duties[guest->duty_count - 1];
        bool leaves = run->guests[run->records[duty->tag]->source]->shutting;
        if (run->profile.silent && random_chance(run->random, leaves ? 700 : 100)) {
            run->records[duty->tag]->ignored = true;
            guest->duty_count--;
        }
    }
}

// True when it had anything to do with reading.
static bool read_some(struct run *run, struct guest *guest) {
    uint8_t bytes[16384];
    bool readable = cable_readable(guest->cable) != 0;
    if (!patience_reads(guest))
        return false;
    if (!readable && (!cable_at_end(guest->cable) || guest->ended_by_hub))
        return false;
    if (readable && pace_rests(run, guest))
        return false;
    if (!random_chance(run->random, guest->reads))
        return true;
    if (readable) {
        size_t most = random_chance(run->random, 800) ? sizeof bytes : 1 + random_below(run->random, 300);
        if (guest->piece) {
            most = guest->piece;
            pace_has_read(run, guest);
        }
        queue_bytes_add(&guest->in, bytes, cable_read(guest->cable, bytes, most));
        read_frames(run, guest);
        return true;
    }
    oracle_end(run, guest);
    guest->leaving = true;
    if (!guest->stubborn)
        guest_leave(run, guest);
    return true;
}

// --- Writing

static bool write_some(struct run *run, struct guest *guest) {
    size_t left = guest->out.count - guest->out.at;
    if (!left || guest->shut)
        return false;
    size_t piece = left;
    if (!random_chance(run->random, 600))
        piece = 1 + random_below(run->random, left < 5000 ? (uint32_t)left : 5000);
    piece = patience_piece(run, guest, piece);
    if (!piece)
        return false;
    if (piece == left) {
        liners_end(run, guest);
        piece = guest->out.count - guest->out.at;
    }
    if (cable_write(guest->cable, guest->out.bytes + guest->out.at, piece))
        guest->out.at += piece;
    else
        guest->out.at = guest->out.count;
    return true;
}

// --- Doing

// On what it has answered. If the answer made its batch void, there is none.
static void report_late(struct run *run, struct guest *guest, int tag) {
    if (run->records[tag]->ignored)
        reports_compose(run, guest, tag);
    else
        reports_spoof(run, guest, tag);
}

static bool answer_one(struct run *run, struct guest *guest) {
    if (!guest->duty_count || guest->shut || guest->ended_by_hub || guest->stalled)
        return false;
    if (!random_chance(run->random, 300))
        return true;
    unsigned which = random_below(run->random, guest->duty_count);
    struct duty duty = guest->duties[which];
    if (random_chance(run->random, 500) && reports_compose(run, guest, duty.tag))
        return true;
    guest->duties[which] = guest->duties[--guest->duty_count];
    compose_answer(run, guest, &duty);
    if (run->profile.rude && random_chance(run->random, 50))
        compose_spoof(run, guest, strtoull(duty.id, NULL, 10)); // it has answered already
    if (!guest->gathering.open && random_chance(run->random, 50))
        report_late(run, guest, duty.tag);
    return true;
}

// Reports on what somebody else was asked.
static void spoof_report(struct run *run, struct guest *guest) {
    int tag = (int)random_below(run->random, run->record_count);
    const struct record *record = run->records[tag];
    if (record->kind == RECORD_ASK && record->delivered && record->delivered_to != guest->index)
        reports_spoof(run, guest, tag);
}

static void spoof(struct run *run, struct guest *guest) {
    if (!run->seen_count || random_chance(run->random, 300)) {
        compose_spoof(run, guest, 1 + (random_next(run->random) >> 11));
        return;
    }
    unsigned which = random_below(run->random, run->seen_count < 64 ? run->seen_count : 64);
    if (run->seen[which].guest != guest->index)
        compose_spoof(run, guest, run->seen[which].id);
}

// The name of somebody who is there, or, if chance meets nobody, any.
static int choose_name(struct run *run) {
    for (unsigned tries = 0; tries < 8; tries++) {
        const struct guest *guest = run->guests[random_below(run->random, run->guest_count)];
        if (guest->registered && !guest->gone)
            return guest->name;
    }
    return (int)random_below(run->random, 8);
}

// At once, so that the cancel may be on its way before the request has arrived.
static void regret(struct run *run, struct guest *guest) {
    const struct record *record = run->records[run->record_count - 1];
    if (!run->profile.clean && !record->never && random_chance(run->random, 60))
        cancelling_compose(run, guest, record);
}

static void call_somebody(struct run *run, struct guest *guest) {
    bool ask = random_chance(run->random, 700);
    uint32_t dice = random_below(run->random, 100);
    if (guest->attaches) {
        attaching_compose(run, guest, ask, choose_name(run));
        return;
    }
    if (random_chance(run->random, 250)) {
        events_compose(run, guest, random_chance(run->random, 400));
        return;
    }
    if (hugai_spoken(run) && random_chance(run->random, run->profile.strict ? 300 : 200)) {
        hugai_compose(run, guest, ask, choose_name(run));
        return;
    }
    if (!guest->caller.on && random_chance(run->random, 40)) {
        trials_compose(run, guest, choose_name(run));
        return;
    }
    enum address_kind to = dice < 75 ? TO_NAME : dice < 92 ? TO_METHOD : TO_NOBODY;
    int name = to == TO_METHOD ? (int)random_below(run->random, METHODS_MAX) : choose_name(run);
    if (!ask)
        compose_tell(run, guest, to, name);
    else if (compose_ask(run, guest, to, name))
        regret(run, guest);
}

static void be_rude(struct run *run, struct guest *guest) {
    uint32_t dice = random_below(run->random, 10);
    if (random_chance(run->random, 60))
        pace_stall(run, guest);
    else if (dice < 3)
        spoof(run, guest);
    else if (dice < 5)
        spoof_report(run, guest);
    else
        compose_junk(run, guest, dice == 9);
}

// Answers that it has given count, though it leaves.
static void secure_answers(struct run *run, const struct guest *guest) {
    for (unsigned tag = 0; tag < run->record_count; tag++) {
        const struct record *answer = run->records[tag];
        if (answer->kind == RECORD_ANSWER && answer->source == guest->index && !answer->never)
            run->records[answer->answers]->secured = true;
    }
}

// As soon as all is written that it had to say; true when it did.
static bool half_close(struct run *run, struct guest *guest) {
    if (!guest->shutting || guest->shut || guest->ended_by_hub || guest->out.at != guest->out.count)
        return false;
    secure_answers(run, guest);
    cable_shut(guest->cable);
    guest->shut = true;
    patience_shut(run, guest);
    return true;
}

static void move_out(struct run *run, struct guest *guest) {
    int name = guest->name;
    uint32_t dice = random_below(run->random, 10);
    if (guest->caller.on) { // the end of its stream would be its leaving
        compose_ask(run, guest, TO_NAME, choose_name(run));
        dice = 5 + dice / 2;
    }
    if (guest->socket.on && dice < 4) {
        compose_ask(run, guest, TO_NAME, choose_name(run));
        sockets_close(run, guest);
    } else if (dice < 3) {
        compose_ask(run, guest, TO_NAME, choose_name(run)); // something is under way when it goes
        guest->shutting = guest->leaving = true;
        guest->plan = 0;
    } else if (dice < 4) {
        guest->leaving = true;
        forms_leave(run, guest, "shutdown");
    } else if (dice < 5) {
        pace_exit(run, guest);
    } else if (dice < 7) {
        cable_reset(guest->cable);
        guest_leave(run, guest);
    } else {
        guest_leave(run, guest); // perhaps in the middle of a frame
    }
    if (guest->gone && random_chance(run->random, 700))
        guest_arrive(run, name);
}

// Something that it has asked; if there is any, what has reached its target and isn't answered.
static void cancel_something(struct run *run, struct guest *guest) {
    const struct record *chosen = NULL;
    unsigned first = run->record_count ? random_below(run->random, run->record_count) : 0;
    for (unsigned step = 0; step < run->record_count; step++) {
        const struct record *record = run->records[(first + step) % run->record_count];
        if (record->kind != RECORD_ASK || record->source != guest->index || record->never)
            continue;
        chosen = record;
        if (record->delivered && !record->ended)
            break;
    }
    if (chosen)
        cancelling_compose(run, guest, chosen);
}

// Several things at once, answers among them.
static void send_batch(struct run *run, struct guest *guest) {
    compose_batch_begin(run, guest);
    for (unsigned count = 1 + random_below(run->random, 6); count > 0; count--) {
        uint32_t dice = random_below(run->random, 100);
        if (dice < 15)
            compose_ping(run, guest);
        else if (dice < 35)
            answer_one(run, guest);
        else if (dice < 45)
            forms_compose(run, guest);
        else if (dice < 50 && !guest->caller.on)
            forms_name(run, guest);
        else if (dice < 55 && !guest->caller.on)
            events_change_wish(run, guest);
        else if (dice < 60 && !run->profile.clean)
            cancel_something(run, guest);
        else
            call_somebody(run, guest);
    }
    compose_batch_end(run, guest);
}

static bool do_one(struct run *run, struct guest *guest) {
    if (guest->subscriber.on && guest->subscriber.open && run->profile.leavers &&
        random_chance(run->random, 2)) {
        guest_leave(run, guest);
        return true;
    }
    if (!guest->plan || guest->doomed || guest->shut || guest->ended_by_hub)
        return false;
    if (guest->out.count - guest->out.at > 200000 || callers_full(guest))
        return false;
    // Most begin when the agents are there.
    if (!run->settled && random_chance(run->random, 980))
        return true;
    guest->plan--;
    uint32_t dice = random_below(run->random, 100);
    if (dice < 4)
        compose_question(run, guest);
    else if (dice < 8)
        compose_ping(run, guest);
    else if (dice >= 90)
        send_batch(run, guest);
    else if (dice >= 84 && guest->caller.on)
        callers_compose(run, guest);
    else if (dice >= 84)
        events_change_wish(run, guest);
    else if (dice < 14 && run->profile.rude)
        be_rude(run, guest);
    else if (dice < 19 && run->profile.leavers)
        move_out(run, guest);
    else if (dice < 23 && !run->profile.clean)
        cancel_something(run, guest);
    else if (dice < 30)
        forms_compose(run, guest);
    else if (dice < 34 && !guest->caller.on)
        forms_name(run, guest);
    else
        call_somebody(run, guest);
    return true;
}

bool guest_act(struct run *run, struct guest *guest) {
    if (guest->gone)
        return false;
    run->idles = sockets_idle(guest) || subscribers_idle(guest);
    if (half_close(run, guest) || patience_goes(run, guest))
        return true;
    switch (random_below(run->random, 4)) {
    case 0:
        if (do_one(run, guest))
            return true;
        break;
    case 1:
        if (answer_one(run, guest))
            return true;
        break;
    case 2:
        if (write_some(run, guest))
            return true;
        break;
    default:
        break;
    }
    return read_some(run, guest) ||
           (!guest->gone && (write_some(run, guest) || answer_one(run, guest) || do_one(run, guest)));
}
