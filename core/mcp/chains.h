// A table of things that have a number each: chains of nodes that lie in them, which grow in number with the things.
// The numbers are the hub's own: nobody chooses them so that they collide. It must not move.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/list.h"
#include "core/base/quota.h"

enum { CHAINS_FEWEST_BITS = 4 };

struct chains {
    struct quota *kept;
    struct list *heads; // fewest, or memory on the account
    uint32_t bits;      // how many there are, as a power of two
    uint32_t count;     // of things
    uint64_t (*number)(const struct list *node);
    struct list fewest[1 << CHAINS_FEWEST_BITS];
};

void chains_init(struct chains *chains, struct quota *kept, uint64_t (*number)(const struct list *node));
// Nothing may be in it.
void chains_deinit(struct chains *chains);
// Puts a node in; without memory to grow, the chains become longer.
void chains_add(struct chains *chains, struct list *node);
void chains_remove(struct chains *chains, struct list *node);
// The node with this number, or NULL.
struct list *chains_find(const struct chains *chains, uint64_t number);
