// See flood.h. Success: each readiness is one receive, or as many sends as there is room for. Failure: a connection
// that breaks or ends, or a frame that can't be read, ends the flood with a fault.
#include "bench/flood/flood.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/load.h"
#include "tools/client.h"

enum { EVENTS_MAX = 64, RECEIVE_BYTES = 256 * 1024 };

void flood_fail(struct flood *flood, const char *fault) {
    if (flood->fault == NULL) {
        flood->fault = fault;
    }
}

bool flood_sides(struct flood *flood, uint32_t count) {
    flood->sides = calloc(count, sizeof *flood->sides);
    if (flood->sides == NULL) {
        flood_fail(flood, "no memory");
        return false;
    }
    flood->count = count;
    for (uint32_t index = 0; index < count; index++) {
        flood->sides[index].socket = -1;
        flood->sides[index].index = index;
    }
    return true;
}

bool flood_scripts(struct flood *flood, uint32_t count) {
    flood->scripts = calloc(count, sizeof *flood->scripts);
    flood->script_bytes = calloc(count, sizeof *flood->script_bytes);
    if (flood->scripts == NULL || flood->script_bytes == NULL) {
        flood_fail(flood, "no memory");
        return false;
    }
    flood->script_count = count;
    return true;
}

bool flood_script_add(struct flood *flood, uint32_t script, const char *body, size_t bytes) {
    char head[64];
    size_t head_bytes = (size_t)snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", bytes);
    size_t before = flood->script_bytes[script];
    uint8_t *more = realloc(flood->scripts[script], before + head_bytes + bytes);
    if (more == NULL) {
        flood_fail(flood, "no memory");
        return false;
    }
    memcpy(more + before, head, head_bytes);
    memcpy(more + before + head_bytes, body, bytes);
    flood->scripts[script] = more;
    flood->script_bytes[script] = before + head_bytes + bytes;
    return true;
}

// --- Connections

static int greet(const char *hub, const char *method, const char *params) {
    struct client client;
    struct client_answer answer = {0};
    int error = client_open(&client, hub);
    if (error < 0) {
        return error;
    }
    if (method != NULL) {
        error = client_call(&client, method, params, &answer);
    }
    if (error == 0 && answer.refused) {
        error = -EPROTO;
    }
    if (error < 0) {
        client_close(&client);
        return error;
    }
    return client_release(&client);
}

static void watch(struct flood *flood, const struct flood_side *side, int verb) {
    struct epoll_event event = {.events = EPOLLIN | (side->crowded ? (uint32_t)EPOLLOUT : 0),
                                .data.u32 = side->index};
    if (epoll_ctl(flood->epoll, verb, side->socket, &event) < 0) {
        flood_fail(flood, "epoll refused a socket");
    }
}

bool flood_dial(struct flood *flood, struct flood_side *side, const char *method, const char *params) {
    int socket = greet(flood->hub, method, params);
    if (socket < 0) {
        flood_fail(flood, "a connection could not be made, or was refused");
        return false;
    }
    *side = (struct flood_side){.socket = socket, .index = side->index, .frame_bytes = side->frame_bytes};
    watch(flood, side, EPOLL_CTL_ADD);
    return true;
}

