// See replay.h. One thread has one epoll for all connections. With a speed, messages are due by their recorded times,
// even if requests are unanswered, and latency counts from these times. Without a speed, each source has some requests
// under way.
#include "tools/replay.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench/load/load.h"
#include "core/base/memory.h"
#include "core/base/siphash.h"
#include "tools/client.h"
#include "tools/client_signals.h"
#include "tools/output.h"
#include "tools/replay_agents.h"

enum {
    UNDER_WAY_MAX = 64,          // requests of one source, without a speed
    OUT_BYTES_MAX = 1024 * 1024, // bytes that may wait for one connection, without a speed
    EVENTS_MAX = 64,
    US_NS = 1000,
    MS_NS = 1000000,
    LEAVE_NS = 2000000000, // the wait for an answer to agent/unregister
};

// The sending of a message of the recording.
struct flight {
    struct hash_node by_id; // while the request is under way
    uint64_t due_ns;
    struct flight *next; // of the same source, without a speed
};

struct player {
    struct client client;
    bool is_open, is_writing; // is_writing: epoll waits until more can be written
    bool is_registered;       // the hub has the target that the connection plays
    struct text out;          // framed messages, of which `sent` bytes are written
    size_t sent;
    uint32_t under_way;
    struct flight *first, *last; // messages that must still be sent, without a speed
};

// An answer of a target that is played, which waits for its time.
struct due_answer {
    uint64_t due_ns;
    const struct recorded_message *request; // NULL: of no request of the recording
    int32_t player;
    uint32_t id_bytes;
    char *id;
};

struct replay {
    const struct replay_plan *plan;
    struct replay_figures *figures;
    struct replay_answers *answers; // with plan.serve
    struct player *players;         // one for each of recording.peers
    struct flight *flights;         // one for each of recording.messages
    struct hash_table by_id;        // struct flight.by_id
    struct due_answer *due;         // a heap: the earliest first
    size_t due_count, due_capacity;
    size_t next; // with a speed: the index of the message that is due next
    uint64_t begun_ns;
    uint64_t left; // requests that were sent and have no answer, at connections that are open
    uint64_t unsent;
    int epoll, signals;
    bool is_interrupted;
    const char *fault; // why the replay can't go on; or NULL
};

static const struct siphash_key no_secret;

static const struct recorded_message *message_of(const struct replay *replay, const struct flight *flight) {
    return &replay->plan->recording->messages[flight - replay->flights];
}

static uint64_t hash_id(int32_t source, const uint8_t *id, size_t bytes) {
    return siphash_table(&no_secret, id, bytes) + 31 * (uint64_t)source;
}

static uint64_t hash_of_flight(const struct hash_table *by_id, const struct hash_node *node) {
    const struct replay *replay = hash_table_entry(by_id, const struct replay, by_id);
    const struct recorded_message *message = message_of(replay, hash_table_entry(node, struct flight, by_id));
    struct span id = recorded_id(message);
    return hash_id(message->source, message->body + id.at, id.bytes);
}

// --- Output

static void watch(struct replay *replay, int32_t index) {
    struct player *player = &replay->players[index];
    bool is_writing = player->sent < player->out.length;
    struct epoll_event event = {.events = EPOLLIN | (is_writing ? EPOLLOUT : 0u),
                                .data.u32 = (uint32_t)index};
    if (is_writing != player->is_writing) {
        epoll_ctl(replay->epoll, EPOLL_CTL_MOD, player->client.socket, &event);
        player->is_writing = is_writing;
    }
}

// Gives up a connection: requests that were sent on it will have no answer.
static void lose(struct replay *replay, int32_t index) {
    struct player *player = &replay->players[index];
    assert(player->is_open);
    player->is_open = false;
    replay->left -= player->under_way;
    player->under_way = 0;
    for (; player->first != NULL; player->first = player->first->next) {
        replay->unsent--;
    }
    epoll_ctl(replay->epoll, EPOLL_CTL_DEL, player->client.socket, NULL);
    client_close(&player->client);
}

