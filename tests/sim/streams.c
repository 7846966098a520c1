// Sessions of HCS on the simulated kernel, from a seed. Producers and clients read when they like, pause,
// flush, leave and come back, beside an oracle that knows all frames. Each client gets each chunk in its
// order and once, but for those that it was told of, or has flushed itself. Each client gets each end once,
// and when all is over nothing is left.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "router/features/hcs/hcs_shard.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"
#include "tests/sim/seeds.h"
#include "tests/sim/world.h"

enum {
    PRODUCERS_MAX = 3,
    VIEWERS_MAX = 8,
    SESSIONS_MAX = 5,
    CHUNKS_MAX = 400,
    ACTS = 600,
    BODY_BYTES_MAX = 12000,
    MILLISECOND = 1000000,
    LARGE_BYTES = 60000,
    ASKED_BYTES = 300000,
};

// A connection.
struct talker {
    struct cable *cable; // NULL: it has left
    bool lines;
    bool asleep; // it doesn't read
    uint8_t *in;
    size_t count, capacity;
};

struct show {
    int producer; // NOBODY: no start has come to one yet
    unsigned chunks;
    bool ended; // by a frame of its producer's
};

// The view that a viewer has of a session.
struct view {
    bool joined, over;
    bool paused, flushed, told_gone;
    bool placed;
    bool named; // a place, so that nothing up to there comes: `after`
    unsigned after;
    unsigned next; // the chunk that is expected, as long as nothing was missed
    uint64_t seen, shed;
    unsigned first;
};

enum { NOBODY = -1 };

static struct {
    struct world world;
    struct random random;
    struct talker producers[PRODUCERS_MAX], viewers[VIEWERS_MAX];
    unsigned producer_count, viewer_count, session_count;
    struct show shows[SESSIONS_MAX];
    struct view views[VIEWERS_MAX][SESSIONS_MAX];
    bool pauses; // some pause for ever, and others need the memory that is held for them
    bool faulty; // memory fails now and then, so that connections may be closed
    bool ending; // the hub ends
} stage;

static struct { uint64_t starts, chunks, given, shed, gone, ends, refused; } sums;

// --- Talking

static void dial(struct talker *talker) {
    talker->lines = random_chance(&stage.random, 250);
    talker->cable = talker->lines ? world_dial_lines(&stage.world) : world_dial(&stage.world);
    if (!talker->cable)
        kernel_fail("nobody listens");
    talker->count = 0;
    talker->asleep = false;
}

static void say(struct talker *talker, const char *body) {
    char head[64];
    if (!talker->cable)
        return;
    int bytes = snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", strlen(body));
    if (!talker->lines)
        cable_write(talker->cable, head, (size_t)bytes);
    cable_write(talker->cable, body, strlen(body));
    if (talker->lines)
        cable_write(talker->cable, "\n", 1);
}

static void hang_up(struct talker *talker) {
    if (talker->cable)
        cable_close(talker->cable);
    talker->cable = NULL;
    talker->count = 0;
}

// --- The oracle

static size_t padding_of(unsigned session, unsigned seq) {
    unsigned dice = (seq * 7919 + session * 104729) % 100;
    return dice < 60 ? dice : dice < 90 ? 100 + 30 * dice : 9000;
}

static const char *lod_of(unsigned seq) {
    static const char *const lods[] = {"atomic", "micro", "atomic", "macro"};
    return lods[seq % 4];
}

static unsigned session_of(struct bit body) {
    struct bit id = naive_find(body, "session_id");
    if (id.count != 4 || id.bytes[1] != 's' || (unsigned)(id.bytes[2] - '0') >= stage.session_count)
        kernel_fail("a frame of a session that nobody knows: %.*s", (int)body.count,
                    (const char *)body.bytes);
    return (unsigned)(id.bytes[2] - '0');
}

static void see_chunk(struct view *view, unsigned session, struct bit body) {
    uint64_t seq = bit_number(naive_find(body, "seq"));
    if (seq >= stage.shows[session].chunks)
        kernel_fail("a chunk that was never sent");
    if (naive_find(body, "text").count !=
        (stage.pauses ? LARGE_BYTES - 1 : padding_of(session, (unsigned)seq)) + 2)
        kernel_fail("a chunk isn't what it was");
    if (view->named && seq <= view->after)
        kernel_fail("chunk %u came to who has asked for what follows %u", (unsigned)seq, view->after);
    if (view->placed && seq < view->next)
        kernel_fail("chunk %u came after %u", (unsigned)seq, view->next - 1);
    if (!view->placed)
        view->first = (unsigned)seq;
    view->placed = true;
    view->next = (unsigned)seq + 1;
    view->seen++;
    sums.given++;
}

