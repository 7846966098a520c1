// Coroutines on ucontext. The address sanitizer is told of each change of stack, else it would take what lies
// on the other one for garbage.
#include "tests/sim/fiber.h"

#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

enum { STACK_BYTES = 512 * 1024 };

struct fiber {
    ucontext_t context;
    ucontext_t resumer;
    void (*entry)(void *);
    void *argument;
    bool ended;
    void *stack;
    const void *resumer_stack; // as the sanitizer told
    size_t resumer_stack_bytes;
    void *fake_stack;
};

static struct fiber *current;
static struct fiber *starting; // makecontext passes no pointers

static void leaving(void **fake, const void *stack, size_t bytes) {
#ifdef FIBER_ASAN
    __sanitizer_start_switch_fiber(fake, stack, bytes);
#else
    (void)fake, (void)stack, (void)bytes;
#endif
}

static void arrived(void *fake, const void **stack, size_t *bytes) {
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, stack, bytes);
#else
    (void)fake, (void)stack, (void)bytes;
#endif
}

static void begin(void) {
    struct fiber *fiber = starting;
    arrived(NULL, &fiber->resumer_stack, &fiber->resumer_stack_bytes);
    fiber->entry(fiber->argument);
    fiber->ended = true;
    leaving(NULL, fiber->resumer_stack, fiber->resumer_stack_bytes);
    swapcontext(&fiber->context, &fiber->resumer);
}

struct fiber *fiber_create(void (*entry)(void *), void *context) {
    struct fiber *fiber = calloc(1, sizeof *fiber);
    void *stack = malloc(STACK_BYTES);
    if (!fiber || !stack || getcontext(&fiber->context))
        abort();
    fiber->entry = entry;
    fiber->argument = context;
    fiber->stack = stack;
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->context, begin, 0);
#ifdef FIBER_ASAN
    // With a size the sanitizer would forget with each switch what it knows of the whole stack, and map the memory for
    // that anew. The sanitizer is told of each switch anyway, and nothing reads the size any more.
    fiber->context.uc_stack.ss_size = 0;
#endif
    return fiber;
}

void fiber_destroy(struct fiber *fiber) {
    free(fiber->stack);
    free(fiber);
}

void fiber_resume(struct fiber *fiber) {
    struct fiber *outer = current;
    void *fake = NULL;
    current = starting = fiber;
    leaving(&fake, fiber->stack, STACK_BYTES);
    swapcontext(&fiber->resumer, &fiber->context);
    arrived(fake, NULL, NULL);
    current = outer;
}

void fiber_yield(void) {
    struct fiber *fiber = current;
    leaving(&fiber->fake_stack, fiber->resumer_stack, fiber->resumer_stack_bytes);
    swapcontext(&fiber->context, &fiber->resumer);
    arrived(fiber->fake_stack, &fiber->resumer_stack, &fiber->resumer_stack_bytes);
}

bool fiber_runs(void) {
    return current != NULL;
}

bool fiber_ended(const struct fiber *fiber) {
    return fiber->ended;
}
