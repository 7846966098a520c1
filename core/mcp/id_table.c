#include "core/mcp/id_table.h"

#include <assert.h>

enum { ID_TABLE_MOST_BITS = 24, NODES_PER_CHAIN = 2 };

static void id_table_begin(struct list *buckets, uint32_t bits) {
    for (size_t at = 0; at < (size_t)1 << bits; at++)
        list_init(&buckets[at]);
}

void id_table_init(struct id_table *table, struct quota *quota, uint64_t (*number)(const struct list *node)) {
    *table = (struct id_table){.quota = quota, .bits = ID_TABLE_FEWEST_BITS, .number = number};
    table->buckets = table->fewest;
    id_table_begin(table->buckets, table->bits);
}

void id_table_deinit(struct id_table *table) {
    assert(table->count == 0);
    if (table->buckets != table->fewest)
        quota_give(table->quota, table->buckets);
    table->buckets = NULL;
}

static struct list *bucket_of(const struct id_table *table, uint64_t number) {
    assert(table->buckets && table->bits >= ID_TABLE_FEWEST_BITS);
    return &table->buckets[number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - table->bits)];
}

static void resize(struct id_table *table, uint32_t bits) {
    struct list *old = table->buckets, *buckets = table->fewest;
    uint32_t old_bits = table->bits;
    if (bits > ID_TABLE_FEWEST_BITS)
        buckets = quota_take(table->quota, sizeof *buckets << bits);
    if (!buckets)
        return;
    id_table_begin(buckets, bits);
    table->buckets = buckets;
    table->bits = bits;
    for (size_t at = 0; at < (size_t)1 << old_bits; at++)
        for (struct list *node; (node = list_take(&old[at]));)
            list_append(bucket_of(table, table->number(node)), node);
    if (old != table->fewest)
        quota_give(table->quota, old);
}

void id_table_add(struct id_table *table, struct list *node) {
    table->count++;
    if (table->count > (uint64_t)NODES_PER_CHAIN << table->bits && table->bits < ID_TABLE_MOST_BITS)
        resize(table, table->bits + 1);
    list_append(bucket_of(table, table->number(node)), node);
}

// Memory that many nodes needed is given back when few are left.
void id_table_remove(struct id_table *table, struct list *node) {
    assert(table->count > 0 && !list_empty(node));
    list_remove(node);
    table->count--;
    if (table->count < (UINT64_C(1) << table->bits) / 4 && table->bits > ID_TABLE_FEWEST_BITS)
        resize(table, table->bits - 1);
}

struct list *id_table_find(const struct id_table *table, uint64_t number) {
    struct list *bucket = bucket_of(table, number);
    for (struct list *node = bucket->next; node != bucket; node = node->next)
        if (table->number(node) == number)
            return node;
    return NULL;
}
