// Composes frames of an HCS session, for both ends of a session in the client.
#pragma once

#include "core/base/text.h"
#include "tools/client.h"

// Adds `,"name":"value"` to a frame.
void hcs_put_member(struct text *out, const char *name, const char *value);
// Sends the frame and frees it. Returns 0, or as client_send; -ENOMEM if the frame lacked memory.
int hcs_send(struct client *client, struct text *frame);
