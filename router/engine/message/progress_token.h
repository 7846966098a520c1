// Reports of progress: which request one is about, by the token that the hub gave to whoever was asked (progress.h).
#pragma once

#include "core/requests/pending.h"
#include "router/engine/message/message.h"

enum { PROGRESS_TOKEN_BYTES = HUB_ID_DIGITS_MAX + 3 };
// Writes the hub's token, PROGRESS_TOKEN_BYTES at most; returns its length.
size_t progress_token(char *out, uint64_t hub_id, enum pending_token kind);

struct progress_report {
    uint64_t hub_id; // of the request; 0: of none
    enum pending_token kind;
    enum lookup_key key; // where the token stands
};

// False when the message reports nothing under a token of the hub's.
bool progress_token_read(const struct message *message, struct progress_report *report);
// The request that it is about, by the hub's id; 0: none.
static inline uint64_t progress_token_request(const struct message *message) {
    struct progress_report report;
    return progress_token_read(message, &report) ? report.hub_id : 0;
}
