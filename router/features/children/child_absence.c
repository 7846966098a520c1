#include "router/features/children/child_absence.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/quota.h"
#include "router/features/children/child_record.h"

struct child_absence {
    struct child_absence *next; // of children.absences
    char name[AGENT_ID_BYTES_MAX + 1];
    size_t count;
    uint64_t connections[];
};

static void drop(struct quota *quota, struct child_absence **link) {
    struct child_absence *absence = *link;
    *link = absence->next;
    quota_give(quota, absence);
}

void child_absence_note(struct child_absence **first, struct quota *quota, const char *name,
                        const uint64_t *connections, size_t count) {
    assert(strlen(name) <= AGENT_ID_BYTES_MAX);
    struct child_absence *absence =
        count ? quota_take_zeroed(quota, 1, sizeof *absence + count * sizeof *connections) : NULL;
    if (!absence)
        return;
    strcpy(absence->name, name);
    absence->count = count;
    memcpy(absence->connections, connections, count * sizeof *connections);
    absence->next = *first;
    *first = absence;
}

uint64_t child_absence_take(struct child_absence **first, struct quota *quota, const char *name) {
    struct child_absence **link = first;
    assert(*name && quota);
    while (*link && strcmp((*link)->name, name) != 0)
        link = &(*link)->next;
    if (!*link)
        return 0;
    assert((*link)->count > 0);
    uint64_t connection = (*link)->connections[--(*link)->count];
    if ((*link)->count == 0)
        drop(quota, link);
    return connection;
}

void child_absence_forget(struct child_absence **first, struct quota *quota, uint64_t connection) {
    struct child_absence **link = first;
    assert(connection && quota);
    while (*link) {
        struct child_absence *absence = *link;
        for (size_t at = absence->count; at-- > 0;)
            if (absence->connections[at] == connection)
                absence->connections[at] = absence->connections[--absence->count];
        if (absence->count == 0)
            drop(quota, link);
        else
            link = &absence->next;
    }
}

void child_absence_free(struct child_absence **first, struct quota *quota) {
    assert(first && quota);
    while (*first)
        drop(quota, first);
}
