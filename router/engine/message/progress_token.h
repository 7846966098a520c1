// Finds the request of a progress report, by the token that the hub gave to the target (progress.h).
#pragma once

#include "core/requests/pending.h"
#include "router/engine/message/message.h"

enum { PROGRESS_TOKEN_BYTES = HUB_ID_DIGITS_MAX + 3 };
// Writes the hub's token, at most PROGRESS_TOKEN_BYTES bytes. Returns its length.
size_t progress_token(char *out, uint64_t hub_id, enum pending_token kind);

struct progress_report {
    uint64_t hub_id; // of the request; 0: of no request
    enum pending_token kind;
    enum lookup_key key; // of the field with the token
};

// Reads a report. Returns false if the message has no token of the hub.
bool progress_token_read(const struct message *message, struct progress_report *report);
// Returns the hub's id of the request of a report; 0: none.
static inline uint64_t progress_token_request(const struct message *message) {
    struct progress_report report;
    return progress_token_read(message, &report) ? report.hub_id : 0;
}