static void see_control(struct view *view, struct bit body) {
    if (naive_find(body, "shed").bytes) {
        uint64_t atomic = bit_number(naive_find(body, "shed.atomic")),
                 micro = bit_number(naive_find(body, "shed.micro"));
        if (atomic + micro == 0)
            kernel_fail("it was told that nothing was shed");
        view->shed += atomic + micro;
        sums.shed += atomic + micro;
    } else if (naive_find(body, "gone").bytes) {
        view->told_gone = true;
        sums.gone++;
    }
}

static void see(unsigned viewer, struct bit body) {
    struct bit type = naive_find(body, "type");
    if (!type.bytes) // the answer to a ping
        return;
    bool refusal = naive_find(body, "refused").bytes;
    if (refusal) {
        sums.refused++;
        if (bit_is(naive_find(body, "refused"), "\"start\""))
            stage.views[viewer][session_of(body)] = (struct view){0};
        return;
    }
    unsigned session = session_of(body);
    struct view *view = &stage.views[viewer][session];
    if (!view->joined || view->over)
        kernel_fail("a frame for who isn't in session %u: %.*s", session, (int)body.count,
                    (const char *)body.bytes);
    if (bit_is(type, "\"chunk\"")) {
        see_chunk(view, session, body);
    } else if (bit_is(type, "\"control\"")) {
        see_control(view, body);
    } else if (bit_is(type, "\"complete\"") || bit_is(type, "\"error\"")) {
        view->over = true;
        sums.ends++;
    }
}

// All that it should have seen by the end.
static void check_view(const struct view *view, const struct show *show, unsigned session) {
    if (!view->joined || stage.faulty)
        return;
    if (!view->over)
        kernel_fail("session %u has ended, and somebody doesn't know", session);
    if (view->placed && view->first > (view->named ? view->after + 1 : 0) && !view->flushed &&
        !view->told_gone && view->shed == 0)
        kernel_fail("session %u began with chunk %u, and nothing told so", session, view->first);
    if (view->flushed || view->told_gone || (!show->ended && !stage.ending))
        return;
    unsigned after = view->named ? view->after + 1 : 0, due = show->chunks > after ? show->chunks - after : 0;
    if (view->seen + view->shed > due)
        kernel_fail("session %u: %u chunks, of which %u came and %u were shed", session, show->chunks,
                    (unsigned)view->seen, (unsigned)view->shed);
    if (view->seen + view->shed != due)
        kernel_fail("session %u: of %u chunks %u came, and %u were shed", session, show->chunks,
                    (unsigned)view->seen, (unsigned)view->shed);
}

static void hear(unsigned producer, struct bit body) {
    if (!bit_is(naive_find(body, "type"), "\"start\""))
        return;
    unsigned session = session_of(body);
    // Where memory is short, a session that has ended is forgotten sooner, and its name may begin another.
    if (stage.shows[session].producer != NOBODY && !stage.faulty)
        kernel_fail("session %u was started twice", session);
    stage.shows[session].producer = (int)producer;
}

// --- Reading

// Reads what has come; false when there was nothing.
static bool read_some(struct talker *talker, void (*take)(unsigned index, struct bit body), unsigned index) {
    if (!talker->cable || talker->asleep)
        return false;
    if (talker->capacity - talker->count < 65536) {
        talker->capacity = talker->capacity ? 2 * talker->capacity : 1 << 18;
        talker->in = realloc(talker->in, talker->capacity);
    }
    size_t count = cable_read(talker->cable, talker->in + talker->count, 65536), at = 0;
    talker->count += count;
    struct naive_frame frame;
    enum naive_result result = NAIVE_PARTIAL;
    while (at < talker->count && (result = (talker->lines ? naive_line : naive_frame)(
                                      &frame, talker->in + at, talker->count - at)) == NAIVE_WHOLE) {
        at += frame.bytes;
        take(index, frame.body);
    }
    if (result == NAIVE_BAD)
        kernel_fail("the hub sent what is no frame");
    memmove(talker->in, talker->in + at, talker->count - at);
    talker->count -= at;
    if (count == 0 && cable_at_end(talker->cable)) {
        if (!stage.faulty && !stage.ending)
            kernel_fail("the hub has closed a connection");
        hang_up(talker);
    }
    return count > 0;
}