static void write_out(struct replay *replay, int32_t index) {
    struct player *player = &replay->players[index];
    while (player->sent < player->out.length) {
        ssize_t sent = send(player->client.socket, player->out.bytes + player->sent,
                            player->out.length - player->sent, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (sent < 0) {
            lose(replay, index);
            return;
        }
        player->sent += (size_t)sent;
    }
    if (player->sent == player->out.length) {
        player->sent = player->out.length = 0;
    }
    watch(replay, index);
}

static void put_frame(struct replay *replay, struct player *player, const void *body, size_t bytes) {
    char head[CLIENT_HEAD_BYTES_MAX];
    struct text *out = &player->out;
    text_add(out, head, client_head(&player->client, head, bytes));
    text_add(out, body, bytes);
    if (!out->failed) {
        client_flatten(&player->client, out->bytes + out->length - bytes, bytes);
    }
    text_put(out, player->client.wire->tail);
    if (out->failed) {
        replay->fault = "memory is used up";
    }
}

// --- Sources

static void send_message(struct replay *replay, struct flight *flight, uint64_t due_ns) {
    const struct recorded_message *message = message_of(replay, flight);
    struct player *player = &replay->players[message->source];
    replay->unsent--;
    if (!player->is_open) {
        return;
    }
    flight->due_ns = due_ns;
    put_frame(replay, player, message->body, message->body_bytes);
    if (!recorded_is_request(message)) {
        return;
    }
    if (!hash_table_add(&replay->by_id, &flight->by_id)) {
        replay->fault = "memory is used up";
        return;
    }
    player->under_way++;
    replay->left++;
}

// Sends a source's messages, as many as may be under way.
static void send_more(struct replay *replay, int32_t index, uint64_t now_ns) {
    struct player *player = &replay->players[index];
    while (player->is_open && player->first != NULL && player->under_way < UNDER_WAY_MAX &&
           player->out.length - player->sent < OUT_BYTES_MAX && replay->fault == NULL) {
        struct flight *flight = player->first;
        player->first = flight->next;
        send_message(replay, flight, now_ns);
    }
}

static uint64_t due_ns_of(const struct replay *replay, const struct recorded_message *message) {
    uint64_t ms = message->time_ms - replay->plan->recording->messages[0].time_ms;
    return replay->begun_ns + (uint64_t)((double)ms * MS_NS / replay->plan->speed);
}

static void send_due(struct replay *replay, uint64_t now_ns) {
    const struct recording *recording = replay->plan->recording;
    while (replay->plan->speed > 0 && replay->next < recording->count && replay->fault == NULL) {
        const struct recorded_message *message = &recording->messages[replay->next];
        uint64_t due_ns = due_ns_of(replay, message);
        if (due_ns > now_ns) {
            return;
        }
        send_message(replay, &replay->flights[replay->next++], due_ns);
        if (replay->players[message->source].is_open) {
            write_out(replay, message->source);
        }
    }
}

static void take_response(struct replay *replay, int32_t index, const uint8_t *body,
                          const struct lookup *found, uint64_t now_ns) {
    struct span id = found->value[KEY_ID];
    struct hash_node *node = hash_table_find(&replay->by_id, hash_id(index, body + id.at, id.bytes));
    for (; node != NULL; node = node->next) {
        struct flight *flight = hash_table_entry(node, struct flight, by_id);
        const struct recorded_message *message = message_of(replay, flight);
        struct span own = recorded_id(message);
        if (message->source != index || own.bytes != id.bytes ||
            memcmp(message->body + own.at, body + id.at, id.bytes) != 0) {
            continue;
        }
        hash_table_remove(&replay->by_id, node);
        replay->players[index].under_way--;
        replay->left--;
        replay->figures->answers++;
        replay->figures->errors += lookup_has(found, KEY_ERROR);
        histogram_record(&replay->figures->latency, now_ns > flight->due_ns ? now_ns - flight->due_ns : 0);
        return;
    }
}

// --- Targets

static bool is_sooner(const struct replay *replay, size_t one, size_t other) {
    return replay->due[one].due_ns < replay->due[other].due_ns;
}

static void swap(struct replay *replay, size_t one, size_t other) {
    struct due_answer moved = replay->due[one];
    replay->due[one] = replay->due[other];
    replay->due[other] = moved;
}

static bool due_push(struct replay *replay, const struct due_answer *answer) {
    if (replay->due_count == replay->due_capacity) {
        size_t capacity = replay->due_capacity > 0 ? 2 * replay->due_capacity : 64;
        struct due_answer *grown = memory_resize(replay->due, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        replay->due = grown;
        replay->due_capacity = capacity;
    }
    size_t at = replay->due_count++;
    replay->due[at] = *answer;
    for (; at > 0 && is_sooner(replay, at, (at - 1) / 2); at = (at - 1) / 2) {
        swap(replay, at, (at - 1) / 2);
    }
    return true;
}

static struct due_answer due_pop(struct replay *replay) {
    struct due_answer first = replay->due[0];
    assert(replay->due_count > 0);
    replay->due[0] = replay->due[--replay->due_count];
    for (size_t at = 0, child; (child = 2 * at + 1) < replay->due_count; at = child) {
        if (child + 1 < replay->due_count && is_sooner(replay, child + 1, child)) {
            child++;
        }
        if (!is_sooner(replay, child, at)) {
            break;
        }
        swap(replay, at, child);
    }
    return first;
}

static void take_request(struct replay *replay, int32_t index, const uint8_t *body, uint32_t bytes,
                         const struct lookup *found, uint64_t now_ns) {
    struct span id = found->value[KEY_ID];
    struct due_answer answer = {.due_ns = now_ns, .player = index, .id_bytes = id.bytes};
    answer.request = replay_answers_take(replay->answers, body, bytes, found);
    if (answer.request != NULL && replay->plan->speed > 0) {
        answer.due_ns += (uint64_t)((double)answer.request->target_us * US_NS / replay->plan->speed);
    }
    answer.id = memory_take(id.bytes);
    if (answer.id != NULL) {
        memcpy(answer.id, body + id.at, id.bytes);
    }
    if (answer.id == NULL || !due_push(replay, &answer)) {
        memory_give(answer.id);
        replay->fault = "memory is used up";
    }
}

static void answer_due(struct replay *replay, uint64_t now_ns) {
    while (replay->due_count > 0 && replay->due[0].due_ns <= now_ns) {
        struct due_answer answer = due_pop(replay);
        struct player *player = &replay->players[answer.player];
        struct text body = {0};
        if (player->is_open) {
            replay_put_answer(&body, answer.request, answer.id, answer.id_bytes);
            player->out.failed |= body.failed;
            put_frame(replay, player, body.bytes, body.length);
            write_out(replay, answer.player);
        }
        text_deinit(&body);
        memory_give(answer.id);
    }
}

// --- Input

static void take_all(struct replay *replay, int32_t index, uint64_t now_ns) {
    struct player *player = &replay->players[index];
    struct client_body body;
    int taken;
    while ((taken = client_take(&player->client, &body)) > 0) {
        struct lookup found;
        lookup_body(&found, body.bytes, body.count, body.count);
        if (found.verdict != LOOKUP_GOOD || !lookup_has(&found, KEY_ID)) {
            continue; // a notification
        }
        if (found.kind == BODY_RESPONSE) {
            take_response(replay, index, body.bytes, &found, now_ns);
        } else if (found.kind == BODY_REQUEST && replay->answers != NULL) {
            take_request(replay, index, body.bytes, body.count, &found, now_ns);
        }
    }
    if (taken < 0) {
        lose(replay, index);
    }
}

static void receive(struct replay *replay, int32_t index) {
    struct player *player = &replay->players[index];
    ssize_t received = client_fill(&player->client);
    if (received == -EAGAIN || received == -EINTR) {
        return;
    }
    if (received <= 0) {
        lose(replay, index);
        return;
    }
    take_all(replay, index, load_now_ns());
}

// --- The loop

// Returns when the next message or answer is due, whatever comes before; UINT64_MAX: none is.
static uint64_t next_ns(const struct replay *replay) {
    const struct recording *recording = replay->plan->recording;
    uint64_t next_ns = replay->due_count > 0 ? replay->due[0].due_ns : UINT64_MAX;
    if (replay->plan->speed > 0 && replay->next < recording->count) {
        uint64_t due_ns = due_ns_of(replay, &recording->messages[replay->next]);
        next_ns = due_ns < next_ns ? due_ns : next_ns;
    }
    return next_ns;
}

static void wait_for_events(struct replay *replay) {
    struct epoll_event events[EVENTS_MAX];
    uint64_t now_ns = load_now_ns(), until_ns = next_ns(replay);
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
    int count =
        epoll_pwait2(replay->epoll, events, EVENTS_MAX, until_ns == UINT64_MAX ? NULL : &timeout, NULL);
    if (count < 0 && errno != EINTR) {
        replay->fault = strerror(errno);
    }
    for (int at = 0; at < count; at++) {
        int32_t index = (int32_t)events[at].data.u32;
        if (index == RECORDING_NONE) {
            replay->is_interrupted = signals_take(replay->signals) != 0;
            continue;
        }
        if (replay->players[index].is_open && (events[at].events & EPOLLOUT) != 0) {
            write_out(replay, index);
        }
        if (replay->players[index].is_open && (events[at].events & ~(uint32_t)EPOLLOUT) != 0) {
            receive(replay, index);
        }
        if (replay->plan->speed == 0 && replay->players[index].is_open) {
            send_more(replay, index, load_now_ns());
            write_out(replay, index);
        }
    }
}

// Returns whether a connection still has bytes to write.
static bool is_writing(const struct replay *replay) {
    for (size_t index = 0; index < replay->plan->recording->peer_count; index++) {
        if (replay->players[index].is_open && replay->players[index].is_writing) {
            return true;
        }
    }
    return false;
}

static void play(struct replay *replay) {
    const struct recording *recording = replay->plan->recording;
    replay->begun_ns = load_now_ns();
    for (size_t index = 0; index < recording->peer_count && replay->plan->speed == 0; index++) {
        if (replay->players[index].is_open) {
            send_more(replay, (int32_t)index, replay->begun_ns);
            write_out(replay, (int32_t)index);
        }
    }
    for (;;) {
        uint64_t now_ns = load_now_ns();
        send_due(replay, now_ns);
        answer_due(replay, now_ns);
        if (replay->fault != NULL || replay->is_interrupted ||
            (replay->unsent == 0 && replay->left == 0 && !is_writing(replay))) {
            return;
        }
        wait_for_events(replay);
    }
}

// --- Begin and end

// Raises the limit of descriptors to the hard limit, so that as many connections as possible can be opened.
static void raise_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static enum status register_agent(struct replay *replay, int32_t index) {
    struct client *client = &replay->players[index].client;
    struct client_answer answer;
    struct text params = {0};
    replay_put_offer(&params, replay->plan->recording, index);
    text_add(&params, "", 1);
    int error = params.failed ? -ENOMEM : client_call(client, "agent/register", params.bytes, &answer);
    text_deinit(&params);
    if (error < 0) {
        return unreachable(replay->plan->hub, error);
    }
    if (answer.refused) {
        fputs("replay: ", stderr);
        output_line(stderr, answer.body.bytes + answer.value.at, answer.value.bytes);
        return STATUS_REFUSED;
    }
    replay->players[index].is_registered = true;
    return STATUS_DONE;
}

static enum status open_player(struct replay *replay, int32_t index) {
    const struct recorded_peer *peer = replay->plan->recording->peers[index];
    struct player *player = &replay->players[index];
    bool is_agent = replay->plan->serve && peer->is_agent;
    if (!peer->sends && !(is_agent && peer->serves)) {
        return STATUS_DONE;
    }
    int error = client_open(&player->client, replay->plan->hub);
    if (error < 0) {
        return unreachable(replay->plan->hub, error);
    }
    player->is_open = true;
    enum status status = is_agent ? register_agent(replay, index) : STATUS_DONE;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};
    if (status == STATUS_DONE &&
        (fcntl(player->client.socket, F_SETFL, O_NONBLOCK) < 0 ||
         epoll_ctl(replay->epoll, EPOLL_CTL_ADD, player->client.socket, &event) < 0)) {
        status = unreachable(replay->plan->hub, -errno);
    }
    return status;
}

// Sets the order in which messages are sent.
static void line_up(struct replay *replay) {
    const struct recording *recording = replay->plan->recording;
    for (size_t at = 0; at < recording->count; at++) {
        const struct recorded_message *message = &recording->messages[at];
        struct player *player = &replay->players[message->source];
        replay->figures->requests += recorded_is_request(message);
        replay->unsent++;
        if (replay->plan->speed > 0) {
            continue;
        }
        if (player->first == NULL) {
            player->first = &replay->flights[at];
        } else {
            player->last->next = &replay->flights[at];
        }
        player->last = &replay->flights[at];
    }
}

static enum status begin(struct replay *replay) {
    const struct recording *recording = replay->plan->recording;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)RECORDING_NONE};
    replay->players = memory_take_zeroed(recording->peer_count + 1, sizeof *replay->players);
    replay->flights = memory_take_zeroed(recording->count + 1, sizeof *replay->flights);
    replay->answers = replay->plan->serve ? replay_answers_create(recording) : NULL;
    replay->epoll = epoll_create1(EPOLL_CLOEXEC);
    replay->signals = signals_open();
    if (replay->players == NULL || replay->flights == NULL ||
        (replay->plan->serve && replay->answers == NULL)) {
        return unreachable(replay->plan->hub, -ENOMEM);
    }
    if (replay->epoll < 0 || replay->signals < 0 ||
        epoll_ctl(replay->epoll, EPOLL_CTL_ADD, replay->signals, &event) < 0) {
        return unreachable(replay->plan->hub, -errno);
    }
    line_up(replay);
    raise_descriptors();
    enum status status = STATUS_DONE;
    for (size_t index = 0; index < recording->peer_count && status == STATUS_DONE; index++) {
        status = open_player(replay, (int32_t)index);
    }
    return status;
}

