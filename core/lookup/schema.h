// What the methods of HugAI v2 require of a message, beyond that it is JSON: the protocol's version, and
// fields of `params` with a JSON type and, for three of them, one of a few values. Other methods require
// nothing but the version.
//
// Types are judged, not what a text says: whether an agentId is well formed is for its reader.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lookup/lookup.h"

// What is wrong with a message: a field and what it should hold; both static. No field: nothing.
struct schema_fault {
    const char *field; // as a path: params.agentId
    const char *expected;
};

// Whether `jsonrpc` is there and means "2.0" (JSON-RPC 2.0, sections 4 and 5).
bool schema_version_served(const uint8_t *body, const struct lookup *lookup);

// Whether a response that was looked up well, and all of which is JSON, says how its request ended in one way
// only: it has either a result or an error, and that is an object with an integer `code`, however that is
// written, and a string `message` (JSON-RPC 2.0, section 5). Of a member that comes twice both are judged.
bool schema_outcome_fits(const uint8_t *body, const struct lookup *lookup);

// Judges a request or notification that was looked up well, and all of which is JSON. `method` is decoded.
// The fault is the version, else a field that isn't what it should be, else the first that is missing. A
// field that comes twice is judged twice.
struct schema_fault schema_check(const uint8_t *body, const struct lookup *lookup, const char *method,
                                 size_t method_bytes);
