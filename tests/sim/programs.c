#include "tests/sim/programs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

#define MILLISECOND_NS UINT64_C(1000000)

struct keeping_sim {
    struct keeper keeper;
    struct cable *reports;
    int reports_number; // of the hub's end
    struct program *first;
    int numbers; // of processes so far
    bool held, lost;
};

// --- The keeper

struct keeper *programs_keep(struct kernel *kernel) {
    struct keeping_sim *state = calloc(1, sizeof *state);
    if (!state || kernel->state)
        kernel_fail("no room for a keeper");
    state->reports = cable_of_program(kernel, &state->reports_number);
    state->numbers = 1;
    state->keeper = (struct keeper){.commands = state->reports_number,
                                    .reports = state->reports_number,
                                    .process = 1,
                                    .shared = calloc(1, sizeof(struct keeper_shared))};
    if (!state->keeper.shared)
        abort();
    kernel->state = state;
    return &state->keeper;
}

void programs_forget(struct kernel *kernel) {
    struct keeping_sim *state = kernel->state;
    if (!state)
        return;
    for (struct program *program = state->first, *next; program; program = next) {
        next = program->next;
        if (program->state != PROGRAM_GONE)
            kernel_fail("a program of %s is left", program->name);
        free(program);
    }
    if (!state->lost)
        cable_close(state->reports);
    kernel->sockets[state->reports_number].cable->hub_closed = true;
    cable_settle(kernel->sockets[state->reports_number].cable);
    kernel->sockets[state->reports_number] = (struct socket_entry){0};
    free(state->keeper.shared);
    free(state);
    kernel->state = NULL;
}

void programs_hold(struct kernel *kernel, bool hold) {
    kernel->state->held = hold;
    for (struct program *program = kernel->state->first; program && !hold; program = program->next)
        program->driven = program->leaves_others = false;
}

struct program *programs_first(const struct kernel *kernel) {
    return kernel->state ? kernel->state->first : NULL;
}

struct program *programs_ordered(const struct kernel *kernel, const char *name) {
    struct program *oldest = NULL;
    for (struct program *program = programs_first(kernel); program; program = program->next)
        if (program->state == PROGRAM_ORDERED && strcmp(program->name, name) == 0)
            oldest = program;
    return oldest;
}

static void report(struct kernel *kernel, const struct program *program, enum keeper_report_kind kind,
                   int32_t value) {
    struct keeper_report told = {kind, program->place, program->serial, value};
    if (!kernel->state->lost)
        cable_write(kernel->state->reports, &told, sizeof told);
}

// --- A program's life

void program_close_in(struct program *program) {
    if (program->in)
        cable_close(program->in);
    program->in = NULL;
}

void program_close_out(struct program *program) {
    if (program->out)
        cable_close(program->out);
    program->out = NULL;
}

static void nobody_left(struct kernel *kernel, struct program *program) {
    program_close_in(program);
    program_close_out(program);
    program->state = PROGRAM_GONE;
    program->kill_ns = UINT64_MAX;
    report(kernel, program, KEEPER_GONE, 0);
}

static void kill_at(struct program *program, uint64_t ns) {
    program->signals |= UINT32_C(1) << SIGTERM;
    if (ns < program->kill_ns)
        program->kill_ns = ns;
}

static void kill_group(struct kernel *kernel, struct program *program) {
    program->signals |= UINT32_C(1) << SIGKILL;
    program->leaves_others = false;
    if (program->state == PROGRAM_RUNS)
        program_end(kernel, program, SIGKILL);
}

void program_end(struct kernel *kernel, struct program *program, int status) {
    if (program->state != PROGRAM_RUNS)
        kernel_fail("a program of %s ends that doesn't run", program->name);
    program->state = PROGRAM_ENDED;
    if (!program->leaves_others) {
        program_close_in(program);
        program_close_out(program);
    }
    report(kernel, program, KEEPER_EXITED, status);
    kill_at(program, kernel->now_ns + program->end_ms * MILLISECOND_NS);
}

void program_start(struct kernel *kernel, struct program *program) {
    if (program->state != PROGRAM_ORDERED)
        kernel_fail("a program of %s is started twice", program->name);
    program->state = PROGRAM_RUNS;
    report(kernel, program, KEEPER_STARTED, program->number);
    if (program->signals & UINT32_C(1) << SIGKILL)
        kill_group(kernel, program);
}

void program_fail(struct kernel *kernel, struct program *program, int error) {
    if (program->state != PROGRAM_ORDERED)
        kernel_fail("a program of %s fails to start that has started", program->name);
    program_close_in(program);
    program_close_out(program);
    program->state = PROGRAM_GONE;
    program->kill_ns = UINT64_MAX;
    report(kernel, program, KEEPER_FAILED, error);
}

void programs_lose_keeper(struct kernel *kernel) {
    for (struct program *program = kernel->state->first; program; program = program->next) {
        if (program->state == PROGRAM_ORDERED)
            program_fail(kernel, program, EPIPE);
        kill_group(kernel, program);
    }
    kernel->state->lost = true;
    cable_close(kernel->state->reports);
}

void programs_occupy_keeper(struct kernel *kernel, bool busy) {
    kernel->faults.keeper_busy = busy ? 1000 : 0;
}

