// Clients that have used a server of MCP whose section is gone. They are told of the server's lists when a section names the server
// again. All of it is shard 0's, as children are.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct quota;

// The first of a list of those, whose memory is the quota's; NULL: nobody is absent.
struct child_absence;

// Notes connections that used the child of this name. Without memory they aren't told.
void child_absence_note(struct child_absence **first, struct quota *quota, const char *name,
                        const uint64_t *connections, size_t count);
// Takes one connection that is to be told of the child of this name; 0: there is none any more.
uint64_t child_absence_take(struct child_absence **first, struct quota *quota, const char *name);
// A connection has gone.
void child_absence_forget(struct child_absence **first, struct quota *quota, uint64_t connection);
// Forgets all.
void child_absence_free(struct child_absence **first, struct quota *quota);
