// What the two ends of a session of HCS, as the client plays them, have in common.
#pragma once

#include "core/base/text.h"
#include "tools/client.h"
#include "tools/commands.h"

// Adds `,"name":"value"` to a frame.
void hcs_put_member(struct text *out, const char *name, const char *value);
// Sends the frame and lets go of it: 0, or as client_send.
int hcs_send(struct client *client, struct text *frame);

// `patchbay hcs serve AGENT-ID FILE [--interval TIME]`.
enum status hcs_serve(int argc, char **argv, const char *hub);
