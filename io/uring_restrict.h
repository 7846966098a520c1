// The layer of the sandbox that restricts a ring. Known to io/uring*.c only.
#pragma once

#include <liburing.h>
#include <stdbool.h>

// Restricts a ring that was made disabled to these operations and to the registrations that it goes on with,
// as far as the kernel does that, and enables it. 1: it is restricted; 0: it isn't; -errno: it can't be
// enabled.
int uring_restrict(struct io_uring *uring, const unsigned char *operations, unsigned count);
