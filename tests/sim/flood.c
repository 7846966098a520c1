#include "tests/sim/flood.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

enum {
    CROWD_MAX = 24,
    AT_ONCE_MAX = 64,
    RELOADS_MAX = 6,
    PINGS_MAX = 60,
    MEBIBYTE = 1 << 20,
    LARGE_BYTES = 256 * MEBIBYTE, // with it shards lend as much as they ever do
    WAIT_SECONDS = 30,            // for an answer: all that takes memory for good is given up long before
};
#define SECOND_NS UINT64_C(1000000000)

// Neighbours have two names: of one name they would be one entry of a queue.
static const char *const event_texts[] = {
    "Content-Length: 63\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"flood/0\"}}",
    "Content-Length: 63\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"flood/1\"}}",
};
static const char subscribe_text[] = "Content-Length: "
                                     "81\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"hub/"
                                     "subscribe\",\"params\":{\"events\":[\"flood/*\"]}}";
static const char ping_text[] =
    "Content-Length: 44\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hub/ping\"}";

// A peer of the crowd.
struct one {
    struct cable *cable; // NULL: it has gone
    bool lines;          // it speaks one JSON text a line
    struct queue_bytes in;
    bool subscribed; // has read that it is
    uint64_t heard, told;
};

static struct {
    bool on;
    struct limits limits; // as at the start
    struct one listeners[CROWD_MAX], publisher, pinger;
    unsigned listener_count, to_publish, published, reloads, pings;
    bool awake;  // listeners read
    bool sure;   // no fault of this run loses events untold
    bool faulty; // faults may end the publisher
    bool choked; // the bound of memory sank below what was in use: who needs more is closed
    bool waits;  // for the answer to a ping
    uint64_t since_ns;
} flood;

void flood_choose(struct random *random, struct profile *profile, struct world_options *options) {
    struct limits *limits = &options->limits;
    profile->flood = profile->lossy = true;
    profile->counted = false;
    profile->big_bytes_max = 20000;
    limits->connections_max = 2 * GUESTS_MAX + CROWD_MAX + 8;
    uint64_t least = limits_memory_bytes_least(options->shard_count);
    limits->memory_bytes_max =
        random_chance(random, 400) ? LARGE_BYTES : least + random_below(random, 2 * MEBIBYTE);
    if (random_chance(random, 500))
        limits->queue_bytes_max = 1000 + random_below(random, 400000);
    options->faults.window_bytes = 2000 + random_below(random, 20000);
}

// --- The crowd

static void hear(struct one *one, const struct naive_frame *frame) {
    if (flood_is(frame))
        one->heard++;
    else if (bit_is(naive_find(frame->body, "method"), "\"hub/dropped\""))
        one->told += bit_number(naive_find(frame->body, "params.count"));
    else if (naive_find(frame->body, "result.events").bytes)
        one->subscribed = true;
    else if (bit_is(naive_find(frame->body, "id"), "1"))
        flood.waits = false;
}

static void join(struct run *run, struct one *one) {
    one->lines = random_chance(run->random, run->profile.lines);
    one->cable = liners_dial(run, one->lines);
}

// Writes a frame; as a line its body alone.
static void say(struct one *one, const char *frame) {
    const char *text = one->lines ? strchr(frame, '{') : frame;
    cable_write(one->cable, text, strlen(text));
    if (one->lines)
        cable_write(one->cable, "\n", 1);
}

static void leave(struct one *one) {
    if (one->cable)
        cable_close(one->cable);
    one->cable = NULL;
    one->in.at = one->in.count = 0;
}

// Reads what has come; false when there was nothing.
static bool read_all(struct one *one) {
    uint8_t bytes[16384];
    struct naive_frame frame;
    size_t count = one->cable ? cable_read(one->cable, bytes, sizeof bytes) : 0;
    if (!count) {
        bool ended = one->cable && cable_at_end(one->cable);
        if (ended)
            leave(one);
        return ended;
    }
    queue_bytes_add(&one->in, bytes, count);
    while (one->in.at < one->in.count) {
        enum naive_result result = (one->lines ? naive_line : naive_frame)(&frame, one->in.bytes + one->in.at,
                                                                           one->in.count - one->in.at);
        if (result == NAIVE_BAD)
            kernel_fail("the hub sent what is no frame, or no line");
        if (result == NAIVE_PARTIAL)
            break;
        one->in.at += frame.bytes;
        hear(one, &frame);
    }
    return true;
}

bool flood_is(const struct naive_frame *frame) {
    struct bit name = naive_find(frame->body, "params.event");
    return bit_is(name, "\"flood/0\"") || bit_is(name, "\"flood/1\"");
}

void flood_open(struct run *run, const struct world_options *options) {
    memset(&flood, 0, sizeof flood);
    flood.on = run->profile.flood;
    if (!flood.on)
        return;
    flood.limits = options->limits;
    flood.sure = !options->faults.reset;
    flood.faulty = options->no_memory || options->faults.reset;
    flood.listener_count = 4 + random_below(run->random, CROWD_MAX - 4);
    flood.to_publish = 100 + random_below(run->random, 1500);
    for (unsigned index = 0; index < flood.listener_count; index++) {
        join(run, &flood.listeners[index]);
        say(&flood.listeners[index], subscribe_text);
    }
    join(run, &flood.publisher);
}

