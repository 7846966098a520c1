#include "tools/bridge_socket.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/limits.h"

enum { READ_BYTES = 64 * 1024, GOODBYE_MS = 1000 };

void bridge_socket_close(struct bridge_socket *side) {
    SSL_free(side->ssl);
    if (side->socket >= 0) {
        close(side->socket);
    }
    text_deinit(&side->in);
    text_deinit(&side->out);
}

// --- Plain or TLS, as recv and send; -EAGAIN: not now

static bool is_for_later(int error) {
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

// Prints why the hub ends the connection. With TLS 1.3 the hub refuses a certificate when this side's handshake is
// over.
static void say_alert(void) {
    unsigned long error = ERR_peek_error();
    if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET) {
        fprintf(stderr, "patchbay: TLS: %s\n", ERR_reason_error_string(error));
    }
}

static ssize_t receive(const struct bridge_socket *side, void *bytes, size_t capacity, int flags) {
    size_t count = 0;
    if (side->ssl == NULL) {
        ssize_t received = recv(side->socket, bytes, capacity, flags);
        return received >= 0 ? received : errno == EINTR ? -EAGAIN : -errno;
    }
    ERR_clear_error();
    int result = SSL_read_ex(side->ssl, bytes, capacity, &count);
    int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(side->ssl, result);
    if (error == SSL_ERROR_SSL) {
        say_alert();
    }
    return result == 1                      ? (ssize_t)count
           : is_for_later(error)            ? -EAGAIN
           : error == SSL_ERROR_ZERO_RETURN ? 0
                                            : -ECONNRESET;
}

static ssize_t transmit(const struct bridge_socket *side, const void *bytes, size_t count, int flags) {
    size_t written = 0;
    if (side->ssl == NULL) {
        ssize_t sent = send(side->socket, bytes, count, flags | MSG_NOSIGNAL);
        return sent >= 0 ? sent : errno == EINTR ? -EAGAIN : -errno;
    }
    ERR_clear_error();
    int result = SSL_write_ex(side->ssl, bytes, count, &written);
    return result == 1 ? (ssize_t)written : is_for_later(SSL_get_error(side->ssl, result)) ? -EAGAIN : -EPIPE;
}

int bridge_socket_say(struct bridge_socket *side, const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t sent = transmit(side, (const char *)bytes + done, count - done, 0);
        if (sent < 0) {
            return (int)sent;
        }
        done += (size_t)sent;
    }
    return 0;
}

// Receives again after an interrupt, because the kernel doesn't restart a receive on a socket with a timeout.
long bridge_socket_hear(struct bridge_socket *side, void *bytes, size_t capacity) {
    ssize_t count;
    do {
        errno = 0;
        count = receive(side, bytes, capacity, 0);
    } while (count == -EAGAIN && errno == EINTR);
    return count;
}

// --- While the bridge runs

bool bridge_socket_has_more(const struct bridge_socket *side) {
    return side->ssl != NULL && !side->ended && SSL_pending(side->ssl) > 0;
}

bool bridge_socket_read(struct bridge_socket *side) {
    if (side->at > 0) {
        memmove(side->in.bytes, side->in.bytes + side->at, side->in.length - side->at);
        side->in.length -= side->at;
        side->at = 0;
    }
    if (!text_reserve(&side->in, READ_BYTES + BUFFER_SLACK_BYTES)) {
        return false;
    }
    ssize_t count = receive(side, side->in.bytes + side->in.length, READ_BYTES, MSG_DONTWAIT);
    if (count == -EAGAIN) {
        return true;
    }
    side->ended = count <= 0;
    side->in.length += count > 0 ? (size_t)count : 0;
    return true;
}

size_t bridge_socket_waits(const struct bridge_socket *side) {
    return side->out.length - side->sent;
}

bool bridge_socket_write(struct bridge_socket *side) {
    if (bridge_socket_waits(side) == 0) {
        return !side->out.failed;
    }
    ssize_t count = transmit(side, side->out.bytes + side->sent, bridge_socket_waits(side), MSG_DONTWAIT);
    if (count < 0) {
        return count == -EAGAIN;
    }
    side->sent += (size_t)count;
    if (side->sent == side->out.length) {
        side->sent = side->out.length = 0;
    }
    return !side->out.failed;
}

void bridge_socket_flush(struct bridge_socket *side) {
    struct pollfd wait = {.fd = side->socket, .events = POLLOUT};
    while (!side->out.failed && bridge_socket_waits(side) > 0 && poll(&wait, 1, GOODBYE_MS) > 0 &&
           bridge_socket_write(side)) {
    }
}

void bridge_socket_end(struct bridge_socket *side) {
    if (side->said_end) {
        return;
    }
    side->said_end = true;
    if (side->ssl != NULL) {
        ERR_clear_error();
        SSL_shutdown(side->ssl);
    } else {
        shutdown(side->socket, SHUT_WR);
    }
}