// --- By itself

static bool obeys(const struct program *program) {
    return !program->driven && program->signals & UINT32_C(1) << SIGTERM;
}

bool program_can_go_on(const struct kernel *kernel, const struct program *program) {
    if (program->state == PROGRAM_ORDERED)
        return !kernel->state->held;
    return (program->state == PROGRAM_RUNS && obeys(program)) ||
           (program->state == PROGRAM_ENDED && !program->leaves_others);
}

void program_go_on(struct kernel *kernel, struct program *program) {
    if (program->state == PROGRAM_ORDERED)
        program_start(kernel, program);
    else if (program->state == PROGRAM_RUNS)
        program_end(kernel, program, SIGTERM);
    else
        nobody_left(kernel, program);
}

uint64_t programs_next_ns(const struct kernel *kernel) {
    uint64_t next_ns = UINT64_MAX;
    for (const struct program *program = programs_first(kernel); program; program = program->next)
        if (program->state != PROGRAM_ORDERED && program->kill_ns < next_ns)
            next_ns = program->kill_ns;
    return next_ns;
}

void programs_pass(struct kernel *kernel) {
    for (struct program *program = programs_first(kernel); program; program = program->next)
        if (program->kill_ns <= kernel->now_ns && program->state != PROGRAM_ORDERED) {
            program->kill_ns = UINT64_MAX;
            kill_group(kernel, program);
        }
}

// --- Orders of the hub

static struct keeping_sim *keeping_of(struct io *io, int keeper) {
    struct keeping_sim *state = io->kernel->state;
    if (!state || keeper != state->keeper.commands)
        kernel_fail("the hub speaks to a keeper that isn't there");
    return state;
}

// As many texts as it says, and nothing behind them.
static void check_command(const struct keeper_command *command, const char *texts, size_t bytes) {
    uint32_t count = 0;
    for (size_t at = 0; at < bytes; at++)
        count += texts[at] == '\0';
    if (!bytes || texts[bytes - 1] || count != 3 + command->words + command->variables || !command->words)
        kernel_fail("an order to start of %u words and %u variables has %u texts", command->words,
                    command->variables, count);
}

// The second word: behind the name, two directories, and the first one.
static const char *second_word(const struct keeper_command *command, const char *texts) {
    for (unsigned skipped = 0; skipped < 4; skipped++)
        texts += strlen(texts) + 1;
    return command->words > 1 ? texts : "";
}

static void check_place(const struct keeping_sim *state, const struct keeper_command *command) {
    for (const struct program *program = state->first; program; program = program->next)
        if (program->place == command->place && program->state != PROGRAM_GONE)
            kernel_fail("a program is started where one of %s is", program->name);
}

// Forgets those whom nobody asks for any more.
static void sweep(struct keeping_sim *state) {
    for (struct program **link = &state->first, *program; (program = *link);) {
        if (program->state != PROGRAM_GONE || program->driven) {
            link = &program->next;
            continue;
        }
        *link = program->next;
        free(program);
    }
}

int io_start(struct io *io, int keeper, const void *packet, size_t bytes, int *in, int *out) {
    struct keeping_sim *state = keeping_of(io, keeper);
    struct keeper_command command;
    if (state->lost)
        return -EPIPE;
    if (random_chance(io->kernel->random, io->kernel->faults.keeper_busy))
        return -EAGAIN;
    memcpy(&command, packet, sizeof command);
    const char *texts = (const char *)packet + sizeof command;
    check_command(&command, texts, bytes - sizeof command);
    check_place(state, &command);
    sweep(state);
    struct program *program = calloc(1, sizeof *program);
    if (!program)
        abort();
    program->place = command.place;
    program->serial = command.serial;
    program->end_ms = command.value;
    program->kill_ns = UINT64_MAX;
    program->number = ++state->numbers;
    strncpy(program->name, texts, sizeof program->name - 1);
    strncpy(program->word, second_word(&command, texts), sizeof program->word - 1);
    program->in = cable_of_program(io->kernel, in);
    program->out = cable_of_program(io->kernel, out);
    program->next = state->first;
    state->first = program;
    return 0;
}

void io_kill_group(struct io *io, int group) {
    for (struct program *program = programs_first(io->kernel); program; program = program->next)
        if (program->number == group && program->state != PROGRAM_ORDERED)
            kill_group(io->kernel, program);
}

int io_tell_keeper(struct io *io, int keeper, const void *packet, size_t bytes) {
    struct keeping_sim *state = keeping_of(io, keeper);
    struct keeper_command command;
    if (bytes != sizeof command)
        kernel_fail("an order of %zu bytes", bytes);
    if (!state->lost && random_chance(io->kernel->random, io->kernel->faults.keeper_busy))
        return -EAGAIN;
    memcpy(&command, packet, sizeof command);
    struct program *program = state->first;
    while (program && (program->place != command.place || program->serial != command.serial))
        program = program->next;
    if (!program || program->state == PROGRAM_GONE)
        return state->lost ? -EPIPE : 0;
    if (command.kind == KEEPER_END)
        kill_at(program, io->kernel->now_ns + command.value * MILLISECOND_NS);
    else
        kill_group(io->kernel, program);
    return 0;
}
