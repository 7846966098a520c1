// An event on its way to its subscribers (events.h), as the shards that it reaches know it.
#pragma once

#include "core/base/governance.h"
#include "core/base/mail.h"
#include "core/send/parcel.h"

struct batch;

// One shard's share of an event.
struct copy {
    struct mail mail;
    struct publication *publication;
    struct parcel *parcel; // the subscribers' shares have it as their origin; NULL: it found no memory
    uint32_t subscribers;  // other than the source
    uint32_t delivered;
    uint32_t shard;
};

// One event under way, or a run of them. It belongs to the source's shard; while copies are out, the others
// read what is constant, and each writes to its copy.
struct publication {
    uint64_t source;          // connection; constant
    enum governance required; // constant
    bool is_request;
    uint32_t awaited; // copies that have not come home
    uint32_t subscribers;
    uint32_t delivered;
    uint32_t copy_count;
    struct batch *batch;
    char *id; // of a request, behind the copies
    uint32_t id_bytes;
    uint32_t count;  // of events; constant, as all below
    uint32_t *ends;  // of a run's frames, behind the id; NULL: it is none
    uint32_t *heads; // how long their header blocks are
    uint32_t name_bytes;
    char name[EVENT_BYTES_MAX];
    struct copy copies[];
};
