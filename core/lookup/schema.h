// Requirements of the methods of HugAI v2, beyond valid JSON: the protocol's version, and fields of `params` with a JSON
// type. Three of the fields must have one of a few values. Other methods require nothing but the version.
//
// Types are judged, texts are not: the reader of an agentId judges whether it is well formed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/lookup/lookup.h"

// A fault of a message: a field and its expected value; both static. No field: no fault.
struct schema_fault {
    const char *field; // as a path: params.agentId
    const char *expected;
};

// Whether `jsonrpc` is there and means "2.0" (JSON-RPC 2.0, sections 4 and 5).
bool schema_version_served(const uint8_t *body, const struct lookup *lookup);

// Returns whether a response says in one way only how its request ended (JSON-RPC 2.0, section 5). A response must have
// either a result or an error. An error is an object with an integer `code`, however the integer is written, and a string
// `message`. If a member comes twice, both are judged. The caller must have looked the response up with a good verdict, and
// all of the body must be JSON.
bool schema_outcome_fits(const uint8_t *body, const struct lookup *lookup);

// Judges a request or notification that was looked up well, and all of which is JSON. `method` is decoded.
// The fault is the version, else a field that isn't what it should be, else the first that is missing. A
// field that comes twice is judged twice.
struct schema_fault schema_check(const uint8_t *body, const struct lookup *lookup, const char *method,
                                 size_t method_bytes);
