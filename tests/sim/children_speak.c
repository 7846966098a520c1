// How children fare, as all may see, and how clients and programs speak.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/children.h"

// --- States, as child.h draws them

void __real_child_set_state(struct child *child, enum child_state state);
void __wrap_child_set_state(struct child *child, enum child_state state);

struct kind *kind_named(const char *name) {
    for (unsigned index = 0; index < stage.kind_count; index++)
        if (strcmp(stage.kinds[index].name, name) == 0)
            return &stage.kinds[index];
    kernel_fail("nobody knows a child %s", name);
}

#define TO(state) (1u << (state))

static void check_move(const struct child *child, enum child_state state) {
    static const uint32_t moves[CHILD_STATES_COUNT] = {
        [CHILD_IDLE] = TO(CHILD_STARTING) | TO(CHILD_ENDING),
        [CHILD_WAITING] = TO(CHILD_IDLE) | TO(CHILD_ENDING),
        [CHILD_STARTING] = TO(CHILD_GREETING) | TO(CHILD_RUNNING) | TO(CHILD_WAITING) | TO(CHILD_STOPPING) |
                           TO(CHILD_ENDING),
        [CHILD_GREETING] = TO(CHILD_RUNNING) | TO(CHILD_STOPPING) | TO(CHILD_ENDING),
        [CHILD_RUNNING] = TO(CHILD_STOPPING) | TO(CHILD_ENDING),
        [CHILD_STOPPING] = TO(CHILD_ENDING),
        [CHILD_ENDING] = TO(CHILD_WAITING) | TO(CHILD_DOWN) | TO(CHILD_STOPPED) | TO(CHILD_REMOVED),
        [CHILD_DOWN] = TO(CHILD_ENDING),
        [CHILD_STOPPED] = TO(CHILD_ENDING),
    };
    uint32_t now = atomic_load(&child->record->state);
    uint32_t may = now == CHILD_REMOVED ? TO(CHILD_WAITING) | TO(CHILD_IDLE) : moves[now];
    if (now != CHILD_REMOVED && now != child->state)
        kernel_fail("%s is %u, and its record says %u", child->record->name, child->state, now);
    if (!(may & TO(state)))
        kernel_fail("%s goes from state %u to %u", child->record->name, now, state);
}

void __wrap_child_set_state(struct child *child, enum child_state state) {
    struct kind *kind = kind_named(child->settings->name);
    bool comes = atomic_load(&child->record->state) == CHILD_REMOVED; // it isn't known everywhere at once
    check_move(child, state);
    kind->ends += state == CHILD_STOPPING || state == CHILD_ENDING;
    // A message that was on its way when the child was told to stop finds it as a later one does.
    kind->away += state == CHILD_STOPPING || state == CHILD_DOWN || state == CHILD_STOPPED ||
                  state == CHILD_REMOVED || comes;
    if (state == CHILD_REMOVED)
        kind->gone_ns = kernel_now(stage.world.kernel);
    sums.ends += state == CHILD_ENDING;
    __real_child_set_state(child, state);
}

static bool is_resting(uint32_t state) {
    return state == CHILD_IDLE || state == CHILD_WAITING || state >= CHILD_DOWN;
}

static const struct child_record *record_at(uint32_t place) {
    const struct hub *hub = stage.world.hub;
    if (place >= child_record_count(hub))
        kernel_fail("a program has a place that no child has");
    return child_record_at(hub, place);
}

// A child that rests has no program.
void check_programs(void) {
    for (const struct program *one = programs_first(stage.world.kernel); one; one = one->next)
        if (one->state != PROGRAM_GONE && is_resting(atomic_load(&record_at(one->place)->state)) &&
            !stage.ending)
            kernel_fail("%s rests in state %u, and has a program", one->name,
                        atomic_load(&record_at(one->place)->state));
}

// A child that has gone has let go of its place once all know it.
void check_places(void) {
    for (uint32_t place = 0; place < child_record_count(stage.world.hub); place++)
        if (!child_record_is_there(record_at(place)) && record_at(place)->leaving > 0)
            kernel_fail("%s has gone, and keeps its place", record_at(place)->name);
}

