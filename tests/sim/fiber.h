// Coroutines, so that several shards run in one thread and stop exactly where they would wait for the kernel:
// inside io_run. Another shard then sees of a waiting one what a real one would see of a sleeping one.
#pragma once

#include <stdbool.h>

struct fiber;

// Creates a fiber that will run entry(context) on a stack of its own when it is resumed. Aborts when memory
// is used up.
struct fiber *fiber_create(void (*entry)(void *), void *context);
void fiber_destroy(struct fiber *fiber);
// Runs it until it yields or returns.
void fiber_resume(struct fiber *fiber);
// Called inside a fiber: goes back to whoever resumed it.
void fiber_yield(void);
// Returns whether the caller is inside one.
bool fiber_runs(void);
// Returns whether its entry has returned.
bool fiber_ended(const struct fiber *fiber);