static bool read_all(void) {
    bool any = false;
    for (unsigned index = 0; index < stage.producer_count; index++)
        any |= read_some(&stage.producers[index], hear, index);
    for (unsigned index = 0; index < stage.viewer_count; index++)
        any |= read_some(&stage.viewers[index], see, index);
    return any;
}

static void go_on(void) {
    do
        world_settle(&stage.world);
    while (read_all());
}

// --- Acting

static void start(unsigned viewer, unsigned session) {
    struct view *view = &stage.views[viewer][session];
    char body[200];
    if (view->joined)
        return;
    // A place in one that isn't known would begin nothing.
    bool named = stage.shows[session].producer != NOBODY && random_chance(&stage.random, 400);
    *view = (struct view){.joined = true,
                          .named = named,
                          .after = random_below(&stage.random, stage.shows[session].chunks + 20)};
    int bytes =
        snprintf(body, sizeof body, "{\"type\":\"start\",\"request_id\":\"r%u\",\"session_id\":\"s%u\"",
                 viewer, session);
    if (named)
        bytes += snprintf(body + bytes, sizeof body - (size_t)bytes, ",\"after_seq\":%u", view->after);
    snprintf(body + bytes, sizeof body - (size_t)bytes, "}");
    say(&stage.viewers[viewer], body);
    sums.starts++;
}

static bool has_producer(const struct show *show) {
    return show->producer != NOBODY && stage.producers[show->producer].cable;
}

static void say_chunk(unsigned session) {
    struct show *show = &stage.shows[session];
    static char body[BODY_BYTES_MAX + 200], text[BODY_BYTES_MAX];
    if (!has_producer(show) || show->ended || show->chunks == CHUNKS_MAX)
        return;
    unsigned seq = show->chunks++;
    size_t padding = padding_of(session, seq);
    memset(text, 'x', padding);
    text[padding] = '\0';
    snprintf(body, sizeof body,
             "{\"type\":\"chunk\",\"session_id\":\"s%u\",\"seq\":%u,\"lod\":\"%s\",\"text\":\"%s\"}", session,
             seq, lod_of(seq), text);
    say(&stage.producers[show->producer], body);
    sums.chunks++;
}

static void control(unsigned viewer, unsigned session, const char *action) {
    struct view *view = &stage.views[viewer][session];
    char body[200];
    if (!view->joined || view->over)
        return;
    if (strcmp(action, "flush") == 0)
        view->flushed = true;
    else
        view->paused = strcmp(action, "pause") == 0;
    snprintf(body, sizeof body, "{\"type\":\"control\",\"session_id\":\"s%u\",\"action\":\"%s\"}", session,
             action);
    say(&stage.viewers[viewer], body);
}

static void ack(unsigned viewer, unsigned session) {
    const struct view *view = &stage.views[viewer][session];
    char body[200];
    if (!view->joined || !view->placed)
        return;
    snprintf(body, sizeof body, "{\"type\":\"ack\",\"session_id\":\"s%u\",\"seq\":%u}", session,
             view->next - 1);
    say(&stage.viewers[viewer], body);
}

static void end_show(unsigned session) {
    struct show *show = &stage.shows[session];
    char body[100];
    if (!has_producer(show) || show->ended)
        return;
    show->ended = true;
    snprintf(body, sizeof body, "{\"type\":\"complete\",\"session_id\":\"s%u\"}", session);
    say(&stage.producers[show->producer], body);
}

static void leave(unsigned viewer) {
    hang_up(&stage.viewers[viewer]);
    memset(stage.views[viewer], 0, sizeof stage.views[viewer]);
    dial(&stage.viewers[viewer]);
}

static void act(void) {
    struct random *random = &stage.random;
    unsigned viewer = random_below(random, stage.viewer_count),
             session = random_below(random, stage.session_count);
    uint32_t dice = random_below(random, 1000);
    if (dice < 100)
        start(viewer, session);
    else if (dice < 700)
        for (unsigned left = random_between(random, 1, 10); left > 0; left--)
            say_chunk(session);
    else if (dice < 750)
        control(viewer, session, "pause");
    else if (dice < 820)
        control(viewer, session, "resume");
    else if (dice < 830)
        control(viewer, session, "flush");
    else if (dice < 900)
        ack(viewer, session);
    else if (dice < 950)
        stage.viewers[viewer].asleep = random_chance(random, 500);
    else if (dice < 953)
        leave(viewer);
    else if (dice < 955)
        end_show(session);
    else if (dice < 956 && stage.producer_count > 1)
        hang_up(&stage.producers[random_below(random, stage.producer_count)]);
    else
        world_pass(&stage.world, random_below(random, 3) * MILLISECOND);
}

