// Registrations on shard 0 that wait until other hubs have said whether they hold the same agentId
// (router/features/cluster/name_claim.h asks). Such a registration isn't in force yet, but other orders for the same
// agentId wait for it or fail.
#pragma once

#include "router/registry/orders.h"

enum { CLAIM_TABLE_CHAINS = 256 };

struct claim_table {
    bool open; // there are hubs to ask
    // Of struct order.by_table: in the order in which hubs were asked; orders without a question come last
    struct list orders;
    struct list by_id[CLAIM_TABLE_CHAINS], by_connection[CLAIM_TABLE_CHAINS], by_number[CLAIM_TABLE_CHAINS];
    const struct siphash_key *key;
};

// Makes a table. `key` is secret and must outlive the table. Returns NULL without memory.
struct claim_table *claim_table_create(const struct siphash_key *key);
// Frees the table, which must be empty. NULL is allowed.
void claim_table_destroy(struct claim_table *claims);

void claim_table_add(struct claim_table *claims, struct order *order);
void claim_table_remove(struct order *order);
// Notes that other hubs were asked under this number.
void claim_table_sent(struct claim_table *claims, struct order *order, uint64_t number, uint64_t now_ms);
// These return the order that waits for this name, of this connection, or under this number; NULL: there is none.
struct order *claim_table_find(const struct claim_table *claims, const char *id, size_t bytes);
struct order *claim_table_of(const struct claim_table *claims, uint64_t connection);
// Returns for how many names orders of this connection wait.
size_t claim_table_count(const struct claim_table *claims, uint64_t connection);
struct order *claim_table_number(const struct claim_table *claims, uint64_t number);
