// The NATS subjects by which hubs of a cluster ask, tell and answer each other.
//
//     patchbay.CLUSTER.REALM.agent.ID    patchbay.CLUSTER.hub.HUB.answer.N    patchbay.CLUSTER.hubs.beat    …
//
// A byte outside A-Za-z0-9- becomes _XX, in upper case: each name has one subject, and each subject one name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cluster/hub_name.h"
#include "core/json/json.h"

enum {
    CLUSTER_NAME_BYTES_MAX = 64,
    SUBJECT_NAME_BYTES_MAX = 1024, // of a name as a subject has it: a longer one stays on its hub
    SUBJECT_BYTES_MAX = 9 + CLUSTER_NAME_BYTES_MAX + 1 + HUB_NAME_BYTES_MAX + 24 + SUBJECT_NAME_BYTES_MAX,
};

// Under the REALM, with a name; under hub.HUB, answer and held with a number; under hubs.
#define SUBJECT_KINDS(X)                                                                                     \
    X(SUBJECT_AGENT, "agent")                                                                                \
    X(SUBJECT_CAPABILITY, "can")                                                                             \
    X(SUBJECT_TOOL, "tool")                                                                                  \
    X(SUBJECT_METHOD, "method")                                                                              \
    X(SUBJECT_COMMAND, "command")                                                                            \
    X(SUBJECT_EVENT, "event")                                                                                \
    X(SUBJECT_NOTICE, "notice")                                                                              \
    X(SUBJECT_NAME, "name")                                                                                  \
    X(SUBJECT_ANSWER, "answer")                                                                              \
    X(SUBJECT_TAKEN, "taken")                                                                                \
    X(SUBJECT_HELD, "held")                                                                                  \
    X(SUBJECT_CANCEL, "cancel")                                                                              \
    X(SUBJECT_PROGRESS, "progress")                                                                          \
    X(SUBJECT_YIELD, "yield")                                                                                \
    X(SUBJECT_AGENTS, "agents")                                                                              \
    X(SUBJECT_DECIDE, "decide")                                                                              \
    X(SUBJECT_GONE, "gone")                                                                                  \
    X(SUBJECT_HUBS_BEAT, "beat")                                                                             \
    X(SUBJECT_HUBS_CANCEL, "cancel")                                                                         \
    X(SUBJECT_HUBS_AGENTS, "agents")                                                                         \
    X(SUBJECT_HUBS_APPROVAL, "approval")

enum subject_kind {
#define X(kind, text) kind,
    SUBJECT_KINDS(X)
#undef X
        SUBJECT_KINDS_COUNT
};

// A subject, read.
struct subject {
    enum subject_kind kind; // SUBJECT_KINDS_COUNT: it is none of this cluster's
    struct span realm;      // of the first eight kinds
    struct span hub;        // of those under hub.HUB
    struct span token;      // of the first eight kinds: the name as it is written
    uint64_t number;        // of an answer, of held; 0: none
};

// Where a hub takes answers: the subject up to their number. Written once, since each request and each answer has one.
struct answer_subject {
    uint32_t bytes;
    char text[SUBJECT_BYTES_MAX];
};

// Writes a name as one token; returns its bytes, or 0 where it is empty, or would have more than
// SUBJECT_NAME_BYTES_MAX of them.
size_t subject_escape(char out[SUBJECT_NAME_BYTES_MAX], const char *name, size_t bytes);
// Writes the text of a token. Returns its bytes; SIZE_MAX: subject_escape never writes the token, or `capacity` is too small.
size_t subject_unescape(char *out, size_t capacity, const uint8_t *token, size_t bytes);

// Whether this can be the name of a cluster: 1 to CLUSTER_NAME_BYTES_MAX of A-Za-z0-9-_.
bool subject_is_cluster(const char *name);
// Writes a subject of one of the first eight kinds; returns its bytes.
size_t subject_write(char out[SUBJECT_BYTES_MAX], const char *cluster, const struct realm *realm,
                     enum subject_kind kind, const char *token, size_t bytes);
// Writes a subject under hub.HUB, or under hubs, where `hub` is NULL; `number`: of an answer, of held, else 0. Returns
// its bytes.
size_t subject_write_hub(char out[SUBJECT_BYTES_MAX], const char *cluster, const struct hub_name *hub,
                         enum subject_kind kind, uint64_t number);
// Reads a subject of this cluster.
void subject_read(const char *cluster, const uint8_t *text, struct span subject, struct subject *out);

void answer_subject_write(struct answer_subject *out, const char *cluster, const struct hub_name *hub);
// Writes the subject of one answer; returns its bytes.
size_t answer_subject_put(const struct answer_subject *answers, uint64_t number, char out[SUBJECT_BYTES_MAX]);
// The number in the subject of an answer there; 0: the subject is another one.
uint64_t answer_subject_number(const struct answer_subject *answers, const uint8_t *text,
                               struct span subject);
