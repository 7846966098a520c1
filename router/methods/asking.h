// Registrations that wait for the word of other hubs, on shard 0: an agentId is held once, and another hub may hold it
// (router/transport/holders.h asks). Nothing of them counts yet. Who asks for the same name, or ends it, is judged by the
// registry with these in mind.
#pragma once

#include "router/methods/orders.h"

enum { ASKING_CHAINS = 256 };

struct asking {
    bool open;    // there is somebody to ask
    bool unasked; // a name has come to be held of which nobody was asked
    struct list
        all; // struct order.asking; who has been asked longest is first, those for whom nobody was yet are last
    struct list by_id[ASKING_CHAINS], by_connection[ASKING_CHAINS], by_number[ASKING_CHAINS];
    const struct siphash_key *key;
};

// NULL when memory is used up. `key`: a secret one, which stays.
struct asking *asking_create(const struct siphash_key *key);
// Nothing may wait. NULL is allowed.
void asking_destroy(struct asking *asking);

void asking_add(struct asking *asking, struct order *order);
void asking_remove(struct order *order);
// Others have been asked under this number.
void asking_sent(struct asking *asking, struct order *order, uint64_t number, uint64_t now_ms);
// Who waits: for this name, of this connection, under this number; NULL: nobody.
struct order *asking_find(const struct asking *asking, const char *id, size_t bytes);
struct order *asking_of(const struct asking *asking, uint64_t connection);
// How many of this connection wait, each for a name of its own.
size_t asking_count(const struct asking *asking, uint64_t connection);
struct order *asking_number(const struct asking *asking, uint64_t number);
