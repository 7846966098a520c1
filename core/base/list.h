// A doubly linked list whose links lie in its members. A node that is in no list points at itself, so that
// list_remove is safe to call twice. Nothing is owned.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

#define list_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list *list) {
    list->next = list->prev = list;
}

static inline bool list_empty(const struct list *list) {
    assert((list->next == list) == (list->prev == list));
    return list->next == list;
}

// Puts `node`, which is in no list, behind the last of `list`.
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

// Moves all nodes of a list behind those of another one.
static inline void list_move_all(struct list *from, struct list *to) {
    if (list_empty(from))
        return;
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

// Takes the first node out; NULL when there is none.
static inline struct list *list_take(struct list *list) {
    if (list_empty(list))
        return NULL;
    struct list *node = list->next;
    list_remove(node);
    return node;
}
