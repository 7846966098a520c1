// See load_connection.h. Success: a buffer of the pool that holds whole messages is read in place and given
// back. A message that goes on behind its end is moved to the link's own memory, and later bytes are put
// behind it. Failure: a connection that breaks is a negative errno for the caller, memory that is used up a
// NULL or false.
#include "bench/load/load_connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/load/load_epoll.h"
#include "bench/load/load_tls.h"
#include "core/base/limits.h"

enum { CLOSING_NS = 2000000000 };

int links_open(struct links *links, bool trickle, const char **why) {
    *links = (struct links){.budget.bytes_max = UINT64_MAX};
    buffer_pool_init(&links->pool, &links->budget);
    if (trickle) {
        links->trickle = trickle_open(&links->pool);
        *why = "the kernel refuses epoll";
        return links->trickle != NULL ? 0 : -ENOMEM;
    }
    struct io_options options = {
        .pool = &links->pool,
        .buffers_provided = RECEIVE_BUFFERS_PROVIDED,
        .backend = io_try(IO_URING, why) == 0 ? IO_URING : IO_EPOLL,
    };
    return io_open(&links->io, &options, why);
}

void links_run(struct links *links, uint64_t until_ns) {
    if (links->trickle != NULL) {
        trickle_run(links->trickle, until_ns);
    } else {
        io_run(links->io, until_ns);
    }
}

bool links_next(struct links *links, struct io_event *event) {
    if (links->trickle == NULL) {
        return io_next(links->io, event);
    }
    links_flush(links);
    return trickle_next(links->trickle, event);
}

void link_receive(struct links *links, struct link *link) {
    link->receiving = true;
    if (links->trickle != NULL) {
        if (trickle_watch(links->trickle, link->socket, link->index) < 0) {
            shutdown(link->socket, SHUT_RDWR);
        }
        return;
    }
    io_receive(links->io, link->socket, link->index, false);
}

// --- Sending

uint8_t *link_room(struct link *link, size_t bytes_max) {
    struct bytes *out = &link->out[link->filling];
    return bytes_room(out, bytes_max) ? out->at + out->count : NULL;
}

static void list(struct links *links, struct link *link) {
    if (!link->listed && !link->sending && link->out[link->filling].count > 0) {
        link->listed = true;
        link->next = links->unsent;
        links->unsent = link;
    }
}

void link_wrote(struct links *links, struct link *link, size_t bytes) {
    link->out[link->filling].count += bytes;
    list(links, link);
}

static void send_rest(struct links *links, struct link *link) {
    if (links->trickle != NULL) {
        ssize_t sent = trickle_write(links->trickle, link->socket, link->index, &link->rest);
        if (sent != -EAGAIN &&
            link_sent(links, link, &(struct io_event){.kind = IO_SENT, .result = (int32_t)sent}) < 0) {
            shutdown(link->socket, SHUT_RDWR); // which is told as any end
        }
        return;
    }
    io_send(links->io, link->socket, link->index, &link->rest, 1);
}

void links_flush(struct links *links) {
    for (struct link *link; (link = links->unsent) != NULL;) {
        links->unsent = link->next;
        link->listed = false;
        link->sending = true;
        const struct bytes *out = &link->out[link->filling];
        if (link->ssl != NULL) {
            link->sealed.count = 0;
            if (!load_tls_seal(link->ssl, out->at, out->count, &link->sealed)) {
                shutdown(link->socket, SHUT_RDWR); // which is told as any end
            }
            out = &link->sealed;
        }
        link->rest = (struct iovec){.iov_base = out->at, .iov_len = out->count};
        link->filling = !link->filling;
        send_rest(links, link);
    }
}

int link_sent(struct links *links, struct link *link, const struct io_event *event) {
    if (event->result == -EAGAIN) { // a trickle's: there is room again
        send_rest(links, link);
        return 0;
    }
    if (event->result <= 0) {
        link->sending = false;
        return event->result == 0 ? -ECONNRESET : event->result;
    }
    link->rest.iov_base = (uint8_t *)link->rest.iov_base + event->result;
    link->rest.iov_len -= (size_t)event->result;
    if (link->rest.iov_len > 0) {
        send_rest(links, link);
        return 0;
    }
    link->sending = false;
    link->out[!link->filling].count = 0;
    list(links, link);
    return 0;
}

