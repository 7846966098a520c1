// Functions that the protocols of the load over HTTP share.
#pragma once

#include "bench/load/load_wire.h"

// Sends a GET, `fields` beside Host, and reads the answer's head, blocking and no further. 0, -EPROTO when
// the status is another one, which is then told on standard error, or -errno.
int load_http_ask(int socket, const char *path, const char *fields, int status);
// Finds the first message of HTTP whose first line begins so: a body of its Content-Length, which it must have.
enum load_step load_http_next(const uint8_t *in, size_t bytes, const char *begin,
                              struct load_message *message);
// Finds the first event of a stream, up to its empty line; one without data is a control message.
enum load_step load_events_next(const uint8_t *in, size_t bytes, struct load_message *message);
