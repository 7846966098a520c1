// hub/agents of all hubs, on shard 0: other hubs are asked who is there, and answer in parts. A brief list is what a hub compares with
// its own names.
#pragma once

#include "core/cluster/hub_header.h"
#include "router/features/cluster/link.h"

// Once a turn: asks what is to be asked; without a link nobody is.
void remote_directory_follow(struct link *link);
// Each tick: what has waited too long is answered with what has come.
void remote_directory_tick(struct link *link);
// A part came from a hub, under this number. False: it can't be read.
bool remote_directory_take(struct link *link, struct cluster_member *member, uint64_t number,
                           const uint8_t *body, uint32_t bytes);
// A hub asks who is here, and takes the answer under this number. False: it can't be read.
bool remote_directory_answer(struct link *link, struct cluster_member *member,
                             const struct hub_header *header, const uint8_t *bytes, uint64_t number,
                             const uint8_t *body, uint32_t body_bytes);
