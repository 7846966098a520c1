// bench_backend: the server behind a proxy of HTTP, to which the hub's /rpc is compared. The server answers
// each request that the load posts as a target of the load's would, over the hub's own way into the kernel.
//
//   bench_backend URI BODY-BYTES
//
// Success: the server serves one load and is ended by a signal. Failure: a URI that can't be listened on, or
// an io that is refused, is exit status 1. A connection that breaks, or on which other bytes come than the
// load posts, is closed.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load/load_body.h"
#include "bench/load/load_connection.h"
#include "bench/load/load_dial.h"
#include "bench/load/load_http.h"
#include "core/base/text.h"
#include "io/listener.h"

enum { CONNECTIONS_MAX = 1024, HEAD_BYTES_MAX = 128 };
#define TOKEN_LISTENER (UINT64_C(1) << 40)

struct backend {
    struct links links;
    struct listener listener;
    struct load_body body;
    struct link table[CONNECTIONS_MAX];
};

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench_backend: %s: %s\n", what, why);
    exit(1);
}

// --- An answer

// The request's own target: whoever it is, it is answered for.
static bool read_target(const uint8_t *body, size_t bytes, struct load_name *target) {
    static const char key[] = "\"targetAgent\":\"";
    const uint8_t *name = memmem(body, bytes, key, sizeof key - 1);
    const uint8_t *from = name == NULL ? NULL : name + sizeof key - 1;
    const uint8_t *end = from == NULL ? NULL : memchr(from, '"', (size_t)(body + bytes - from));
    if (end == NULL || end - from > LOAD_NAME_BYTES_MAX) {
        return false;
    }
    target->bytes = (uint32_t)(end - from);
    memcpy(target->text, from, target->bytes);
    return true;
}

static bool answer(struct backend *backend, struct link *link, const struct load_message *message) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
    struct load_name target;
    struct load_parts parts;
    if (!read_target(message->body, message->body_bytes, &target) ||
        !load_request_read(&backend->body, &target, message->body, message->body_bytes, &parts)) {
        return false;
    }
    size_t bytes = load_answer_bytes(&backend->body, parts.id_bytes);
    uint8_t *out = link_room(link, HEAD_BYTES_MAX + bytes);
    if (out == NULL) {
        die("memory", strerror(ENOMEM));
    }
    uint8_t *at = load_put(out, head, sizeof head - 1);
    at += text_digits((char *)at, bytes);
    at = load_put(at, "\r\n\r\n", 4);
    load_answer_write(&backend->body, &parts, at);
    link_wrote(&backend->links, link, (size_t)(at - out) + bytes);
    return true;
}

// How many bytes were whole requests; SIZE_MAX when something was none.
static size_t answer_all(struct backend *backend, struct link *link, const uint8_t *in, size_t bytes) {
    size_t at = 0;
    struct load_message message;
    while (at < bytes) {
        enum load_step step = load_http_next(in + at, bytes - at, "POST /rpc ", &message);
        if (step == LOAD_PARTIAL) {
            break;
        }
        if (step == LOAD_BROKEN || !answer(backend, link, &message)) {
            return SIZE_MAX;
        }
        at += message.bytes;
    }
    return at;
}

// --- Connections

static void accepted(struct backend *backend, const struct io_event *event) {
    if (!event->more) {
        io_accept(backend->links.io, backend->listener.socket, TOKEN_LISTENER);
    }
    for (uint32_t index = 0; event->result >= 0 && index < CONNECTIONS_MAX; index++) {
        struct link *link = &backend->table[index];
        if (link->socket < 0 && !link->receiving && !link->sending && !link->listed) {
            *link = (struct link){.socket = event->result, .index = index};
            link_receive(&backend->links, link);
            return;
        }
    }
    die("connections", "more than it has room for");
}

static void end(struct backend *backend, struct link *link) {
    if (link->socket >= 0) {
        io_close_socket(backend->links.io, link->socket);
        link->socket = -1;
    }
}

static void received(struct backend *backend, struct link *link, const struct io_event *event) {
    const uint8_t *in = NULL;
    ssize_t count = link_received(&backend->links, link, event, &in);
    size_t taken = count < 0 ? SIZE_MAX : answer_all(backend, link, in, (size_t)count);
    if (taken == SIZE_MAX || !link_taken(link, event, taken)) {
        end(backend, link);
    }
}

static void turn(struct backend *backend) {
    struct io_event event;
    io_run(backend->links.io, UINT64_MAX);
    while (io_next(backend->links.io, &event)) {
        if (event.kind == IO_ACCEPTED) {
            accepted(backend, &event);
        } else if (event.kind == IO_RECEIVED) {
            received(backend, &backend->table[event.token], &event);
        } else if (event.kind == IO_SENT &&
                   link_sent(&backend->links, &backend->table[event.token], &event) < 0) {
            end(backend, &backend->table[event.token]);
        }
    }
    links_flush(&backend->links);
}

int main(int argc, char **argv) {
    static struct backend backend;
    struct address address;
    const char *why = "no URI to listen on";
    unsigned long bytes = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (bytes == 0 || bytes > 1 << 24) {
        fputs("usage: bench_backend URI BODY-BYTES\n", stderr);
        return 2;
    }
    backend.body.bytes = (uint32_t)bytes;
    if (address_parse(&address, argv[1]) < 0 || listener_open(&backend.listener, &address, false, &why) < 0) {
        die(argv[1], why);
    }
    if (links_open(&backend.links, false, &why) < 0) {
        die("io", why);
    }
    for (uint32_t index = 0; index < CONNECTIONS_MAX; index++) {
        backend.table[index].socket = -1;
    }
    io_accept(backend.links.io, backend.listener.socket, TOKEN_LISTENER);
    char listening[256];
    address_format(&backend.listener.address, listening, sizeof listening);
    fprintf(stderr, "listening %s\n", listening);
    for (;;) {
        turn(&backend);
    }
}
