// The NATS subjects of messages between the hubs of a cluster.
//
//     patchbay.CLUSTER.REALM.agent.ID    patchbay.CLUSTER.hub.HUB.answer.N    patchbay.CLUSTER.hubs.beat    …
//
// A byte outside A-Za-z0-9- is written as _XX with upper-case digits. Each name has one subject, and each subject one
// name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cluster/hub_name.h"
#include "core/json/json.h"

enum {
    CLUSTER_NAME_BYTES_MAX = 64,
    // Of an escaped name; only its own hub knows a longer name
    SUBJECT_NAME_BYTES_MAX = 1024,
    SUBJECT_BYTES_MAX = 9 + CLUSTER_NAME_BYTES_MAX + 1 + HUB_NAME_BYTES_MAX + 24 + SUBJECT_NAME_BYTES_MAX,
};

// The kinds of subjects: under the REALM, with a name; under hub.HUB (`answer` and `held` with a number); under hubs.
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

// The parts of a subject.
struct subject {
    enum subject_kind kind; // SUBJECT_KINDS_COUNT: not a subject of this cluster
    struct span realm;      // with a kind up to SUBJECT_NAME
    struct span hub;        // with a kind under hub.HUB
    struct span token;      // with a kind up to SUBJECT_NAME: the escaped name
    uint64_t number;        // of `answer` and `held`; 0: none
};

// The subject of a hub's answers without their number. Written once, because each request and each response needs one.
struct answer_subject {
    uint32_t bytes;
    char text[SUBJECT_BYTES_MAX];
};

// Escapes a name to one token. Returns the number of bytes; 0 if the name is empty, or the token would be longer than
// SUBJECT_NAME_BYTES_MAX.
size_t subject_escape(char out[SUBJECT_NAME_BYTES_MAX], const char *name, size_t bytes);
// Writes the name of an escaped token. Returns the number of bytes; SIZE_MAX if the token isn't one of
// subject_escape's, or `capacity` is too small.
size_t subject_unescape(char *out, size_t capacity, const uint8_t *token, size_t bytes);

// Returns whether a cluster may have this name: 1 to CLUSTER_NAME_BYTES_MAX of A-Za-z0-9-_.
bool subject_is_cluster(const char *name);
// Writes a subject of a kind up to SUBJECT_NAME. Returns the number of bytes.
size_t subject_write(char out[SUBJECT_BYTES_MAX], const char *cluster, const struct realm *realm,
                     enum subject_kind kind, const char *token, size_t bytes);
// Writes a subject under hub.HUB, or under hubs if `hub` is NULL. `number` is for `answer` and `held`, else 0. Returns
// the number of bytes.
size_t subject_write_hub(char out[SUBJECT_BYTES_MAX], const char *cluster, const struct hub_name *hub,
                         enum subject_kind kind, uint64_t number);
// Reads a subject. Sets the kind to SUBJECT_KINDS_COUNT if the subject isn't one of this cluster.
void subject_read(const char *cluster, const uint8_t *text, struct span subject, struct subject *out);

void answer_subject_write(struct answer_subject *out, const char *cluster, const struct hub_name *hub);
// Writes the subject of one answer. Returns the number of bytes.
size_t answer_subject_put(const struct answer_subject *answers, uint64_t number, char out[SUBJECT_BYTES_MAX]);
// Returns the number in the subject of an answer to this hub; 0: another subject.
uint64_t answer_subject_number(const struct answer_subject *answers, const uint8_t *text,
                               struct span subject);
