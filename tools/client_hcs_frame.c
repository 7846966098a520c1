#include "tools/client_hcs_frame.h"

#include <errno.h>
#include <string.h>

void hcs_put_member(struct text *out, const char *name, const char *value) {
    text_put(out, ",\"");
    text_put(out, name);
    text_put(out, "\":");
    text_string(out, value, strlen(value));
}

int hcs_send(struct client *client, struct text *frame) {
    int error = frame->failed ? -ENOMEM : client_send(client, NULL, frame->bytes, frame->length);
    text_deinit(frame);
    return error;
}
