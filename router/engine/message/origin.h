// Who sent a message that came from another hub, as that hub says. A message of a peer of this hub has none.
#pragma once

#include "core/base/limits.h"
#include "core/cluster/subject.h"

struct attachment;
struct user;

struct origin {
    struct hub_name hub;     // bytes 0: an unnamed client of the NATS server
    enum subject_kind kind;  // of the subject under which it came
    const struct user *user; // NULL: nobody, or users aren't on
    struct attachment
        *target; // where a message goes that names no target itself; or NULL. The origin's sender owns it
    uint32_t agent_bytes; // 0: the source names none of its own agents
    char agent[AGENT_ID_BYTES_MAX];
};

// Whether the message is one of the copies that go to all who want them: its source's hub has judged and held it.
static inline bool origin_is_copy(const struct origin *origin) {
    return origin->kind == SUBJECT_EVENT || origin->kind == SUBJECT_NOTICE;
}
