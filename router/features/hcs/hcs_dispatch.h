// Frames in a session: of its producer, of its clients, and of any other peer, which is refused.
#pragma once

#include "router/features/hcs/hcs_types.h"

typedef void hcs_http_done(struct shard *shard, struct peer *peer, void *context, struct parcel *error);

// A frame that came over HTTP by a request of its own, and what became of it.
struct hcs_http_frame {
    struct mail mail;
    uint64_t connection; // whose request it was
    const struct user *user;
    struct parcel *parcel; // on its way there
    struct parcel *error;  // on its way back: the frame that refuses it, or NULL
    bool failed;           // there was no memory for that
    hcs_http_done *on_done;
    void *context;
};

// HCS_MAIL_FRAME: takes the parcel, whose body is the whole of its first piece.
void hcs_dispatch_frame(struct shard *shard, struct parcel *parcel);
// HCS_MAIL_HTTP_FRAME.
void hcs_dispatch_http_frame(struct shard *shard, struct hcs_http_frame *http_frame);
