// A table of things that have a number each: chains of nodes that lie in the things, which grow in number
// with them. The numbers are the hub's own: no peer chooses them so that they collide. The table must not
// move.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/list.h"
#include "core/base/quota.h"

enum { ID_TABLE_FEWEST_BITS = 4 };

struct id_table {
    struct quota *quota;
    struct list *buckets; // fewest, or memory on the account
    uint32_t bits;        // how many there are, as a power of two
    uint32_t count;       // of things
    uint64_t (*number)(const struct list *node);
    struct list fewest[1 << ID_TABLE_FEWEST_BITS];
};

void id_table_init(struct id_table *table, struct quota *quota, uint64_t (*number)(const struct list *node));
// Nothing may be in it.
void id_table_deinit(struct id_table *table);
// Puts a node in; without memory to grow, the chains become longer.
void id_table_add(struct id_table *table, struct list *node);
void id_table_remove(struct id_table *table, struct list *node);
// The node with this number, or NULL.
struct list *id_table_find(const struct id_table *table, uint64_t number);