// --- Receiving

static bool hold(struct link *link, const uint8_t *from, size_t bytes) {
    if (!bytes_room(&link->held, bytes)) {
        return false;
    }
    memcpy(link->held.at + link->held.count, from, bytes);
    link->held.count += bytes;
    return true;
}

ssize_t link_received(struct links *links, struct link *link, const struct io_event *event,
                      const uint8_t **in) {
    link->receiving = event->more;
    if (event->result <= 0) {
        if (event->result != -ENOBUFS) {
            return event->result == 0 ? -ECONNRESET : event->result;
        }
        link_receive(links, link);
        *in = link->held.at;
        return (ssize_t)link->held.count;
    }
    if (!event->more) {
        link_receive(links, link);
    }
    if (link->ssl != NULL) {
        const uint8_t *arrived = buffer_arrival(event->buffer);
        bool good = load_tls_open(link->ssl, arrived, (size_t)event->result, &link->held);
        *in = link->held.at;
        if (!good) {
            buffer_drop(event->buffer);
        }
        return good ? (ssize_t)link->held.count : -EPROTO;
    }
    if (link->held.count == 0) {
        *in = buffer_arrival(event->buffer);
        return event->result;
    }
    if (!hold(link, buffer_arrival(event->buffer), (size_t)event->result)) {
        buffer_drop(event->buffer);
        return -ENOMEM;
    }
    *in = link->held.at;
    return (ssize_t)link->held.count;
}

bool link_taken(struct link *link, const struct io_event *event, size_t bytes) {
    bool kept = true;
    if (link->held.count > 0) {
        link->held.count -= bytes;
        memmove(link->held.at, link->held.at + bytes, link->held.count);
    } else if (link->ssl == NULL && event->result > 0 && (size_t)event->result > bytes) {
        kept = hold(link, buffer_arrival(event->buffer) + bytes, (size_t)event->result - bytes);
    }
    buffer_drop(event->buffer);
    return kept;
}

// --- The end

static struct link *link_at(void *table, size_t index, size_t size) {
    return (struct link *)((char *)table + index * size);
}

static bool at_rest(void *table, size_t count, size_t size) {
    for (size_t index = 0; index < count; index++) {
        const struct link *link = link_at(table, index, size);
        if (link->receiving || link->sending) {
            return false;
        }
    }
    return true;
}

// Takes the ends of what was under way; true when there is nothing any more. A socket that was shut down ends
// all of it soon; the clock is for a kernel that doesn't.
static bool come_to_rest(struct links *links, void *table, size_t count, size_t size) {
    if (links->trickle != NULL) {
        return true; // which has nothing under way between two calls
    }
    uint64_t until_ns = io_now(links->io) + CLOSING_NS;
    while (!at_rest(table, count, size) && io_now(links->io) < until_ns) {
        struct io_event event;
        io_run(links->io, until_ns);
        while (io_next(links->io, &event)) {
            struct link *link = link_at(table, event.token, size);
            if (event.kind == IO_SENT) {
                link->sending = false;
            } else if (event.kind == IO_RECEIVED) {
                link->receiving = event.more;
                buffer_drop(event.buffer);
            }
        }
    }
    return at_rest(table, count, size);
}

static void close_socket(struct links *links, int socket) {
    if (links->trickle != NULL) {
        close(socket);
    } else {
        io_close_socket(links->io, socket);
    }
}

void links_close(struct links *links, void *table, size_t count, size_t size) {
    if (links->io == NULL && links->trickle == NULL) {
        return;
    }
    for (size_t index = 0; index < count; index++) {
        struct link *link = link_at(table, index, size);
        if (link->socket >= 0) {
            shutdown(link->socket, SHUT_RDWR);
        }
    }
    bool rested = come_to_rest(links, table, count, size);
    for (size_t index = 0; index < count && rested; index++) {
        struct link *link = link_at(table, index, size);
        if (link->socket >= 0) {
            close_socket(links, link->socket);
        }
        load_tls_end(link->ssl);
        free(link->sealed.at);
        free(link->held.at);
        free(link->out[0].at);
        free(link->out[1].at);
    }
    if (rested) { // else the kernel may still write there: the process's end clears that up
        if (links->io != NULL) {
            io_close(links->io);
        }
        trickle_close(links->trickle);
        buffer_pool_deinit(&links->pool);
    }
}
