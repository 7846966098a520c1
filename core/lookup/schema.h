// Checks the requirements of HugAI v2's methods, beyond valid JSON: the protocol's version, and fields of `params` with
// a JSON type. Some of the fields must have one of a few values. Other methods require nothing but the version.
//
// Only types are judged here: the reader of an agentId judges whether it is well formed.
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

// Returns whether the message has `jsonrpc` with the value "2.0" (JSON-RPC 2.0, sections 4 and 5).
bool schema_version_served(const uint8_t *body, const struct lookup *lookup);

// Returns whether a response has exactly one outcome (JSON-RPC 2.0, section 5): either a result or an error. An error
// must be an object with an integer `code`, in any spelling, and a string `message`. If a member occurs twice, both are
// judged. The lookup's verdict must be good, and all of the body must be JSON.
bool schema_outcome_fits(const uint8_t *body, const struct lookup *lookup);

// Judges a request or notification. The lookup's verdict must be good, and all of the body must be JSON. `method` must
// be decoded. Returns a wrong version, else the first wrong field, else the first missing field. A field that occurs
// twice is judged twice.
struct schema_fault schema_check(const uint8_t *body, const struct lookup *lookup, const char *method,
                                 size_t method_bytes);
