// Who is at other hubs, on shard 0: all that are heard are asked, and each answers in parts that fit the server.
#pragma once

#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// Once a turn: asks what is to be asked, and ends what can't be.
void remote_directory_follow(struct link *link);
// What has waited too long ends with what there is.
void remote_directory_expire(struct link *link);
// When that is so for the next one; UINT64_MAX: for none.
uint64_t remote_directory_due_ms(const struct link *link);
// Another hub asks.
void remote_directory_answer(struct link *link, const uint8_t *bytes, const struct hub_header *header);
// A part of an answer has come. False: it isn't one.
bool remote_directory_take(struct link *link, const struct hub_header *header, const uint8_t *body,
                           uint32_t bytes);
