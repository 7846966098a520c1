// How a load's connections come and go. Success: each is dialled and greeted before the next, so that a
// server takes them in a known order, and receives from then on. Failure: the first that can't be greeted
// ends it, with that error.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/load/load_exchange.h"
#include "bench/load/load_program.h"
#include "bench/load/load_tls.h"

// The envelope of a body is small against this, however long names and ids are.
enum { ENVELOPE_BYTES = 512 };

static void name_link(const struct load *load, struct load_link *link) {
    bool idles = link->role == LOAD_IDLES;
    bool alike =
        (load->plan.events && !idles) || (link->role == LOAD_ANSWERS && load->plan.wire->server_picks_target);
    const char *kind = idles                        ? "idle"
                       : load->plan.events          ? "topic"
                       : link->role == LOAD_ANSWERS ? "target"
                                                    : "source";
    link->name.bytes = (uint32_t)snprintf(link->name.text, sizeof link->name.text, "bench-%s-%d-%u", kind,
                                          (int)getpid(), alike ? 0 : link->link.index);
}

static int greet(struct load *load, struct load_link *link) {
    bool remote_target = load_is_source(link) && load->plan.source_at != NULL;
    struct load_greeting greeting = {.at = remote_target ? load->plan.source_at : load->plan.at,
                                     .name = &link->name,
                                     .role = link->role,
                                     .ssl = &link->link.ssl,
                                     .plain_inbox = load->plan.plain_inbox};
    int socket = link->wire->greet(&greeting);
    if (socket < 0) {
        return socket;
    }
    link->link.socket = socket;
    load->opened++;
    return link->link.ssl == NULL || load_tls_begin(link->link.ssl) ? 0 : -ENOMEM;
}

static const struct load_wire *source_wire(const struct load_plan *plan) {
    return plan->source_wire != NULL     ? plan->source_wire
           : plan->wire->sources != NULL ? plan->wire->sources
                                         : plan->wire;
}

static int open_link(struct load *load, uint32_t index, enum load_role role, bool reads) {
    struct load_link *link = &load->table[index];
    link->role = role;
    link->wire = load_is_source(link) ? source_wire(&load->plan) : load->plan.wire;
    link->next_id = link->expected = 1;
    link->next_target = index % load->plan.targets; // the sources don't all begin at one target
    name_link(load, link);
    if (load_is_source(link)) {
        link->slots = calloc(load->slot_mask + 1, sizeof *link->slots);
        if (link->slots == NULL) {
            return -ENOMEM;
        }
    }
    int error = greet(load, link);
    if (error == 0 && reads) {
        link_receive(&load->links, &link->link);
    }
    return error;
}

static int open_target(struct load *load, uint32_t index, enum load_role role) {
    struct load_link *link = &load->table[index];
    if (load->plan.program == NULL) {
        return open_link(load, index, role, true);
    }
    link->role = role;
    link->wire = load->plan.wire;
    name_link(load, link);
    return load_program_start(load->plan.program, load->plan.at, link->name.text,
                              load_answer_fill(&load->plan.body), &link->program);
}

static bool can_exchange(const struct load_plan *plan) {
    const struct load_wire *source = source_wire(plan), *target = plan->wire;
    bool answers = target->write_answer != NULL || (target == source && target->server_picks_target);
    if (plan->program != NULL) {
        return !plan->events && target->is_hub && source->write_request != NULL;
    }
    return plan->events ? source->write_event != NULL : source->write_request != NULL && answers;
}

static int make_table(struct load *load) {
    const struct load_plan *plan = &load->plan;
    uint64_t count = (uint64_t)plan->targets + plan->sources + plan->idle + plan->slow;
    load->table = calloc(count, sizeof *load->table);
    if (load->table == NULL) {
        return -ENOMEM;
    }
    load->table_count = (uint32_t)count;
    for (uint32_t index = 0; index < load->table_count; index++) {
        load->table[index].link.socket = -1;
        load->table[index].link.index = index;
    }
    uint64_t slots = plan->depth > plan->in_flight ? plan->depth : plan->in_flight;
    while (load->slot_mask < 2 * slots) {
        load->slot_mask = load->slot_mask * 2 + 1;
    }
    return 0;
}

int load_open(struct load *load, const struct load_plan *plan, const char **why) {
    *load = (struct load){.plan = *plan};
    load->exchange = plan->events ? &load_exchange_events : &load_exchange_requests;
    size_t own = plan->wire->wrap_bytes_max, sources = source_wire(plan)->wrap_bytes_max;
    load->message_bytes_max = plan->body.bytes + (own > sources ? own : sources) + ENVELOPE_BYTES;
    if (!can_exchange(plan)) {
        *why = "the protocol has no such exchange";
        return -EOPNOTSUPP;
    }
    int error = links_open(&load->links, plan->trickle, why);
    if (error == 0) {
        error = make_table(load);
    }
    enum load_role target = plan->events ? LOAD_SUBSCRIBES : LOAD_ANSWERS;
    enum load_role source = plan->events ? LOAD_PUBLISHES : LOAD_ASKS;
    for (uint32_t n = 0; error == 0 && (n < plan->targets || n < plan->sources); n++) {
        if (n < plan->targets) {
            error = open_target(load, n, target);
        }
        if (error == 0 && n < plan->sources) {
            error = open_link(load, plan->targets + n, source, true);
        }
    }
    return error;
}

int load_open_others(struct load *load) {
    const struct load_plan *plan = &load->plan;
    uint32_t index = plan->targets + plan->sources;
    int error = 0;
    for (uint32_t n = 0; error == 0 && n < plan->idle; n++) {
        error = open_link(load, index++, LOAD_IDLES, true);
    }
    for (uint32_t n = 0; error == 0 && n < plan->slow; n++) {
        error = open_link(load, index++, plan->events ? LOAD_SUBSCRIBES : LOAD_IDLES, false);
    }
    return error;
}

void load_close(struct load *load) {
    links_close(&load->links, load->table, load->table_count, sizeof *load->table);
    for (uint32_t index = 0; index < load->table_count; index++) {
        free(load->table[index].slots);
        if (load->table[index].program > 0) {
            load_program_end(load->table[index].program);
        }
    }
    free(load->table);
}
