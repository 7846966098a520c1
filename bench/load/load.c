// See load.h. Success: each turn takes all that the kernel has, handles every whole message, issues those
// that are due, and sends once a connection; in a trickle, before the next one is read. Failure: a connection
// that ends, or sends bytes that are no message, stops the load with a fault. A message that is whole but
// wrong is counted, the first one shown, and the load goes on.
#include "bench/load/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    SAMPLE_BYTES = 300,
    // In an open loop, so near to the next due time, the clock is watched and the thread doesn't sleep: a
    // timer of the kernel's would come late by as much.
    SPIN_NS = 200000,
};

uint64_t load_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void load_fail(struct load *load, const char *fault) {
    if (load->fault == NULL) {
        load->fault = fault;
    }
}

void load_count_wrong(struct load *load, const struct load_message *message) {
    if (load->wrong++ == 0) {
        size_t shown = message->body_bytes < SAMPLE_BYTES ? message->body_bytes : SAMPLE_BYTES;
        fprintf(stderr, "bench: the first wrong message: %.*s\n", (int)shown, (const char *)message->body);
    }
}

uint8_t *load_room(struct load *load, struct load_link *link) {
    uint8_t *room = link_room(&link->link, load->message_bytes_max);
    if (room == NULL) {
        load_fail(load, "no memory");
    }
    return room;
}

struct load_slot *load_slot_take(struct load *load, struct load_link *source, uint64_t due_ns) {
    while (source->slots[source->next_id & load->slot_mask].id != 0) {
        source->next_id++;
    }
    struct load_slot *slot = &source->slots[source->next_id & load->slot_mask];
    *slot = (struct load_slot){.id = source->next_id++, .due_ns = due_ns};
    load_nonce(((uint64_t)source->link.index << 40) + slot->id, slot->nonce);
    source->pending++;
    source->issued++;
    load->pending++;
    return slot;
}

// --- Messages and their time

static struct load_link *source_at(struct load *load, uint64_t number) {
    return &load->table[load->plan.targets + number % load->plan.sources];
}

// When the n-th message of all is due.
static uint64_t due_ns(const struct load *load, uint64_t number) {
    return load->begun_ns + (uint64_t)((double)number * 1e9 / load->plan.rate);
}

// Issues what is due of this source, as far as its depth goes: each n-th message is the same source's.
static void catch_up(struct load *load, struct load_link *source, uint64_t now_ns) {
    uint64_t number = (uint64_t)(source - load->table) - load->plan.targets;
    while (load->fault == NULL && source->pending < load->plan.depth) {
        uint64_t due = due_ns(load, source->issued * load->plan.sources + number);
        if (due > now_ns) {
            return;
        }
        load->exchange->issue(load, source, due);
    }
}

static void issue_due(struct load *load, uint64_t now_ns) {
    while (load->fault == NULL && due_ns(load, load->due_count) <= now_ns) {
        catch_up(load, source_at(load, load->due_count++), now_ns);
    }
}

void load_settle(struct load *load, struct load_link *source, struct load_slot *slot, uint64_t now_ns) {
    slot->id = 0;
    source->pending--;
    load->pending--;
    if (!load->issuing) {
        return;
    }
    if (load->plan.rate > 0) {
        catch_up(load, source, now_ns);
    } else if (load->plan.in_flight > 0) {
        load->exchange->issue(load, source_at(load, load->next_source++), now_ns);
    } else {
        load->exchange->issue(load, source, now_ns);
    }
}

void load_start(struct load *load) {
    const struct load_plan *plan = &load->plan;
    load->issuing = true;
    load->begun_ns = load_now_ns();
    uint64_t first = plan->rate > 0        ? 0
                     : plan->in_flight > 0 ? plan->in_flight
                                           : (uint64_t)plan->depth * plan->sources;
    for (uint64_t n = 0; n < first && load->fault == NULL; n++) {
        load->exchange->issue(load, source_at(load, load->next_source++), load_now_ns());
    }
    links_flush(&load->links);
}

void load_stop(struct load *load) {
    load->issuing = false;
}

// --- A turn

static void take_message(struct load *load, struct load_link *link, const struct load_message *message,
                         uint64_t now_ns) {
    if (message->body != NULL) {
        load->exchange->take(load, link, message, now_ns);
    } else if (message->control_answer != NULL) {
        uint8_t *out = load_room(load, link);
        if (out != NULL) {
            memcpy(out, message->control_answer, strlen(message->control_answer));
            link_wrote(&load->links, &link->link, strlen(message->control_answer));
        }
    }
}

static void take_messages(struct load *load, struct load_link *link, const struct io_event *event) {
    const uint8_t *in = NULL;
    ssize_t count = link_received(&load->links, &link->link, event, &in);
    if (count < 0) {
        load_fail(load, count == -ECONNRESET ? "the server closed a connection" : "a connection broke");
        return;
    }
    uint64_t now_ns = load_now_ns();
    size_t at = 0, bytes = (size_t)count;
    enum load_step step = LOAD_PARTIAL;
    struct load_message message;
    while (at < bytes && (step = link->wire->next(in + at, bytes - at, &message)) == LOAD_MESSAGE) {
        take_message(load, link, &message, now_ns);
        at += message.bytes;
    }
    if (step == LOAD_BROKEN || bytes - at > 2 * load->message_bytes_max) {
        fprintf(stderr, "bench: received: %.*s\n",
                (int)(bytes - at < SAMPLE_BYTES ? bytes - at : SAMPLE_BYTES), (const char *)in + at);
        load_fail(load, "a connection received what is no message, or one of unexpected size");
    }
    if (!link_taken(&link->link, event, at)) {
        load_fail(load, "no memory");
    }
}

static void take_event(struct load *load, const struct io_event *event) {
    struct load_link *link = &load->table[event->token];
    if (event->kind == IO_RECEIVED) {
        take_messages(load, link, event);
    } else if (event->kind == IO_SENT && link_sent(&load->links, &link->link, event) < 0) {
        load_fail(load, "a connection broke");
    }
}

// Until when a turn may wait.
static uint64_t turn_end_ns(const struct load *load, uint64_t until_ns, uint64_t now_ns) {
    if (!load->issuing || load->plan.rate == 0) {
        return until_ns;
    }
    uint64_t next_ns = due_ns(load, load->due_count);
    return next_ns < now_ns + SPIN_NS ? 0 : next_ns - SPIN_NS < until_ns ? next_ns - SPIN_NS : until_ns;
}

void load_run(struct load *load, uint64_t until_ns) {
    bool open_loop = load->issuing && load->plan.rate > 0;
    uint64_t now_ns = load_now_ns();
    while (load->fault == NULL && (load->pending > 0 || open_loop) && now_ns < until_ns) {
        links_run(&load->links, turn_end_ns(load, until_ns, now_ns));
        struct io_event event;
        while (links_next(&load->links, &event)) {
            take_event(load, &event);
        }
        now_ns = load_now_ns();
        if (open_loop) {
            issue_due(load, now_ns);
        }
        links_flush(&load->links);
    }
}
