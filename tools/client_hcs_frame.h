// The frames of a session of HCS, as both of its ends in the client put them together.
#pragma once

#include "core/base/text.h"
#include "tools/client.h"

// Adds `,"name":"value"` to a frame.
void hcs_put_member(struct text *out, const char *name, const char *value);
// Sends the frame and lets go of it: 0, or as client_send; -ENOMEM for a frame that memory failed for.
int hcs_send(struct client *client, struct text *frame);
