// See recording.h. A line is checked only as far as it is used.
#include "tools/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/agents/agent.h"
#include "core/base/buffer.h"
#include "core/base/memory.h"
#include "core/base/siphash.h"
#include "core/base/text.h"

enum { ANSWER_BYTES_MAX = 1 << 30 }; // the largest frame limit that a hub may have

static const uint64_t TIME_US_MAX = UINT64_C(366) * 24 * 3600 * 1000000;

// The second entry of a request, until it is joined with the first entry.
struct recorded_end {
    uint64_t number;
    int32_t target;
    bool is_error;
    uint32_t answer_bytes;
    int64_t code;
    uint64_t target_us, whole_us;
};

// A line of the file, with slack behind it.
struct line {
    uint8_t *bytes;
    size_t count, capacity;
    uint64_t number;
};

static const char no_memory[] = "memory is used up", no_entry[] = "this is no entry of a recording";

// The hash of names needs no secret, because the output tells the writer of a recording nothing new.
static const struct siphash_key no_secret;

static uint64_t hash_of_peer(const struct hash_table *by_name, const struct hash_node *node) {
    const struct recorded_peer *peer = hash_table_entry(node, struct recorded_peer, by_name);
    (void)by_name;
    return siphash_table(&no_secret, peer->name, peer->name_bytes);
}

// Makes room in `list` for one more element of `bytes` bytes. Returns the list, or NULL without memory: the list stays
// as it was.
static void *grow(void *list, size_t *capacity, size_t count, size_t bytes) {
    if (count < *capacity) {
        return list;
    }
    size_t more = *capacity > 0 ? 2 * *capacity : 64;
    void *grown = memory_resize(list, more * bytes);
    if (grown != NULL) {
        *capacity = more;
    }
    return grown;
}

// --- Peers

static struct recorded_peer *find_peer(const struct recording *recording, const char *name, size_t bytes) {
    struct hash_node *node = hash_table_find(&recording->by_name, siphash_table(&no_secret, name, bytes));
    for (; node != NULL; node = node->next) {
        struct recorded_peer *peer = hash_table_entry(node, struct recorded_peer, by_name);
        if (peer->name_bytes == bytes && memcmp(peer->name, name, bytes) == 0) {
            return peer;
        }
    }
    return NULL;
}

static struct recorded_peer *add_peer(struct recording *recording, const char *name, size_t bytes) {
    struct recorded_peer *peer = memory_take_zeroed(1, sizeof *peer + bytes);
    struct recorded_peer **peers =
        grow(recording->peers, &recording->peer_capacity, recording->peer_count, sizeof *peers);
    if (peer == NULL || peers == NULL) {
        recording->peers = peers != NULL ? peers : recording->peers;
        memory_give(peer);
        return NULL;
    }
    recording->peers = peers;
    memcpy(peer->name, name, bytes);
    peer->name_bytes = bytes;
    peer->is_agent = name[0] != '#' && name[0] != '@';
    peer->index = (int32_t)recording->peer_count;
    if (!hash_table_add(&recording->by_name, &peer->by_name)) {
        memory_give(peer);
        return NULL;
    }
    recording->peers[recording->peer_count++] = peer;
    return peer;
}

// Returns the peer that an entry names under a key. Returns NULL if the entry names none, or without memory, and sets
// *fault then.
static struct recorded_peer *peer_of(struct recording *recording, const struct line *line, struct span entry,
                                     const char *key, const char **fault) {
    char name[RECORDING_NAME_BYTES_MAX];
    size_t bytes = json_member_text(line->bytes, entry, key, name, sizeof name);
    if (bytes == SIZE_MAX || bytes == 0) {
        return NULL;
    }
    struct recorded_peer *peer = find_peer(recording, name, bytes);
    if (peer == NULL) {
        peer = add_peer(recording, name, bytes);
    }
    if (peer == NULL) {
        *fault = no_memory;
    }
    return peer;
}

// --- Entries

// Returns whether the entry has no such member, or has a whole number up to `most`.
static bool is_number_or_none(const struct line *line, struct span entry, const char *key, uint64_t most) {
    uint64_t number;
    struct json_item item = json_member(line->bytes, entry, key);
    return item.type == JSON_NONE || (item.type == JSON_NUMBER &&
                                      json_number_whole(line->bytes, item.value, &number) && number <= most);
}

static bool has_number(const struct line *line, struct span entry, const char *key) {
    uint64_t number;
    struct json_item item = json_member(line->bytes, entry, key);
    return item.type == JSON_NUMBER && json_number_whole(line->bytes, item.value, &number);
}

