// See load.h. It goes well: each turn waits for readable connections, and for each of them receives
// once, handles every whole message, and writes once. It fails: a connection that ends, or sends what is no
// message, stops the load with a fault; a message that is whole but wrong is counted, the first one shown,
// and the load goes on.
#include "bench/load/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/limits.h"
#include "core/lookup.h"

enum {
    RECEIVE_BYTES = 256 * 1024, // room for one receive beside the largest message
    EVENTS_A_TURN = 256,
    TURN_MS_MAX = 50,
    SAMPLE_BYTES = 300,
    ID_BYTES_MAX = 1024,
};

uint64_t load_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void fail(struct load *load, const char *fault) {
    if (load->fault == NULL) {
        load->fault = fault;
    }
}

static void count_wrong(struct load *load, const struct load_message *message) {
    if (load->wrong++ == 0) {
        size_t shown = message->body_bytes < SAMPLE_BYTES ? message->body_bytes : SAMPLE_BYTES;
        fprintf(stderr, "bench: the first wrong message: %.*s\n", (int)shown, (const char *)message->body);
    }
}

// Where the next message may be written; NULL when memory is used up (a fault).
static uint8_t *out_room(struct load *load, struct load_link *link) {
    if (link->out_capacity - link->out_end >= load->message_bytes_max) {
        return link->out + link->out_end;
    }
    if (link->out_at > link->out_capacity / 2) {
        memmove(link->out, link->out + link->out_at, link->out_end - link->out_at);
        link->out_end -= link->out_at;
        link->out_at = 0;
        return out_room(load, link);
    }
    size_t capacity = link->out_capacity * 2 + load->message_bytes_max;
    uint8_t *moved = realloc(link->out, capacity);
    if (moved == NULL) {
        fail(load, "no memory");
        return NULL;
    }
    link->out = moved;
    link->out_capacity = capacity;
    return link->out + link->out_end;
}

static void ask_for_room(struct load *load, struct load_link *link, bool wanted) {
    if (link->waits_for_room == wanted) {
        return;
    }
    link->waits_for_room = wanted;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? (uint32_t)EPOLLOUT : 0), .data.ptr = link};
    epoll_ctl(load->epoll, EPOLL_CTL_MOD, link->socket, &event);
}

static void write_out(struct load *load, struct load_link *link) {
    if (link->out_at == link->out_end) {
        return;
    }
    ssize_t sent = send(link->socket, link->out + link->out_at, link->out_end - link->out_at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        fail(load, "a connection broke");
        return;
    }
    link->out_at += sent < 0 ? 0 : (size_t)sent;
    if (link->out_at == link->out_end) {
        link->out_at = link->out_end = 0;
    }
    ask_for_room(load, link, link->out_end > 0);
}

static void issue(struct load *load, struct load_link *source, uint64_t now_ns) {
    uint8_t *out = out_room(load, source);
    if (out == NULL) {
        return;
    }
    while (source->slots[source->next_id & load->slot_mask].id != 0) {
        source->next_id++;
    }
    struct load_slot *slot = &source->slots[source->next_id & load->slot_mask];
    struct load_request request = {
        .source = &source->name,
        .target = &load->links[source->next_target].name,
        .id = source->next_id,
        .plain_inbox = load->plan.plain_inbox,
    };
    load_nonce(((uint64_t)(source - load->links) << 40) + request.id, request.nonce);
    *slot = (struct load_slot){.id = request.id, .sent_ns = now_ns};
    memcpy(slot->nonce, request.nonce, LOAD_NONCE_BYTES);
    source->out_end += load->plan.wire->write_request(&load->plan.body, &request, out);
    source->next_target = source->next_target + 1 == load->plan.targets ? 0 : source->next_target + 1;
    source->next_id++;
    load->pending++;
}

static void settle(struct load *load, struct load_link *source, struct load_slot *slot, uint64_t now_ns) {
    slot->id = 0;
    load->pending--;
    if (load->issuing) {
        issue(load, source, now_ns);
    }
}