// Unregisters the targets, so that their names are free once the command has ended. Waits up to LEAVE_NS for an answer;
// without one, the connections' ends free the names later.
static void unregister_agents(struct replay *replay) {
    const struct recording *recording = replay->plan->recording;
    int error = 0;
    for (size_t index = 0; index < recording->peer_count && replay->players != NULL && error == 0; index++) {
        struct player *player = &replay->players[index];
        struct client_answer answer;
        struct text params = {0};
        if (!player->is_open || !player->is_registered || player->sent < player->out.length) {
            continue;
        }
        text_put(&params, "{\"agentId\":");
        text_string(&params, recording->peers[index]->name, recording->peers[index]->name_bytes);
        text_add(&params, "}", sizeof "}");
        client_set_deadline(&player->client, LEAVE_NS);
        error =
            params.failed ? -ENOMEM : client_call(&player->client, "agent/unregister", params.bytes, &answer);
        text_deinit(&params);
    }
}

static void end(struct replay *replay) {
    const struct recording *recording = replay->plan->recording;
    unregister_agents(replay);
    for (size_t at = 0; at < recording->count && replay->flights != NULL; at++) {
        if (replay->flights[at].by_id.link != NULL) {
            hash_table_remove(&replay->by_id, &replay->flights[at].by_id);
        }
    }
    hash_table_deinit(&replay->by_id);
    for (size_t index = 0; index < recording->peer_count && replay->players != NULL; index++) {
        if (replay->players[index].is_open) {
            client_close(&replay->players[index].client);
        }
        text_deinit(&replay->players[index].out);
    }
    while (replay->due_count > 0) {
        memory_give(due_pop(replay).id);
    }
    if (replay->answers != NULL) {
        replay_answers_destroy(replay->answers);
    }
    memory_give(replay->due);
    memory_give(replay->flights);
    memory_give(replay->players);
    if (replay->epoll >= 0) {
        close(replay->epoll);
    }
    if (replay->signals >= 0) {
        signals_close(replay->signals);
    }
}

enum status replay_run(const struct replay_plan *plan, struct replay_figures *figures) {
    struct replay replay = {.plan = plan, .figures = figures};
    hash_table_init(&replay.by_id, hash_of_flight, NULL);
    *figures = (struct replay_figures){0};
    enum status status = begin(&replay);
    if (status == STATUS_DONE) {
        play(&replay);
        status = figures->answers == figures->requests && replay.unsent == 0 ? STATUS_DONE : STATUS_REFUSED;
    }
    if (replay.fault != NULL) {
        fprintf(stderr, "replay: %s\n", replay.fault);
    }
    end(&replay);
    return status;
}
