// patchbayd --check.
#pragma once

#include "router/sandbox.h"

// Puts the walls up in processes of their own, tries in each what its wall forbids, and says on standard output which of them hold. The
// status to end with: 0, or 1 when the hub would not start.
int sandbox_check(const struct sandbox *sandbox, const struct config *config);
