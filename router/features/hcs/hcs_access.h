// Whether somebody may be a client of a session, where users are on: by the rights that are in effect now, whatever they
// were when it began.
#pragma once

#include "router/features/hcs/hcs_types.h"

enum hcs_access {
    HCS_ACCESS_ALLOWED,
    HCS_ACCESS_DENIED, // for want of `call`
    HCS_ACCESS_HELD    // a `hold` names its producer, and the gate can't hold what goes on (docs/gate.md)
};
// Static: what who may not is told.
const char *hcs_access_text(enum hcs_access access);
// NULL, as in client->user: users aren't on. `user` may be of an edition that has passed.
enum hcs_access hcs_access_check(const struct shard *shard, const struct hcs_session *session,
                                 const struct user *user);
// Counts a start that is refused for that, and has it in the journal. `target` as it was asked for; bytes 0: it wasn't.
void hcs_access_note_refused(struct shard *shard, uint64_t source, const struct user *user,
                             enum hcs_access access, const char *target, size_t target_bytes);
// Rights have changed: who may not be a client any more of a session that lives here is told so, and isn't one.
void hcs_access_review(struct shard *shard);