void flood_hang_up(struct flood *flood, struct flood_side *side) {
    (void)flood; // closing takes the socket out of the epoll
    // The hub is told that nobody is there any more: a mere end would be that of one direction.
    setsockopt(side->socket, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    close(side->socket);
    side->socket = -1;
    side->left = 0;
}

static void write_on(struct flood *flood, struct flood_side *side) {
    bool was_crowded = side->crowded;
    side->crowded = false;
    while (side->left > 0 && !side->crowded) {
        ssize_t sent = send(side->socket, side->out, side->left, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent > 0) {
            side->out += sent;
            side->left -= (size_t)sent;
        } else if (errno == EAGAIN) {
            side->crowded = true;
        } else if (errno != EINTR) {
            flood_fail(flood, "a connection broke");
            return;
        }
    }
    if (side->crowded != was_crowded) {
        watch(flood, side, EPOLL_CTL_MOD);
    }
}

void flood_say(struct flood *flood, struct flood_side *side, uint32_t script) {
    side->out = flood->scripts[script];
    side->left = flood->script_bytes[script];
    write_on(flood, side);
}

// --- What comes

// Takes what belongs to a header block; how many bytes.
static size_t take_head(struct flood *flood, struct flood_side *side, const char *in, size_t bytes) {
    static const char field[] = "Content-Length: ";
    size_t taken = 0;
    while (taken < bytes && side->head_bytes < sizeof side->head - 1) {
        side->head[side->head_bytes++] = in[taken++];
        if (side->head_bytes < 4 || memcmp(side->head + side->head_bytes - 4, "\r\n\r\n", 4) != 0) {
            continue;
        }
        side->head[side->head_bytes] = '\0';
        side->head_bytes = 0;
        if (strncmp(side->head, field, sizeof field - 1) == 0) {
            side->body_left = strtoull(side->head + sizeof field - 1, NULL, 10);
        }
        if (side->body_left == 0) {
            flood_fail(flood, "a frame has no length");
        }
        return taken;
    }
    if (taken < bytes) {
        flood_fail(flood, "a header block is too long");
    }
    return taken;
}

static uint64_t count_frames(struct flood *flood, struct flood_side *side, const char *in, size_t bytes) {
    uint64_t frames = 0;
    if (side->frame_bytes > 0) {
        side->seen += bytes;
        frames = side->seen / side->frame_bytes;
        side->seen %= side->frame_bytes;
        return frames;
    }
    for (size_t at = 0; at < bytes && flood->fault == NULL;) {
        if (side->body_left == 0) {
            at += take_head(flood, side, in + at, bytes - at);
            continue;
        }
        size_t taken = bytes - at < side->body_left ? bytes - at : (size_t)side->body_left;
        side->body_left -= taken;
        at += taken;
        frames += side->body_left == 0;
    }
    return frames;
}

static void read_on(struct flood *flood, struct flood_side *side) {
    static char in[RECEIVE_BYTES];
    ssize_t count = recv(side->socket, in, sizeof in, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
        flood_fail(flood, "the hub closed a connection");
        return;
    }
    uint64_t frames = count > 0 ? count_frames(flood, side, in, (size_t)count) : 0;
    if (frames > 0 && flood->fault == NULL) {
        flood->kind->heard(flood, side, frames);
    }
}

void flood_run(struct flood *flood, uint64_t until_ns) {
    struct epoll_event events[EVENTS_MAX];
    for (uint64_t now_ns; flood->fault == NULL && (now_ns = load_now_ns()) < until_ns;) {
        int wait_ms = (int)((until_ns - now_ns) / 1000000 + 1);
        int count = epoll_wait(flood->epoll, events, EVENTS_MAX, wait_ms);
        for (int index = 0; index < count && flood->fault == NULL; index++) {
            struct flood_side *side = &flood->sides[events[index].data.u32];
            if (side->socket >= 0 && events[index].events & EPOLLOUT) {
                write_on(flood, side);
            }
            if (side->socket >= 0 && events[index].events & ~(uint32_t)EPOLLOUT) {
                read_on(flood, side);
            }
        }
    }
}

// --- The whole

bool flood_open(struct flood *flood, const struct flood_kind *kind, const char *hub) {
    *flood = (struct flood){.kind = kind, .hub = hub, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    if (flood->epoll < 0) {
        flood_fail(flood, "epoll was refused");
    }
    return flood->fault == NULL && kind->open(flood) && flood->fault == NULL;
}

void flood_begin(struct flood *flood) {
    flood->kind->begin(flood);
}

void flood_close(struct flood *flood) {
    for (uint32_t index = 0; index < flood->count; index++) {
        if (flood->sides[index].socket >= 0) {
            close(flood->sides[index].socket);
        }
    }
    for (uint32_t index = 0; index < flood->script_count; index++) {
        free(flood->scripts[index]);
    }
    free(flood->sides);
    free(flood->scripts);
    free(flood->script_bytes);
    close(flood->epoll);
}
