// How parties of the web write and read (party.h).
#pragma once

#include "tests/sim/naive.h"
#include "tests/sim/party.h"

// Asks for WebSocket, with more header fields.
void party_web_upgrade(struct party *party, const char *fields);
void party_web_write(struct party *party, const char *fields, const char *body, size_t bytes);
// Reads a message, or something that is none: then its body isn't there.
enum naive_result party_web_read(struct party *party, struct naive_frame *frame, const uint8_t *bytes,
                                 size_t count);