// --- A pause for ever

// The first viewers have a session each, and pause. As much is streamed to them as the memory holds twice, and a
// bystander asks meanwhile, who must be answered.

static void say_large(unsigned session, unsigned seq) {
    static char body[LARGE_BYTES + 200], text[LARGE_BYTES];
    memset(text, 'x', sizeof text - 1);
    snprintf(body, sizeof body,
             "{\"type\":\"chunk\",\"session_id\":\"s%u\",\"seq\":%u,\"lod\":\"macro\",\"text\":\"%s\"}",
             session, seq, text);
    say(&stage.producers[0], body);
}

static unsigned answers;

static void hear_answer(unsigned index, struct bit body) {
    (void)index;
    answers += naive_find(body, "result").bytes != NULL;
}

static void ask_beside(void) {
    static char body[ASKED_BYTES + 200], pad[ASKED_BYTES];
    struct talker bystander = {0};
    bystander.cable = world_dial(&stage.world);
    if (!bystander.cable)
        kernel_fail("nobody listens");
    answers = 0;
    memset(pad, 'y', sizeof pad - 1);
    snprintf(body, sizeof body,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/ping\",\"params\":{\"pad\":\"%s\"}}", pad);
    say(&bystander, body);
    for (unsigned step = 0; step < 30 && answers == 0; step++) {
        go_on();
        while (read_some(&bystander, hear_answer, 0))
            go_on();
        world_pass(&stage.world, 100 * (uint64_t)MILLISECOND);
    }
    if (answers == 0)
        kernel_fail("while clients paused, a bystander had no answer in 3 s");
    hang_up(&bystander);
    free(bystander.in);
}

static void pause_for_ever(const struct world_options *options) {
    uint64_t sent = 0;
    unsigned sessions = stage.viewer_count < SESSIONS_MAX ? stage.viewer_count : SESSIONS_MAX;
    stage.session_count = sessions;
    for (unsigned viewer = 0; viewer < sessions; viewer++) {
        start(viewer, viewer);
        go_on();
        control(viewer, viewer, "pause");
    }
    go_on();
    for (unsigned seq = 0; sent < 2 * options->limits.memory_bytes_max; seq++)
        for (unsigned session = 0; session < sessions; session++, sent += LARGE_BYTES) {
            say_large(session, seq);
            stage.shows[session].chunks = seq + 1;
            go_on();
        }
    ask_beside();
}

// --- A run

static void choose(struct world_options *options, uint64_t seed, bool clean) {
    struct random *random = &stage.random;
    world_defaults(options, seed, random_between(random, 1, WORLD_SHARDS_MAX));
    options->strict = random_chance(random, 400);
    options->faults.window_bytes = random_between(random, 1000, 40000);
    if (random_chance(random, 700))
        options->limits.queue_bytes_max = random_between(random, 4000, 200000);
    if (random_chance(random, 400))
        options->own[FEATURE_HCS][HCS_OPTION_HISTORY_BYTES_MAX] = random_between(random, 1, 50000);
    if (random_chance(random, 300))
        options->mailbox_room = 4u << random_below(random, 5);
    stage.pauses = random_chance(random, 30);
    if (stage.pauses) { // whom memory costs their connection isn't judged
        stage.faulty = true;
        options->limits.queue_bytes_max = 4 << 20;
        options->limits.memory_bytes_max = limits_memory_bytes_least(options->shard_count) + (8 << 20);
        return;
    }
    if (clean)
        return;
    options->faults.cut = (uint16_t)random_below(random, 300);
    options->faults.short_send = (uint16_t)random_below(random, 300);
    options->faults.late = (uint16_t)random_below(random, 300);
    options->faults.preempt = (uint16_t)random_below(random, 200);
    options->faults.end_multishot = (uint16_t)random_below(random, 100);
    stage.faulty = random_chance(random, 200);
    if (!stage.faulty)
        return;
    options->no_memory = (uint16_t)random_below(random, 30);
    if (random_chance(random, 300))
        options->kept_room = random_between(random, 4000, 100000);
    if (random_chance(random, 300))
        options->limits.memory_bytes_max =
            limits_memory_bytes_least(options->shard_count) + random_below(random, 1 << 21);
}

