// Registrations that wait for the answers of other hubs, on shard 0. An agentId is held once, and another hub may hold the
// same agentId (router/features/cluster/name_claim.h asks). Such a registration doesn't count yet, but the registry judges
// other orders for the same agentId by it.
#pragma once

#include "router/registry/orders.h"

enum { CLAIM_TABLE_CHAINS = 256 };

struct claim_table {
    bool open; // there is somebody to ask
    struct list
        orders; // struct order.asking; who has been asked longest is first, those for whom nobody was yet are last
    struct list by_id[CLAIM_TABLE_CHAINS], by_connection[CLAIM_TABLE_CHAINS], by_number[CLAIM_TABLE_CHAINS];
    const struct siphash_key *key;
};

// NULL when memory is used up. `key`: a secret one, which stays.
struct claim_table *claim_table_create(const struct siphash_key *key);
// Nothing may wait. NULL is allowed.
void claim_table_destroy(struct claim_table *claims);

void claim_table_add(struct claim_table *claims, struct order *order);
void claim_table_remove(struct order *order);
// Others have been asked under this number.
void claim_table_sent(struct claim_table *claims, struct order *order, uint64_t number, uint64_t now_ms);
// Returns the order that waits for this name, of this connection, under this number; NULL: there is none.
struct order *claim_table_find(const struct claim_table *claims, const char *id, size_t bytes);
struct order *claim_table_of(const struct claim_table *claims, uint64_t connection);
// How many of this connection wait, each for a name of its own.
size_t claim_table_count(const struct claim_table *claims, uint64_t connection);
struct order *claim_table_number(const struct claim_table *claims, uint64_t number);