// An error, or an answer that is broken or nobody's: if it bears the id of a pending request, that is over.
static void take_wrong_answer(struct load *load, struct load_link *source, const struct load_message *message,
                              uint64_t now_ns) {
    count_wrong(load, message);
    struct lookup found;
    lookup_body(&found, message->body, (uint32_t)message->body_bytes, ID_BYTES_MAX);
    uint64_t id;
    if (lookup_has(&found, KEY_ID) && json_number_whole(message->body, found.value[KEY_ID], &id) && id != 0 &&
        source->slots[id & load->slot_mask].id == id) {
        settle(load, source, &source->slots[id & load->slot_mask], now_ns);
    }
}

static void take_answer(struct load *load, struct load_link *source, const struct load_message *message,
                        uint64_t now_ns) {
    uint64_t id;
    struct load_parts parts;
    bool ours = load_answer_read(&load->plan.body, message->body, message->body_bytes, &id, &parts);
    struct load_slot *slot = ours ? &source->slots[id & load->slot_mask] : NULL;
    if (slot == NULL || slot->id == 0 || slot->id != id ||
        memcmp(slot->nonce, parts.nonce, LOAD_NONCE_BYTES) != 0) {
        take_wrong_answer(load, source, message, now_ns);
        return;
    }
    if (load->recording) {
        histogram_record(&load->latency, now_ns - slot->sent_ns);
    }
    settle(load, source, slot, now_ns);
}

static void take_request(struct load *load, struct load_link *target, const struct load_message *message) {
    struct load_parts parts;
    if (!load_request_read(&load->plan.body, &target->name, message->body, message->body_bytes, &parts)) {
        count_wrong(load, message);
        return;
    }
    uint8_t *out = out_room(load, target);
    if (out != NULL) {
        target->out_end += load->plan.wire->write_answer(&load->plan.body, message, &parts, out);
    }
}

static void take_message(struct load *load, struct load_link *link, const struct load_message *message,
                         uint64_t now_ns) {
    if (message->body == NULL) {
        uint8_t *out = message->control_answer == NULL ? NULL : out_room(load, link);
        if (out != NULL) {
            memcpy(out, message->control_answer, strlen(message->control_answer));
            link->out_end += strlen(message->control_answer);
        }
    } else if (link->slots != NULL) {
        take_answer(load, link, message, now_ns);
    } else {
        take_request(load, link, message);
    }
}

static void take_messages(struct load *load, struct load_link *link) {
    uint64_t now_ns = load_now_ns();
    size_t at = 0;
    enum load_step step = LOAD_PARTIAL;
    struct load_message message;
    while (at < link->filled &&
           (step = load->plan.wire->next(link->in + at, link->filled - at, &message)) == LOAD_MESSAGE) {
        take_message(load, link, &message, now_ns);
        at += message.bytes;
    }
    memmove(link->in, link->in + at, link->filled - at);
    link->filled -= at;
    if (step == LOAD_BROKEN || link->filled == load->in_capacity) {
        fprintf(stderr, "bench: received: %.*s\n",
                (int)(link->filled < SAMPLE_BYTES ? link->filled : SAMPLE_BYTES), (const char *)link->in);
        fail(load, "a connection received what is no message, or one of unexpected size");
    }
}

