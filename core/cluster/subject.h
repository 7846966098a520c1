// Names as tokens of NATS subjects: what all hubs of a cluster, and the broker between them, know an agent, a method, an event by.
//
//     patchbay.CLUSTER.agent.ID    patchbay.CLUSTER.method.NAME    patchbay.CLUSTER.hub.HUB.N    …
//
// A byte outside A-Za-z0-9- becomes _XX, upper-case hexadecimal digits, so that each name has one subject and each
// subject one name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

enum {
    CLUSTER_NAME_BYTES_MAX = 64,
    SUBJECT_NAME_BYTES_MAX = 1024, // of a name as it is written there: what is longer stays on its hub
    HUB_NAME_BYTES = 32,           // hexadecimal digits of 128 bits
    SUBJECT_INBOX_BYTES_MAX =
        9 + CLUSTER_NAME_BYTES_MAX + 5 + HUB_NAME_BYTES + 1, // of what is one hub's, with a dot
    SUBJECT_BYTES_MAX = 9 + CLUSTER_NAME_BYTES_MAX + 9 + HUB_NAME_BYTES + 9 + SUBJECT_NAME_BYTES_MAX,
};

#define SUBJECT_KINDS(X)                                                                                     \
    X(SUBJECT_AGENT, "agent")                                                                                \
    X(SUBJECT_CAPABILITY, "can")                                                                             \
    X(SUBJECT_TOOL, "tool")                                                                                  \
    X(SUBJECT_METHOD, "method")                                                                              \
    X(SUBJECT_COMMAND, "command")                                                                            \
    X(SUBJECT_EVENT, "event")                                                                                \
    X(SUBJECT_NOTICE, "notice")                                                                              \
    X(SUBJECT_HOLDER, "holder")                                                                              \
    X(SUBJECT_HUB, "hub")                                                                                    \
    X(SUBJECT_HUBS, "hubs")                                                                                  \
    X(SUBJECT_BEAT, "beat")

enum subject_kind {
#define X(kind, text) kind,
    SUBJECT_KINDS(X)
#undef X
        SUBJECT_KINDS_COUNT
};

// Writes a name as one token; returns its bytes, or 0 where it is empty, or would have more than
// SUBJECT_NAME_BYTES_MAX of them.
size_t subject_escape(char out[SUBJECT_NAME_BYTES_MAX], const char *name, size_t bytes);
// What a token means; SIZE_MAX where subject_escape writes none so, or it is longer than `capacity`.
size_t subject_unescape(char *out, size_t capacity, const uint8_t *token, size_t bytes);

// Whether this can be the name of a cluster: 1 to CLUSTER_NAME_BYTES_MAX of A-Za-z0-9-_.
bool subject_is_cluster(const char *name);
// Writes "patchbay.CLUSTER.KIND", and ".REST" where `rest` has bytes; returns its length.
size_t subject_write(char out[SUBJECT_BYTES_MAX], const char *cluster, enum subject_kind kind,
                     const char *rest, size_t rest_bytes);
// The same of one that a hub alone takes: "patchbay.CLUSTER.hub.HUB.KIND.TOKEN".
size_t subject_write_at(char out[SUBJECT_BYTES_MAX], const char *cluster, const char hub[HUB_NAME_BYTES],
                        enum subject_kind kind, const char *token, size_t bytes);
// Writes "patchbay.CLUSTER.hub.HUB."; returns its length.
size_t subject_write_inbox(char out[SUBJECT_INBOX_BYTES_MAX], const char *cluster,
                           const char hub[HUB_NAME_BYTES]);
// What kind "KIND.TOKEN" is of, and the token; SUBJECT_KINDS_COUNT: of none.
enum subject_kind subject_read_kind(const uint8_t *text, struct span from, struct span *token);
// What kind of this cluster's a subject is of; *rest is what stands behind the kind's dot, bytes 0: nothing does.
// SUBJECT_KINDS_COUNT: of none.
enum subject_kind subject_read(const char *cluster, const uint8_t *text, struct span subject,
                               struct span *rest);
