#include "router/registry/claim_table.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/siphash.h"

struct claim_table *claim_table_create(const struct siphash_key *key) {
    struct claim_table *claims = memory_take_zeroed(1, sizeof *claims);
    if (!claims)
        return NULL;
    claims->key = key;
    list_init(&claims->orders);
    for (unsigned chain = 0; chain < CLAIM_TABLE_CHAINS; chain++) {
        list_init(&claims->by_id[chain]);
        list_init(&claims->by_connection[chain]);
        list_init(&claims->by_number[chain]);
    }
    return claims;
}

void claim_table_destroy(struct claim_table *claims) {
    assert(!claims || list_empty(&claims->orders));
    memory_give(claims);
}

static unsigned chain_of(const struct claim_table *claims, const void *text, size_t bytes) {
    return siphash_table(claims->key, text, bytes) % CLAIM_TABLE_CHAINS;
}

void claim_table_add(struct claim_table *claims, struct order *order) {
    uint64_t connection = order->mail.connection;
    assert(order->kind == ORDER_REGISTER && order->stage == ORDER_SUBMITTED && !order->claim_number);
    list_append(&claims->orders, &order->by_table);
    list_append(&claims->by_id[chain_of(claims, order->agent_id, order->agent_id_bytes)], &order->by_id);
    list_append(&claims->by_connection[chain_of(claims, &connection, sizeof connection)],
                &order->by_connection);
    list_init(&order->by_number);
}

void claim_table_remove(struct order *order) {
    assert(!list_empty(&order->by_table));
    list_remove(&order->by_table);
    list_remove(&order->by_id);
    list_remove(&order->by_connection);
    list_remove(&order->by_number);
}

void claim_table_sent(struct claim_table *claims, struct order *order, uint64_t number, uint64_t now_ms) {
    assert(number && !order->claim_number);
    order->claim_number = number;
    order->claimed_ms = now_ms;
    list_append(&claims->by_number[number % CLAIM_TABLE_CHAINS], &order->by_number);
}

struct order *claim_table_find(const struct claim_table *claims, const char *id, size_t bytes) {
    const struct list *chain = &claims->by_id[chain_of(claims, id, bytes)];
    assert(id && bytes > 0);
    for (const struct list *node = chain->next; node != chain; node = node->next) {
        struct order *order = list_entry(node, struct order, by_id);
        if (order->agent_id_bytes == bytes && memcmp(order->agent_id, id, bytes) == 0)
            return order;
    }
    return NULL;
}

struct order *claim_table_of(const struct claim_table *claims, uint64_t connection) {
    const struct list *chain = &claims->by_connection[chain_of(claims, &connection, sizeof connection)];
    assert(connection);
    for (const struct list *node = chain->next; node != chain; node = node->next) {
        struct order *order = list_entry(node, struct order, by_connection);
        if (order->mail.connection == connection)
            return order;
    }
    return NULL;
}

struct order *claim_table_number(const struct claim_table *claims, uint64_t number) {
    const struct list *chain = &claims->by_number[number % CLAIM_TABLE_CHAINS];
    assert(number);
    for (const struct list *node = chain->next; node != chain; node = node->next) {
        struct order *order = list_entry(node, struct order, by_number);
        if (order->claim_number == number)
            return order;
    }
    return NULL;
}

size_t claim_table_count(const struct claim_table *claims, uint64_t connection) {
    const struct list *chain = &claims->by_connection[chain_of(claims, &connection, sizeof connection)];
    size_t count = 0;
    assert(connection);
    for (const struct list *node = chain->next; node != chain; node = node->next)
        count += list_entry(node, struct order, by_connection)->mail.connection == connection;
    return count;
}
