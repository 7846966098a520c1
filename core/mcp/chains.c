#include "core/mcp/chains.h"

#include <assert.h>

enum { CHAINS_MOST_BITS = 24, NODES_PER_CHAIN = 2 };

static void chains_begin(struct list *heads, uint32_t bits) {
    for (size_t at = 0; at < (size_t)1 << bits; at++)
        list_init(&heads[at]);
}

void chains_init(struct chains *chains, struct quota *kept, uint64_t (*number)(const struct list *node)) {
    *chains = (struct chains){.kept = kept, .bits = CHAINS_FEWEST_BITS, .number = number};
    chains->heads = chains->fewest;
    chains_begin(chains->heads, chains->bits);
}

void chains_deinit(struct chains *chains) {
    assert(chains->count == 0);
    if (chains->heads != chains->fewest)
        quota_give(chains->kept, chains->heads);
    chains->heads = NULL;
}

static struct list *chain_of(const struct chains *chains, uint64_t number) {
    assert(chains->heads && chains->bits >= CHAINS_FEWEST_BITS);
    return &chains->heads[number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - chains->bits)];
}

static void resize(struct chains *chains, uint32_t bits) {
    struct list *old = chains->heads, *heads = chains->fewest;
    uint32_t old_bits = chains->bits;
    if (bits > CHAINS_FEWEST_BITS)
        heads = quota_take(chains->kept, sizeof *heads << bits);
    if (!heads)
        return;
    chains_begin(heads, bits);
    chains->heads = heads;
    chains->bits = bits;
    for (size_t at = 0; at < (size_t)1 << old_bits; at++)
        for (struct list *node; (node = list_take(&old[at]));)
            list_append(chain_of(chains, chains->number(node)), node);
    if (old != chains->fewest)
        quota_give(chains->kept, old);
}

void chains_add(struct chains *chains, struct list *node) {
    chains->count++;
    if (chains->count > (uint64_t)NODES_PER_CHAIN << chains->bits && chains->bits < CHAINS_MOST_BITS)
        resize(chains, chains->bits + 1);
    list_append(chain_of(chains, chains->number(node)), node);
}

// What many needed is given back when few are left.
void chains_remove(struct chains *chains, struct list *node) {
    assert(chains->count > 0 && !list_empty(node));
    list_remove(node);
    chains->count--;
    if (chains->count < (UINT64_C(1) << chains->bits) / 4 && chains->bits > CHAINS_FEWEST_BITS)
        resize(chains, chains->bits - 1);
}

struct list *chains_find(const struct chains *chains, uint64_t number) {
    struct list *chain = chain_of(chains, number);
    for (struct list *node = chain->next; node != chain; node = node->next)
        if (chains->number(node) == number)
            return node;
    return NULL;
}
