// The load generator's connections over the hub's own seam to the kernel (io/io.h). Arrivals are read where
// they lie, and writes wait until the turn's end and go out with one send a connection. Or connections are
// served one after the other, as plain programs have them (load_epoll.h).
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/load/load_bytes.h"
#include "core/base/buffer.h"
#include "io/io.h"

struct link {
    int socket;          // -1: not open
    uint32_t index;      // in the table of links
    struct bytes held;   // the beginning of a message whose end has not come
    struct bytes out[2]; // one is being filled, the other one sent
    uint8_t filling;
    bool receiving, sending, listed;
    SSL *ssl;            // NULL: plain
    struct bytes sealed; // what of `out` is being sent then
    struct iovec rest;   // of the one being sent
    struct link *next;   // of those with something to send
};

struct trickle;

struct links {
    struct io *io;           // or, of a trickle,
    struct trickle *trickle; // that; the other one is NULL
    struct buffer_budget budget;
    struct buffer_pool pool;
    struct link *unsent;
};

// Opens the calling thread's io: io_uring, or epoll where that is refused; or a trickle. 0, or -errno with *why set.
int links_open(struct links *links, bool trickle, const char **why);
// Closes every link of the table and waits until the kernel has let go of them, then closes what links_open has
// opened, if it has. `size` is that of what the table holds, a link at the start of each.
void links_close(struct links *links, void *table, size_t count, size_t size);

// Waits until there is an event, or the monotonic clock reaches until_ns; then hands out what there is until false.
// Before each event of a trickle, what those before it brought about is sent.
void links_run(struct links *links, uint64_t until_ns);
bool links_next(struct links *links, struct io_event *event);

// Receives from now on.
void link_receive(struct links *links, struct link *link);
// Where `bytes_max` bytes may be written; NULL without memory. link_wrote says how many were.
uint8_t *link_room(struct link *link, size_t bytes_max);
void link_wrote(struct links *links, struct link *link, size_t bytes);
// Sends what was written since, on every link that has no send under way.
void links_flush(struct links *links);

// Notes the link's event. 0; -errno when the connection broke or ended (-ECONNRESET).
int link_sent(struct links *links, struct link *link, const struct io_event *event);
// Received bytes, behind those that were held before, are at *in: slack follows them. Returns the count of
// bytes, or -errno likewise. link_taken is due after it, with the number of bytes that were whole messages.
ssize_t link_received(struct links *links, struct link *link, const struct io_event *event,
                      const uint8_t **in);
bool link_taken(struct link *link, const struct io_event *event, size_t bytes);
