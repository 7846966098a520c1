// Keeps the clients of MCP servers whose sections were removed. The clients are told of a server's lists when a section
// has the server's name again. Shard 0 keeps all of them, as it has the children.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct quota;

// An element of a list, in memory of the quota. NULL: the list is empty.
struct child_absence;

// Notes connections that used the child of this name. Without memory the clients won't be told.
void child_absence_note(struct child_absence **first, struct quota *quota, const char *name,
                        const uint64_t *connections, size_t count);
// Removes and returns a connection that must be told of the child of this name; 0: there is none.
uint64_t child_absence_take(struct child_absence **first, struct quota *quota, const char *name);
// Forgets a connection that has gone.
void child_absence_forget(struct child_absence **first, struct quota *quota, uint64_t connection);
// Frees the list.
void child_absence_free(struct child_absence **first, struct quota *quota);
