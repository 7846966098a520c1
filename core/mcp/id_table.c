#include "core/mcp/id_table.h"

#include <assert.h>

enum { ID_TABLE_MOST_BITS = 24, NODES_PER_CHAIN = 2 };

static void id_table_begin(struct list *heads, uint32_t bits) {
    for (size_t at = 0; at < (size_t)1 << bits; at++)
        list_init(&heads[at]);
}

void id_table_init(struct id_table *chains, struct quota *kept, uint64_t (*number)(const struct list *node)) {
    *chains = (struct id_table){.kept = kept, .bits = ID_TABLE_FEWEST_BITS, .number = number};
    chains->heads = chains->fewest;
    id_table_begin(chains->heads, chains->bits);
}

void id_table_deinit(struct id_table *chains) {
    assert(chains->count == 0);
    if (chains->heads != chains->fewest)
        quota_give(chains->kept, chains->heads);
    chains->heads = NULL;
}

static struct list *chain_of(const struct id_table *chains, uint64_t number) {
    assert(chains->heads && chains->bits >= ID_TABLE_FEWEST_BITS);
    return &chains->heads[number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - chains->bits)];
}

static void resize(struct id_table *chains, uint32_t bits) {
    struct list *old = chains->heads, *heads = chains->fewest;
    uint32_t old_bits = chains->bits;
    if (bits > ID_TABLE_FEWEST_BITS)
        heads = quota_take(chains->kept, sizeof *heads << bits);
    if (!heads)
        return;
    id_table_begin(heads, bits);
    chains->heads = heads;
    chains->bits = bits;
    for (size_t at = 0; at < (size_t)1 << old_bits; at++)
        for (struct list *node; (node = list_take(&old[at]));)
            list_append(chain_of(chains, chains->number(node)), node);
    if (old != chains->fewest)
        quota_give(chains->kept, old);
}

void id_table_add(struct id_table *chains, struct list *node) {
    chains->count++;
    if (chains->count > (uint64_t)NODES_PER_CHAIN << chains->bits && chains->bits < ID_TABLE_MOST_BITS)
        resize(chains, chains->bits + 1);
    list_append(chain_of(chains, chains->number(node)), node);
}

// Memory that many nodes needed is given back when few are left.
void id_table_remove(struct id_table *chains, struct list *node) {
    assert(chains->count > 0 && !list_empty(node));
    list_remove(node);
    chains->count--;
    if (chains->count < (UINT64_C(1) << chains->bits) / 4 && chains->bits > ID_TABLE_FEWEST_BITS)
        resize(chains, chains->bits - 1);
}

struct list *id_table_find(const struct id_table *chains, uint64_t number) {
    struct list *chain = chain_of(chains, number);
    for (struct list *node = chain->next; node != chain; node = node->next)
        if (chains->number(node) == number)
            return node;
    return NULL;
}
