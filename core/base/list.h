// A doubly linked list whose links lie in its members. A node that is in no list points to itself, so list_remove may
// be called twice. The list owns no member.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/memory.h"
#include "core/base/quota.h"

struct list {
    struct list *next;
    struct list *prev;
};

#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

// Visits the entries of a list, from the first to the last. `entry` is a new variable, a pointer to `type`, whose link
// is `member`. The loop's body may remove this entry, but not the next one.
#define LIST_EACH(type, entry, list, member)                                                                 \
    for (type *entry = list_entry((list)->next, type, member),                                               \
              *entry##_next = list_entry(entry->member.next, type, member);                                  \
         &entry->member != (list);                                                                           \
         entry = entry##_next, entry##_next = list_entry(entry->member.next, type, member))

static inline void list_init(struct list *list) {
    list->next = list->prev = list;
}

static inline bool list_empty(const struct list *list) {
    assert((list->next == list) == (list->prev == list));
    return list->next == list;
}

// Adds `node`, which must be in no list, to the end of `list`.
static inline void list_append(struct list *list, struct list *node) {
    assert(node != list && list->prev->next == list);
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

static inline void list_remove(struct list *node) {
    assert(node->prev->next == node && node->next->prev == node);
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

// Moves all nodes of `from` to the end of `to`.
static inline void list_move_all(struct list *from, struct list *to) {
    if (list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

// Removes and returns the first node; NULL if the list is empty.
static inline struct list *list_take(struct list *list) {
    if (list_empty(list))
        return NULL;
    struct list *node = list->next;
    list_remove(node);
    return node;
}

// --- Free lists

// Memory of one size that is taken and given back all the time. A freelist keeps some returned blocks for the next use,
// since the account and the allocator (quota.h) cost more than the work on a block. A kept block stays on the account,
// until freelist_shrink finds that the block isn't needed.

#ifdef PATCHBAY_SANITIZED
enum { FREELIST_MAX = 0 }; // so that the sanitizer finds a use after free
#else
enum { FREELIST_MAX = 1024 };
#endif

enum { FREELIST_FETCHED_BYTES = 256 }; // bytes prefetched of the next block, while the caller fills this one

struct freelist_node {
    struct freelist_node *next;
};

// All zero: an empty freelist.
struct freelist {
    struct freelist_node *first;
    uint32_t count;
    uint32_t idle; // blocks that weren't needed since freelist_shrink
};

// Returns a kept block, or NULL: the caller must then take memory from the account.
static inline void *freelist_take(struct freelist *freelist) {
    struct freelist_node *spare = freelist->first;
    assert(!spare == (freelist->count == 0));
    if (!spare)
        return NULL;
    freelist->first = spare->next;
    if (--freelist->count < freelist->idle)
        freelist->idle = freelist->count;
    if (freelist->first)
        prefetch_to_write(freelist->first, FREELIST_FETCHED_BYTES);
    return spare;
}

static inline void freelist_give(struct freelist *freelist, struct quota *quota, void *memory) {
    if (freelist->count == FREELIST_MAX) {
        quota_give(quota, memory);
        return;
    }
    struct freelist_node *spare = memory;
    spare->next = freelist->first;
    freelist->first = spare;
    freelist->count++;
}

// Gives back the blocks that weren't needed since the last call.
static inline void freelist_shrink(struct freelist *freelist, struct quota *quota) {
    assert(freelist->idle <= freelist->count);
    for (uint32_t left = freelist->idle; left > 0; left--)
        quota_give(quota, freelist_take(freelist));
    freelist->idle = freelist->count;
}

// Gives back all blocks.
static inline void freelist_release(struct freelist *freelist, struct quota *quota) {
    for (void *memory; (memory = freelist_take(freelist));)
        quota_give(quota, memory);
}

// --- Mail

// The head of a message from one shard to another. `next` links messages when the ring between the shards is full.

struct mail {
    struct mail *next;
    uint64_t connection; // the connection that the message is for or about
    uint8_t kind;        // the router's kind of the message
    uint8_t detail;      // depends on `kind`
    // Of a parcel: when its message came, by the shards' clock in microseconds (parcel_pool.now_us)
    uint32_t came_us;
};
