// See websocket_dial.h. Success: one request, and an answer 101 that proves that the server has read the request.
// Failure: any other answer, no answer in time, or an answer without an end.
#include "tools/websocket_dial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "core/rights/digest.h"
#include "core/wire/websocket.h"

enum { NONCE_BYTES = 16, ANSWER_S = 10, REQUEST_BYTES_MAX = 2048 + TOKEN_BYTES_MAX };

static void encode(const uint8_t nonce[NONCE_BYTES], char key[WEBSOCKET_KEY_BYTES + 1]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t out = 0;
    for (size_t at = 0; at < NONCE_BYTES; at += 3) {
        uint32_t three = (uint32_t)nonce[at] << 16;
        three |= at + 1 < NONCE_BYTES ? (uint32_t)nonce[at + 1] << 8 : 0;
        three |= at + 2 < NONCE_BYTES ? nonce[at + 2] : 0;
        for (int shift = 18; shift >= 0; shift -= 6) {
            key[out++] = digits[three >> shift & 63];
        }
    }
    memset(key + WEBSOCKET_KEY_BYTES - 2, '=', 2);
    key[WEBSOCKET_KEY_BYTES] = '\0';
}

static int ask(struct bridge_socket *hub, const char *host, const char *path, const char *token,
               const char *key) {
    char request[REQUEST_BYTES_MAX];
    int count = snprintf(request, sizeof request,
                         "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
                         "Sec-WebSocket-Protocol: hugai.v2\r\n%s%s%s\r\n",
                         path, host, key, token == NULL ? "" : "Authorization: Bearer ",
                         token == NULL ? "" : token, token == NULL ? "" : "\r\n");
    if (count < 0 || (size_t)count >= sizeof request) {
        return -EINVAL;
    }
    int error = bridge_socket_say(hub, request, (size_t)count);
    digest_wipe(request, sizeof request);
    return error;
}

// Returns the value of a field of the answer, which ends in an empty line; NULL: there is no such field.
static const char *field(const char *answer, const char *name) {
    for (const char *line = strstr(answer, "\r\n"); line != NULL; line = strstr(line, "\r\n")) {
        line += 2;
        size_t bytes = strlen(name);
        if (strncasecmp(line, name, bytes) == 0 && line[bytes] == ':') {
            return line + bytes + 1 + strspn(line + bytes + 1, " \t");
        }
    }
    return NULL;
}

static int judge(const char *answer, const char *key) {
    char accept[WEBSOCKET_ACCEPT_BYTES];
    const char *proof = field(answer, "Sec-WebSocket-Accept");
    if (strncmp(answer, "HTTP/1.1 401 ", 13) == 0) {
        return -EACCES;
    }
    if (strncmp(answer, "HTTP/1.1 101 ", 13) != 0 || proof == NULL ||
        !websocket_accept((const uint8_t *)key, WEBSOCKET_KEY_BYTES, accept)) {
        return -EPROTO;
    }
    return strncmp(proof, accept, sizeof accept) == 0 ? 0 : -EPROTO;
}

int websocket_open(struct bridge_socket *hub, const char *host, const char *path, const char *token,
                   uint8_t answer[WEBSOCKET_ANSWER_BYTES_MAX], size_t *rest) {
    uint8_t nonce[NONCE_BYTES];
    char key[WEBSOCKET_KEY_BYTES + 1];
    struct timeval patience = {.tv_sec = ANSWER_S};
    size_t count = 0;
    if (getrandom(nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce) {
        return -EIO;
    }
    encode(nonce, key);
    setsockopt(hub->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    int error = ask(hub, host, path, token, key);
    while (error == 0) {
        long came = bridge_socket_hear(hub, answer + count, WEBSOCKET_ANSWER_BYTES_MAX - 1 - count);
        if (came <= 0) {
            return came == 0 ? -EPROTO : came == -EAGAIN ? -ETIMEDOUT : (int)came;
        }
        count += (size_t)came;
        answer[count] = '\0';
        char *end = strstr((char *)answer, "\r\n\r\n");
        if (end != NULL) {
            end[2] = '\0';
            error = judge((char *)answer, key);
            *rest = count - (size_t)(end + 4 - (char *)answer);
            memmove(answer, end + 4, *rest);
            return error;
        }
        error = count == WEBSOCKET_ANSWER_BYTES_MAX - 1 ? -EPROTO : 0;
    }
    return error;
}
