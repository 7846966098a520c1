// The sandbox layer that restricts a ring. Only for io/uring*.c.
#pragma once

#include <liburing.h>
#include <stdbool.h>

// Restricts a disabled ring to these operations and a few registrations, if the kernel can, and enables the ring.
// Returns 1: restricted; 0: not restricted; -errno: the ring can't be enabled.
int uring_restrict(struct io_uring *uring, const unsigned char *operations, unsigned count);