// --- What happens

// Other bounds, lower or higher, that the options allow.
static bool reload(struct run *run) {
    if (flood.reloads == RELOADS_MAX || !random_chance(run->random, 5))
        return false;
    struct limits limits = flood.limits;
    uint64_t least = limits_memory_bytes_least(run->world.shard_count);
    flood.reloads++;
    limits.memory_bytes_max =
        random_chance(run->random, 300) ? LARGE_BYTES : least + random_below(run->random, MEBIBYTE);
    if (random_chance(run->random, 500))
        limits.queue_bytes_max = 1000 + random_below(run->random, 1000000);
    // Where more is in use than may be from now on, nothing is left for what comes until some of it has gone.
    flood.choked |= atomic_load(&run->world.hub->budget.bytes) > limits.memory_bytes_max / 8 * 7;
    world_reload(&run->world, &limits);
    if (flood.pings > PINGS_MAX / 2)
        flood.pings = PINGS_MAX / 2;
    return true;
}

// A ping that was lost with its connection is sent again, and is as late as it was.
static bool ping(struct run *run) {
    uint64_t now_ns = kernel_now(run->world.kernel);
    bool came = read_all(&flood.pinger);
    if (flood.waits && now_ns - flood.since_ns > WAIT_SECONDS * SECOND_NS)
        kernel_fail("a ping wasn't answered for %d s", WAIT_SECONDS);
    if (flood.pinger.cable && flood.waits)
        return came;
    if (!flood.waits && (flood.pings == PINGS_MAX || random_chance(run->random, 900)))
        return came;
    if (!flood.pinger.cable)
        join(run, &flood.pinger);
    if (!flood.pinger.cable)
        return came; // nobody listens any more
    if (!flood.waits)
        flood.since_ns = now_ns;
    flood.pings += !flood.waits;
    flood.waits = true;
    say(&flood.pinger, ping_text);
    return true;
}

static bool publish(struct run *run) {
    struct one *publisher = &flood.publisher;
    read_all(publisher);
    if (!publisher->cable || flood.published == flood.to_publish || cable_unread(publisher->cable) > 65536)
        return false;
    for (unsigned left = 1 + random_below(run->random, AT_ONCE_MAX); left > 0; left--) {
        if (flood.published == flood.to_publish)
            break;
        say(publisher, event_texts[flood.published++ % 2]);
    }
    return true;
}

// Listeners read the answer to their subscription, and then nothing until they wake.
static bool listen(struct run *run) {
    bool any = false, all = true;
    for (unsigned index = 0; index < flood.listener_count; index++) {
        struct one *one = &flood.listeners[index];
        all &= one->subscribed || !one->cable;
        if (flood.awake || !one->subscribed)
            any |= read_all(one);
    }
    if (all)
        any |= publish(run);
    bool done = all && (flood.published == flood.to_publish || !flood.publisher.cable);
    if (done && !flood.awake && random_chance(run->random, 20))
        return flood.awake = true;
    return any;
}

bool flood_act(struct run *run) {
    if (!flood.on)
        return false;
    if (run->draining) {
        flood.awake = true;
        flood.waits = false;
        flood.pings = PINGS_MAX;
        flood.reloads = RELOADS_MAX;
        bool read = read_all(&flood.pinger);
        return listen(run) || read;
    }
    bool acted = reload(run);
    acted |= ping(run);
    return listen(run) || acted;
}

// --- The end

void flood_rest(const struct run *run) {
    if (!flood.on)
        return;
    if (flood.waits)
        kernel_fail("a ping is never answered");
    const struct cable *publisher = flood.publisher.cable;
    if (!publisher && !flood.faulty && !flood.choked && !run->profile.drain_early)
        kernel_fail("the publisher was closed, which reads");
    bool all_read = publisher && cable_unread(publisher) == 0 && flood.awake;
    for (unsigned index = 0; index < flood.listener_count; index++) {
        const struct one *one = &flood.listeners[index];
        uint64_t known = one->heard + one->told;
        if (known > flood.published || (one->cable && one->subscribed && all_read && flood.sure &&
                                        !run->profile.drain_early && known != flood.published))
            kernel_fail("of %u events a listener heard %llu and was told that it missed %llu",
                        flood.published, (unsigned long long)one->heard, (unsigned long long)one->told);
    }
}

void flood_close(void) {
    leave(&flood.publisher);
    leave(&flood.pinger);
    free(flood.publisher.in.bytes);
    free(flood.pinger.in.bytes);
    for (unsigned index = 0; index < flood.listener_count; index++) {
        leave(&flood.listeners[index]);
        free(flood.listeners[index].in.bytes);
    }
    memset(&flood, 0, sizeof flood);
}