// Returns whether any of this kind is in one of these states, or none is.
bool kind_any_is(const struct kind *kind, uint32_t least, uint32_t most) {
    const struct hub *hub = stage.world.hub;
    size_t bytes = strlen(kind->name);
    for (uint32_t index = 0; index < child_record_count(hub); index++) {
        const struct child_record *record = child_record_at(hub, index);
        uint32_t state = atomic_load(&record->state);
        bool same = strncmp(record->name, kind->name, bytes) == 0 &&
                    (!record->name[bytes] || record->name[bytes] == '#');
        if (same && state >= least && state <= most)
            return true;
    }
    return false;
}

// Returns whether the first of this kind, which has the name, is down, stopped, or not there.
bool kind_is_away(const struct kind *kind) {
    const struct child_record *record = child_record_find(stage.world.hub, kind->name, strlen(kind->name));
    return !record || atomic_load(&record->state) >= CHILD_DOWN;
}

bool kind_is_removed(const struct kind *kind) {
    return kind_any_is(kind, CHILD_ENDING, CHILD_REMOVED) && !kind_any_is(kind, CHILD_IDLE, CHILD_STOPPING);
}

// --- Speaking

void mouth_open(struct mouth *mouth, struct cable *from, struct cable *to, bool lines) {
    *mouth = (struct mouth){from, to, lines, calloc(1, ROOM), calloc(1, ROOM), 0, 0, 0};
    if (!mouth->in || !mouth->out)
        abort();
}

void mouth_close(struct mouth *mouth) {
    free(mouth->in);
    free(mouth->out);
    *mouth = (struct mouth){0};
}

void mouth_put(struct mouth *mouth, const char *bytes, size_t count) {
    if (mouth->out_at) {
        memmove(mouth->out, mouth->out + mouth->out_at, mouth->out_count - mouth->out_at);
        mouth->out_count -= mouth->out_at;
        mouth->out_at = 0;
    }
    if (mouth->out_count + count > ROOM)
        kernel_fail("somebody has more to say than there is room for");
    memcpy(mouth->out + mouth->out_count, bytes, count);
    mouth->out_count += count;
}

// A part of what is to be said, or all.
void mouth_flush(struct mouth *mouth, bool all) {
    size_t left = mouth->out_count - mouth->out_at;
    size_t count = all || !left ? left : random_below(&stage.random, (uint32_t)left + 1);
    if (count && mouth->to)
        cable_write(mouth->to, mouth->out + mouth->out_at, count);
    mouth->out_at += count;
}

void mouth_say(struct mouth *mouth, const char *format, ...) {
    char body[512], head[64];
    va_list arguments;
    va_start(arguments, format);
    int bytes = vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    if (!mouth->lines)
        mouth_put(mouth, head, (size_t)snprintf(head, sizeof head, "Content-Length: %d\r\n\r\n", bytes));
    mouth_put(mouth, body, (size_t)bytes);
    if (mouth->lines)
        mouth_put(mouth, "\n", 1);
}

// The next body that has come; its bytes stay until the next call.
bool mouth_listen(struct mouth *mouth, struct bit *body, size_t *done) {
    struct naive_frame frame;
    memmove(mouth->in, mouth->in + *done, mouth->in_count - *done);
    mouth->in_count -= *done;
    *done = 0;
    if (mouth->from)
        mouth->in_count += cable_read(mouth->from, mouth->in + mouth->in_count, ROOM - mouth->in_count);
    enum naive_result result =
        mouth->in_count ? (mouth->lines ? naive_line : naive_frame)(&frame, mouth->in, mouth->in_count)
                        : NAIVE_PARTIAL;
    if (result == NAIVE_BAD)
        kernel_fail("the hub sent what is no frame: %.*s", (int)mouth->in_count, (const char *)mouth->in);
    if (result != NAIVE_WHOLE)
        return false;
    *body = frame.body;
    *done = frame.bytes;
    return true;
}
