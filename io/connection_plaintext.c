// Receiving on a secure connection: events of the socket become events of their plaintext.
#include "io/connection.h"

#include <assert.h>
#include <errno.h>

#include "io/secure.h"

void connection_hear(struct connection *connection, const struct io_event *event) {
    struct secure *secure = connection->secure;
    connection_note(connection, event);
    if (event->result > 0 && !connection->ending)
        secure_hear(secure, event->buffer, (uint32_t)event->result);
    else if (event->result == -ENOBUFS)
        secure->starved = true;
    if (connection_is_end(event->result)) {
        secure->socket_ended = true;
        secure->socket_end = event->result;
    }
}

void connection_put_off(struct connection *connection) {
    secure_put_off(connection->secure);
}

bool connection_waits(const struct connection *connection) {
    return connection->secure->heard != NULL;
}

// Opens as much as there is room for; how much that is. Each record by itself goes to where it is read, so one that would
// be cut waits for the next room.
static size_t open_to(struct secure *secure, uint8_t *out, size_t room) {
    size_t bytes = 0;
    for (size_t count; bytes < room && (!bytes || secure->next_bytes <= room - bytes); bytes += count) {
        enum secure_result result = secure_open(secure, out + bytes, room - bytes, &count);
        if (result != SECURE_BYTES && result != SECURE_SHAKEN)
            break;
    }
    return bytes;
}

// The next bytes: where they are wanted, or in a buffer.
static bool open_more(struct connection *connection, struct io_event *event) {
    struct secure *secure = connection->secure;
    if (!secure->arrival && !secure->heard)
        return false;
    if (connection->direct) {
        event->result = (int32_t)open_to(secure, connection->direct, connection->direct_bytes);
        return event->result > 0;
    }
    struct buffer *buffer = buffer_take_sized(secure->pool, RECEIVE_BUFFER_BYTES);
    if (!buffer) {
        secure->broken = secure->out_of_memory = true;
        return false;
    }
    event->result = (int32_t)open_to(secure, buffer_arrival(buffer), ARRIVAL_BYTES_MAX);
    if (event->result > 0)
        event->buffer = buffer;
    else
        buffer_drop(buffer);
    return event->result > 0;
}

// How it ended, once; false: it hasn't, or that was told.
static bool tell_final(struct secure *secure, struct io_event *event) {
    if (secure->final_told || !(secure->broken || secure->peer_finished))
        return false;
    secure->final_told = true;
    event->result = !secure->broken ? 0 : secure->out_of_memory ? -ENOMEM : -EBADMSG;
    return true;
}

static bool tell_socket(struct secure *secure, struct io_event *event) {
    event->result = -ENOBUFS;
    if (secure->starved) {
        secure->starved = false;
        return true;
    }
    if (!secure->socket_ended || secure->socket_told)
        return false;
    secure->socket_told = true;
    event->result = secure->socket_end;
    if (event->result == 0 && !secure->final_told) {
        secure->truncated = true;
        event->result = -ECONNABORTED;
    }
    return true;
}

bool connection_opened(struct connection *connection, struct io_event *event) {
    struct secure *secure = connection->secure;
    *event = (struct io_event){.kind = IO_RECEIVED, .more = true, .token = connection->token};
    return open_more(connection, event) || tell_final(secure, event) || tell_socket(secure, event);
}

bool connection_established(const struct connection *connection) {
    return !connection->secure || connection->secure->established;
}

bool connection_certificate(const struct connection *connection, const struct secure_source *now,
                            bool (*visit)(void *context, const char *name, size_t bytes), void *context) {
    const struct secure *secure = connection->secure;
    return secure && secure->established && secure->cipher->certificate(secure, now, visit, context);
}
