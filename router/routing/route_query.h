// A message's question to the rules (core/agents/rules.h): its fields, decoded.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"

// With room for the texts.
struct route_query {
    struct rules_message criteria;
    bool named; // it names a target itself
    char target[METHOD_BYTES_MAX + 1], second[METHOD_BYTES_MAX];
};

// Decodes a message's method. A method that is said again has no escape, nor has its target.
void route_query_read_method(struct message *message);
// Reads the fields of one whose method is known.
void route_query_read(const struct message *message, struct route_query *query);
