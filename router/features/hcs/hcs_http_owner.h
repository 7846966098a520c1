// Under which request_ids the streams of a session were opened over HTTP: whoever comes with one of them by
// another request speaks for those streams, also between two of them.
#pragma once

#include "router/features/hcs/hcs_types.h"

struct hcs_http_owner {
    struct list link;
    uint32_t streams;        // that are open
    const struct user *user; // whose; NULL: users aren't on
    uint32_t bytes;
    char request_id[];
};

// The one of this name and user, or NULL.
struct hcs_http_owner *hcs_http_owner_find(const struct hcs_session *session, const char *request_id,
                                           size_t bytes, const struct user *user);
// Returns a client's owner, made if there is none; NULL without memory. One more stream is open.
struct hcs_http_owner *hcs_http_owner_take(struct shard *shard, struct hcs_session *session,
                                           const struct hcs_client *client);
void hcs_http_owner_give_all(struct shard *shard, struct hcs_session *session);