static void receive(struct load *load, struct load_link *link) {
    ssize_t received = recv(link->socket, link->in + link->filled, load->in_capacity - link->filled, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (received <= 0) {
        fail(load, received == 0 ? "the hub closed a connection" : "a connection broke");
        return;
    }
    link->filled += (size_t)received;
    take_messages(load, link);
}

void load_run(struct load *load, uint64_t until_ns) {
    struct epoll_event events[EVENTS_A_TURN];
    uint64_t now_ns = load_now_ns();
    while (load->fault == NULL && load->pending > 0 && now_ns < until_ns) {
        uint64_t left_ms = (until_ns - now_ns) / 1000000 + 1;
        int count = epoll_wait(load->epoll, events, EVENTS_A_TURN,
                               left_ms < TURN_MS_MAX ? (int)left_ms : TURN_MS_MAX);
        for (int i = 0; i < count && load->fault == NULL; i++) {
            struct load_link *link = events[i].data.ptr;
            if ((events[i].events & ~(uint32_t)EPOLLOUT) != 0) {
                receive(load, link);
            }
            write_out(load, link);
        }
        now_ns = load_now_ns();
    }
}

void load_start(struct load *load) {
    load->issuing = true;
    for (uint32_t i = load->plan.targets; i < load->links_count; i++) {
        for (uint32_t n = 0; n < load->plan.depth; n++) {
            issue(load, &load->links[i], load_now_ns());
        }
        write_out(load, &load->links[i]);
    }
}

void load_stop(struct load *load) {
    load->issuing = false;
}

// Connects link `index`: the targets come first, so that all are there when the first request is sent.
static int open_link(struct load *load, uint32_t index) {
    struct load_link *link = &load->links[index];
    bool is_target = index < load->plan.targets;
    uint32_t number = is_target ? index : index - load->plan.targets;
    link->name.bytes = (uint32_t)snprintf(link->name.text, sizeof link->name.text, "bench-%s-%d-%u",
                                          is_target ? "target" : "source", (int)getpid(), number);
    struct load_greeting greeting = {.at = load->plan.at,
                                     .name = &link->name,
                                     .is_target = is_target,
                                     .plain_inbox = load->plan.plain_inbox};
    link->socket = load->plan.wire->greet(&greeting);
    if (link->socket < 0) {
        return link->socket;
    }
    link->next_id = 1;
    link->next_target = number % load->plan.targets; // the sources don't all begin at one target
    link->in = calloc(1, load->in_capacity + BUFFER_SLACK_BYTES);
    link->slots = is_target ? NULL : calloc(load->slot_mask + 1, sizeof *link->slots);
    if (link->in == NULL || (!is_target && link->slots == NULL)) {
        return -ENOMEM;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    bool failed = fcntl(link->socket, F_SETFL, O_NONBLOCK) < 0 ||
                  epoll_ctl(load->epoll, EPOLL_CTL_ADD, link->socket, &event) < 0;
    return failed ? -errno : 0;
}

int load_open(struct load *load, const struct load_plan *plan) {
    *load = (struct load){.plan = *plan, .links_count = plan->sources + plan->targets};
    load->epoll = epoll_create1(EPOLL_CLOEXEC);
    load->links = calloc(load->links_count, sizeof *load->links);
    if (load->epoll < 0 || load->links == NULL) {
        return load->epoll < 0 ? -errno : -ENOMEM;
    }
    // The envelope of a body is small against this, however long names and ids are.
    load->message_bytes_max = plan->body.bytes + plan->wire->wrap_bytes_max + 512;
    load->in_capacity = RECEIVE_BYTES + 2 * load->message_bytes_max;
    load->slot_mask = 1;
    while (load->slot_mask < 2ULL * plan->depth) {
        load->slot_mask = load->slot_mask * 2 + 1;
    }
    for (uint32_t i = 0; i < load->links_count; i++) {
        load->links[i].socket = -1;
    }
    int error = 0;
    for (uint32_t i = 0; i < load->links_count && error == 0; i++) {
        error = open_link(load, i);
    }
    return error;
}

void load_close(struct load *load) {
    for (uint32_t i = 0; load->links != NULL && i < load->links_count; i++) {
        struct load_link *link = &load->links[i];
        if (link->socket >= 0) {
            close(link->socket);
        }
        free(link->in);
        free(link->out);
        free(link->slots);
    }
    free(load->links);
    if (load->epoll >= 0) {
        close(load->epoll);
    }
}
