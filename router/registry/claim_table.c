#include "router/registry/claim_table.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/siphash.h"

struct claim_table *claim_table_create(const struct siphash_key *key) {
    struct claim_table *asking = memory_take_zeroed(1, sizeof *asking);
    if (!asking)
        return NULL;
    asking->key = key;
    list_init(&asking->all);
    for (unsigned chain = 0; chain < CLAIM_TABLE_CHAINS; chain++) {
        list_init(&asking->by_id[chain]);
        list_init(&asking->by_connection[chain]);
        list_init(&asking->by_number[chain]);
    }
    return asking;
}

void claim_table_destroy(struct claim_table *asking) {
    assert(!asking || list_empty(&asking->all));
    memory_give(asking);
}

static unsigned chain_of(const struct claim_table *asking, const void *text, size_t bytes) {
    return siphash_table(asking->key, text, bytes) % CLAIM_TABLE_CHAINS;
}

void claim_table_add(struct claim_table *asking, struct order *order) {
    uint64_t connection = order->mail.connection;
    assert(order->kind == ORDER_REGISTER && order->stage == ORDER_ASKED && !order->asked_by);
    list_append(&asking->all, &order->asking);
    list_append(&asking->by_id[chain_of(asking, order->agent_id, order->agent_id_bytes)], &order->by_id);
    list_append(&asking->by_connection[chain_of(asking, &connection, sizeof connection)],
                &order->by_connection);
    list_init(&order->by_number);
}

void claim_table_remove(struct order *order) {
    assert(!list_empty(&order->asking));
    list_remove(&order->asking);
    list_remove(&order->by_id);
    list_remove(&order->by_connection);
    list_remove(&order->by_number);
}

void claim_table_sent(struct claim_table *asking, struct order *order, uint64_t number, uint64_t now_ms) {
    assert(number && !order->asked_by);
    order->asked_by = number;
    order->asked_ms = now_ms;
    list_append(&asking->by_number[number % CLAIM_TABLE_CHAINS], &order->by_number);
}

struct order *claim_table_find(const struct claim_table *asking, const char *id, size_t bytes) {
    const struct list *chain = &asking->by_id[chain_of(asking, id, bytes)];
    assert(id && bytes > 0);
    for (const struct list *node = chain->next; node != chain; node = node->next) {
        struct order *order = list_entry(node, struct order, by_id);
        if (order->agent_id_bytes == bytes && memcmp(order->agent_id, id, bytes) == 0)
            return order;
    }
    return NULL;
}

struct order *claim_table_of(const struct claim_table *asking, uint64_t connection) {
    const struct list *chain = &asking->by_connection[chain_of(asking, &connection, sizeof connection)];
    assert(connection);
    for (const struct list *node = chain->next; node != chain; node = node->next) {
        struct order *order = list_entry(node, struct order, by_connection);
        if (order->mail.connection == connection)
            return order;
    }
    return NULL;
}

struct order *claim_table_number(const struct claim_table *asking, uint64_t number) {
    const struct list *chain = &asking->by_number[number % CLAIM_TABLE_CHAINS];
    assert(number);
    for (const struct list *node = chain->next; node != chain; node = node->next) {
        struct order *order = list_entry(node, struct order, by_number);
        if (order->asked_by == number)
            return order;
    }
    return NULL;
}

size_t claim_table_count(const struct claim_table *asking, uint64_t connection) {
    const struct list *chain = &asking->by_connection[chain_of(asking, &connection, sizeof connection)];
    size_t count = 0;
    assert(connection);
    for (const struct list *node = chain->next; node != chain; node = node->next)
        count += list_entry(node, struct order, by_connection)->mail.connection == connection;
    return count;
}