static void raise_curtain(void) {
    stage.producer_count = random_between(&stage.random, 1, PRODUCERS_MAX);
    stage.viewer_count = random_between(&stage.random, 1, VIEWERS_MAX);
    stage.session_count = random_between(&stage.random, 1, SESSIONS_MAX);
    for (unsigned index = 0; index < stage.producer_count; index++) {
        char body[200];
        dial(&stage.producers[index]);
        snprintf(
            body, sizeof body,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agent/register\",\"params\":{\"agentId\":\"p%u\","
            "\"capabilities\":{\"hcs\":true},\"governanceLevel\":\"autonomous\"}}",
            index);
        say(&stage.producers[index], body);
    }
    for (unsigned index = 0; index < stage.viewer_count; index++)
        dial(&stage.viewers[index]);
    for (unsigned index = 0; index < SESSIONS_MAX; index++)
        stage.shows[index].producer = NOBODY;
    go_on();
}

static void end_pauses(void) {
    for (unsigned viewer = 0; viewer < stage.viewer_count; viewer++)
        for (unsigned session = 0; session < stage.session_count; session++)
            control(viewer, session, "resume");
    go_on();
}

static void end_shows(void) {
    for (unsigned session = 0; session < stage.session_count; session++)
        end_show(session);
    go_on();
}

// The hub ends in the midst of all: whoever has paused gets what was held, and the end, like everybody else.
static void end_hub(void) {
    struct world *world = &stage.world;
    stage.ending = true;
    kernel_signal(world->kernel, SIGTERM);
    go_on();
    for (unsigned rounds = 0; !world_stopped(world); rounds++) {
        uint64_t next_ns = world_next_ns(world);
        if (next_ns == UINT64_MAX || rounds == 10000)
            kernel_fail("the hub doesn't end");
        kernel_advance(world->kernel, next_ns);
        go_on();
    }
    go_on();
}

// Everybody reads and goes on, every session ends.
static void fall_curtain(void) {
    for (unsigned index = 0; index < stage.viewer_count; index++)
        stage.viewers[index].asleep = false;
    go_on();
    if (random_chance(&stage.random, 300)) {
        end_hub();
        return;
    }
    bool pauses_first = random_chance(&stage.random, 500);
    if (pauses_first)
        end_pauses();
    end_shows();
    if (!pauses_first)
        end_pauses();
    for (unsigned step = 0; step < 5; step++) {
        world_pass(&stage.world, 200 * (uint64_t)MILLISECOND);
        go_on();
    }
}

static void check_all(void) {
    for (unsigned viewer = 0; viewer < stage.viewer_count; viewer++)
        for (unsigned session = 0; session < stage.session_count; session++)
            if (stage.viewers[viewer].cable || stage.ending)
                check_view(&stage.views[viewer][session], &stage.shows[session], session);
}

static void run_streams(uint64_t seed, bool clean) {
    struct world_options options;
    memset(&stage, 0, sizeof stage);
    random_init(&stage.random, seed);
    choose(&options, seed, clean);
    world_open(&stage.world, &options);
    raise_curtain();
    if (stage.pauses)
        pause_for_ever(&options);
    for (unsigned number = 0; number < ACTS && !stage.pauses; number++) {
        act();
        if (random_chance(&stage.random, 700))
            go_on();
    }
    fall_curtain();
    check_all();
    for (unsigned index = 0; index < PRODUCERS_MAX; index++)
        hang_up(&stage.producers[index]), free(stage.producers[index].in);
    for (unsigned index = 0; index < VIEWERS_MAX; index++)
        hang_up(&stage.viewers[index]), free(stage.viewers[index].in);
    world_settle(&stage.world);
    if (!stage.ending)
        world_stop(&stage.world);
    world_close(&stage.world);
}

static bool clean;

static void run_seed(uint64_t seed) {
    run_streams(seed, clean);
}

int main(int argc, char **argv) {
    static const struct seeds_flag flags[] = {{"--clean", &clean}, {NULL, NULL}};
    static const struct seeds seeds = {.program = "patchbay_streams", .flags = flags, .run = run_seed};
    uint64_t runs = seeds_run(&seeds, argc, argv);
    printf("%" PRIu64 " runs: %" PRIu64 " starts, %" PRIu64 " chunks, given %" PRIu64 " times, shed %" PRIu64
           ", gaps told %" PRIu64 ", ends seen %" PRIu64 ", refused %" PRIu64 "\n",
           runs, sums.starts, sums.chunks, sums.given, sums.shed, sums.gone, sums.ends, sums.refused);
    return 0;
}