// Reads the code of an entry; 0: the entry has none. Returns false if the code is no whole number of 64 bits.
static bool read_code(const struct line *line, struct span entry, int64_t *code) {
    struct json_item item = json_member(line->bytes, entry, "code");
    uint64_t number = 0;
    *code = 0;
    if (item.type != JSON_NUMBER) {
        return item.type == JSON_NONE;
    }
    bool is_negative = line->bytes[item.value.at] == '-';
    struct span digits = {item.value.at + is_negative, item.value.bytes - is_negative};
    if (!json_number_whole(line->bytes, digits, &number) || number > INT64_MAX) {
        return false;
    }
    *code = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

// Copies a message's body and looks it up. Returns NULL, or the fault.
static const char *take_body(struct recorded_message *message, const struct line *line, struct span entry,
                             struct span body) {
    message->body = memory_take(body.bytes + BUFFER_SLACK_BYTES);
    if (message->body == NULL) {
        return no_memory;
    }
    size_t bytes = json_string_decode(line->bytes, body, (char *)message->body, body.bytes);
    if (bytes == SIZE_MAX || bytes != json_member_whole(line->bytes, entry, "bytes")) {
        return "the body isn't whole";
    }
    memset(message->body + bytes, 0, BUFFER_SLACK_BYTES);
    message->body_bytes = (uint32_t)bytes;
    lookup_body(&message->found, message->body, message->body_bytes, message->body_bytes);
    bool is_call = message->found.kind == BODY_REQUEST || message->found.kind == BODY_NOTIFICATION;
    return message->found.verdict == LOOKUP_GOOD && is_call ? NULL
                                                            : "the body is no request and no notification";
}

static const char *add_message(struct recording *recording, const struct line *line, struct span entry,
                               struct span body, const struct recorded_peer *target) {
    const char *fault = NULL;
    struct recorded_peer *source = peer_of(recording, line, entry, "source", &fault);
    if (source == NULL) {
        return fault != NULL ? fault : no_entry;
    }
    struct recorded_message *messages =
        grow(recording->messages, &recording->capacity, recording->count, sizeof *messages);
    if (messages == NULL) {
        return no_memory;
    }
    recording->messages = messages;
    struct recorded_message *message = &recording->messages[recording->count++];
    *message = (struct recorded_message){
        .time_ms = json_member_whole(line->bytes, entry, "time"),
        .number = json_member_whole(line->bytes, entry, "n"),
        .source = source->index,
        .target = target != NULL ? target->index : RECORDING_NONE,
    };
    source->sends = true;
    return take_body(message, line, entry, body);
}

static const char *add_end(struct recording *recording, const struct line *line, struct span entry,
                           const struct recorded_peer *target, bool is_error) {
    static const char *const times[] = {"queueUs", "targetUs", "hubUs"};
    for (size_t at = 0; at < sizeof times / sizeof *times; at++) {
        if (!is_number_or_none(line, entry, times[at], TIME_US_MAX)) {
            return "a time of the entry can't be";
        }
    }
    if (!is_number_or_none(line, entry, "answerBytes", ANSWER_BYTES_MAX)) {
        return "the entry has no such number of answerBytes";
    }
    int64_t code;
    if (!read_code(line, entry, &code)) {
        return "the code of the entry is no whole number";
    }
    struct recorded_end *ends =
        grow(recording->ends, &recording->end_capacity, recording->end_count, sizeof *ends);
    if (ends == NULL) {
        return no_memory;
    }
    recording->ends = ends;
    uint64_t target_us = json_member_whole(line->bytes, entry, "targetUs");
    uint64_t answer_bytes = json_member_whole(line->bytes, entry, "answerBytes");
    recording->ends[recording->end_count++] = (struct recorded_end){
        .number = json_member_whole(line->bytes, entry, "n"),
        .target = target != NULL ? target->index : RECORDING_NONE,
        .is_error = is_error,
        .answer_bytes = (uint32_t)answer_bytes,
        .code = code,
        .target_us = target_us,
        .whole_us = target_us + json_member_whole(line->bytes, entry, "queueUs") +
                    json_member_whole(line->bytes, entry, "hubUs"),
    };
    return NULL;
}

static bool is_kind(const struct line *line, struct json_item kind) {
    static const char *const kinds[] = {"request", "notification", "event"};
    bool is_known = false;
    for (size_t at = 0; kind.type == JSON_STRING && at < sizeof kinds / sizeof *kinds; at++) {
        is_known |= json_string_is(line->bytes, kind.value, kinds[at]);
    }
    return is_known;
}

// Returns whether an outcome is one that a hub gives to this kind of message. Only the first entry of a request has
// null.
static bool is_outcome(const struct line *line, struct json_item outcome, bool is_request) {
    static const char *const of_requests[] = {"result",    "error",       "refused",    "timed_out",
                                              "cancelled", "source_left", "target_left"};
    static const char *const of_others[] = {"delivered", "dropped", "refused"};
    const char *const *names = is_request ? of_requests : of_others;
    size_t count =
        is_request ? sizeof of_requests / sizeof *of_requests : sizeof of_others / sizeof *of_others;
    bool is_known = is_request && outcome.type == JSON_NULL;
    for (size_t at = 0; outcome.type == JSON_STRING && at < count; at++) {
        is_known |= json_string_is(line->bytes, outcome.value, names[at]);
    }
    return is_known;
}

static bool is_text_or_none(struct json_item item) {
    return item.type == JSON_NONE || item.type == JSON_STRING;
}

// Returns whether the entry has no such member, or the name of a peer: an agentId, # and a connection's number, or @
// and a capability.
static bool is_peer_or_none(const struct line *line, struct span entry, const char *key) {
    char name[RECORDING_NAME_BYTES_MAX];
    if (json_member(line->bytes, entry, key).type == JSON_NONE) {
        return true;
    }
    size_t bytes = json_member_text(line->bytes, entry, key, name, sizeof name);
    if (bytes == SIZE_MAX || bytes == 0) {
        return false;
    }
    if (name[0] == '#') {
        return bytes > 1 && strspn(name + 1, "0123456789") >= bytes - 1;
    }
    return name[0] == '@' ? bytes > 1 : agent_id_valid(name, bytes);
}

// Takes an entry. A request has two entries, the first with the body and without an outcome. Every other message has
// one entry. Returns NULL, or the fault.
static const char *take_entry(struct recording *recording, const struct line *line, struct span entry) {
    const char *fault = NULL;
    struct json_item outcome = json_member(line->bytes, entry, "outcome");
    struct json_item body = json_member(line->bytes, entry, "body");
    struct json_item kind = json_member(line->bytes, entry, "kind");
    if (!has_number(line, entry, "time") || !has_number(line, entry, "n") || !is_kind(line, kind) ||
        !is_text_or_none(body) || !is_text_or_none(json_member(line->bytes, entry, "target"))) {
        return no_entry;
    }
    if (!is_outcome(line, outcome, json_string_is(line->bytes, kind.value, "request"))) {
        return "no message of this kind has this outcome";
    }
    if (!is_peer_or_none(line, entry, "source") || !is_peer_or_none(line, entry, "target")) {
        return "the source or target is no agentId and no connection";
    }
    const struct recorded_peer *target = peer_of(recording, line, entry, "target", &fault);
    if (fault == NULL && body.type == JSON_STRING) {
        fault = add_message(recording, line, entry, body.value, target);
    }
    if (fault == NULL && outcome.type == JSON_STRING && json_string_is(line->bytes, kind.value, "request")) {
        fault =
            add_end(recording, line, entry, target, !json_string_is(line->bytes, outcome.value, "result"));
    }
    return fault;
}

// --- Lines

// Reads a line. Returns 1; 0: there is no more line; -1: there is no memory, or the file can't be read.
static int read_line(FILE *file, struct line *line) {
    char *bytes = (char *)line->bytes;
    ssize_t count = getline(&bytes, &line->capacity, file);
    line->bytes = (uint8_t *)bytes;
    if (count < 0) {
        return feof(file) ? 0 : -1;
    }
    line->count = (size_t)count;
    line->number++;
    if (line->capacity < line->count + BUFFER_SLACK_BYTES) {
        uint8_t *grown = realloc(line->bytes, line->count + BUFFER_SLACK_BYTES);
        if (grown == NULL) {
            return -1;
        }
        line->bytes = grown;
        line->capacity = line->count + BUFFER_SLACK_BYTES;
    }
    memset(line->bytes + line->count, 0, BUFFER_SLACK_BYTES);
    return 1;
}

// Returns whether the line is one JSON object, and nothing else.
static bool is_object(const struct line *line, struct span *value) {
    uint32_t at = json_skip_space(line->bytes, 0, (uint32_t)line->count);
    struct json_walk walk;
    struct json_item item;
    enum json_step step = JSON_BAD;
    if (at == line->count || line->bytes[at] != '{') {
        return false;
    }
    *value = (struct span){at, (uint32_t)line->count - at};
    while (value->bytes > 0 && strchr(" \t\r\n", line->bytes[value->at + value->bytes - 1]) != NULL) {
        value->bytes--;
    }
    json_walk_begin(&walk, line->bytes, *value);
    while ((step = json_next(&walk, &item)) == JSON_ITEM) {
    }
    return step == JSON_END && line->bytes[value->at + value->bytes - 1] == '}';
}

// Takes a line. Returns NULL, or the fault.
static const char *take_line(struct recording *recording, const struct line *line, bool *has_ended) {
    struct span value;
    if (line->count > UINT32_MAX / 2 || !is_object(line, &value)) {
        return line->number == 1 ? "this is no recording" : no_entry;
    }
    if (line->number == 1) {
        return json_member_whole(line->bytes, value, "patchbay-recording") == 1 ? NULL
                                                                                : "this is no recording";
    }
    if (*has_ended) {
        return "the recording has ended before this line";
    }
    if (has_number(line, value, "recorded")) {
        *has_ended = true;
        return json_member_whole(line->bytes, value, "recorded") == line->number - 2
                   ? NULL
                   : "the number of entries before this line isn't \"recorded\"";
    }
    return take_entry(recording, line, value);
}

static const char *read_all(struct recording *recording, FILE *file, struct line *line) {
    bool has_ended = false;
    const char *fault = NULL;
    int got = 0;
    while (fault == NULL && (got = read_line(file, line)) > 0) {
        fault = take_line(recording, line, &has_ended);
    }
    if (fault == NULL && got < 0) {
        fault = ferror(file) ? strerror(errno) : no_memory;
    }
    if (fault == NULL && line->number == 0) {
        line->number = 1;
        fault = "this is no recording";
    }
    if (fault == NULL && !has_ended) {
        line->number++;
        fault = "the recording is cut: its closing line {\"recorded\":N,\"missed\":M} is missing";
    }
    return fault;
}

// --- The whole

static int by_number(const void *one, const void *other) {
    uint64_t a = ((const struct recorded_end *)one)->number, b = ((const struct recorded_end *)other)->number;
    return (a > b) - (a < b);
}

static int by_time(const void *one, const void *other) {
    const struct recorded_message *a = one, *b = other;
    if (a->time_ms != b->time_ms) {
        return a->time_ms > b->time_ms ? 1 : -1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

// Joins the ends with their messages. Only the end has the target of a request that was routed.
static void join(struct recording *recording) {
    if (recording->end_count > 0) {
        qsort(recording->ends, recording->end_count, sizeof *recording->ends, by_number);
    }
    for (size_t index = 0; index < recording->count && recording->end_count > 0; index++) {
        struct recorded_message *message = &recording->messages[index];
        struct recorded_end key = {.number = message->number};
        const struct recorded_end *end =
            bsearch(&key, recording->ends, recording->end_count, sizeof *recording->ends, by_number);
        if (end == NULL || !recorded_is_request(message)) {
            continue;
        }
        message->has_ended = true;
        message->is_error = end->is_error;
        message->answer_bytes = end->answer_bytes;
        message->code = end->code;
        message->target_us = end->target_us;
        message->whole_us = end->whole_us;
        if (end->target != RECORDING_NONE) {
            message->target = end->target;
        }
    }
    for (size_t index = 0; index < recording->count; index++) {
        if (recording->messages[index].target != RECORDING_NONE) {
            recording->peers[recording->messages[index].target]->serves = true;
        }
    }
    if (recording->count > 0) {
        qsort(recording->messages, recording->count, sizeof *recording->messages, by_time);
    }
}

bool recording_read(struct recording *recording, const char *path) {
    struct line line = {0};
    *recording = (struct recording){0};
    hash_table_init(&recording->by_name, hash_of_peer, NULL);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "patchbay: %s: %s\n", path, strerror(errno));
        return false;
    }
    const char *fault = read_all(recording, file, &line);
    free(line.bytes);
    fclose(file);
    if (fault != NULL) {
        fprintf(stderr, "patchbay: %s:%llu: %s\n", path, (unsigned long long)line.number, fault);
        return false;
    }
    join(recording);
    return true;
}

void recording_deinit(struct recording *recording) {
    for (size_t index = 0; index < recording->peer_count; index++) {
        hash_table_remove(&recording->by_name, &recording->peers[index]->by_name);
        memory_give(recording->peers[index]);
    }
    for (size_t index = 0; index < recording->count; index++) {
        memory_give(recording->messages[index].body);
    }
    hash_table_deinit(&recording->by_name);
    memory_give(recording->peers);
    memory_give(recording->messages);
    memory_give(recording->ends);
}
