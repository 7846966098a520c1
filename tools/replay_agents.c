// See replay_agents.h.
#include "tools/replay_agents.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/siphash.h"

// A request in an order. Places with the same hash lie side by side, in the order in which the requests were sent.
struct place {
    uint64_t hash;
    size_t index;
    size_t taken; // of the first place of a hash: how many places from there on are used up
};

enum order { BY_BODY, BY_METHOD, ORDERS_COUNT };

struct replay_answers {
    const struct recording *recording;
    size_t count; // the length of each order
    struct place *orders[ORDERS_COUNT];
    bool *is_taken; // by the index of the recording's messages
};

// The hash of bodies needs no secret, because the output tells the sender of a request nothing new.
static const struct siphash_key no_secret;

// Hashes a body without its id, which the hub replaces.
static uint64_t hash_body(const uint8_t *body, uint32_t bytes, const struct lookup *found) {
    struct span id = found->value[KEY_ID];
    uint32_t behind = id.at + id.bytes;
    assert(behind <= bytes);
    return 31 * siphash_table(&no_secret, body, id.at) +
           siphash_table(&no_secret, body + behind, bytes - behind);
}

static uint64_t hash_method(const uint8_t *body, const struct lookup *found) {
    struct span method = found->value[KEY_METHOD];
    return siphash_table(&no_secret, body + method.at, method.bytes);
}

static int by_hash(const void *one, const void *other) {
    const struct place *a = one, *b = other;
    if (a->hash != b->hash) {
        return a->hash > b->hash ? 1 : -1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

static void fill(struct replay_answers *answers) {
    const struct recording *recording = answers->recording;
    for (size_t index = 0; index < recording->count; index++) {
        const struct recorded_message *message = &recording->messages[index];
        if (!recorded_is_request(message)) {
            continue;
        }
        answers->orders[BY_BODY][answers->count] =
            (struct place){hash_body(message->body, message->body_bytes, &message->found), index, 0};
        answers->orders[BY_METHOD][answers->count] =
            (struct place){hash_method(message->body, &message->found), index, 0};
        answers->count++;
    }
    for (unsigned order = 0; order < ORDERS_COUNT; order++) {
        qsort(answers->orders[order], answers->count, sizeof(struct place), by_hash);
    }
}

struct replay_answers *replay_answers_create(const struct recording *recording) {
    struct replay_answers *answers = memory_take_zeroed(1, sizeof *answers);
    if (answers == NULL) {
        return NULL;
    }
    answers->recording = recording;
    bool has_memory = (answers->is_taken = memory_take_zeroed(recording->count + 1, sizeof(bool))) != NULL;
    for (unsigned order = 0; order < ORDERS_COUNT; order++) {
        answers->orders[order] = memory_take((recording->count + 1) * sizeof(struct place));
        has_memory &= answers->orders[order] != NULL;
    }
    if (!has_memory) {
        replay_answers_destroy(answers);
        return NULL;
    }
    fill(answers);
    return answers;
}

void replay_answers_destroy(struct replay_answers *answers) {
    for (unsigned order = 0; order < ORDERS_COUNT; order++) {
        memory_give(answers->orders[order]);
    }
    memory_give(answers->is_taken);
    memory_give(answers);
}

// Returns the first place with this hash, or with a greater hash; or the end.
static size_t first_of(const struct replay_answers *answers, enum order order, uint64_t hash) {
    size_t low = 0, high = answers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (answers->orders[order][middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static const struct recorded_message *take(struct replay_answers *answers, enum order order, uint64_t hash) {
    size_t first = first_of(answers, order, hash);
    struct place *places = answers->orders[order];
    if (first == answers->count || places[first].hash != hash) {
        return NULL;
    }
    for (size_t at = first + places[first].taken; at < answers->count && places[at].hash == hash; at++) {
        places[first].taken = at + 1 - first;
        if (!answers->is_taken[places[at].index]) {
            answers->is_taken[places[at].index] = true;
            return &answers->recording->messages[places[at].index];
        }
    }
    return NULL;
}

const struct recorded_message *replay_answers_take(struct replay_answers *answers, const uint8_t *body,
                                                   uint32_t bytes, const struct lookup *found) {
    const struct recorded_message *message = take(answers, BY_BODY, hash_body(body, bytes, found));
    return message != NULL ? message : take(answers, BY_METHOD, hash_method(body, found));
}

// --- The capabilities of a target

// Adds a name to a list, unless the list has the name.
static void put_name(struct text *list, const char *name, size_t bytes) {
    struct text quoted = {0};
    text_string(&quoted, name, bytes);
    text_add(&quoted, "", 1);
    if (!quoted.failed && (list->length == 0 || strstr(list->bytes, quoted.bytes) == NULL)) {
        list->length -= list->length > 0; // the zero byte
        text_put(list, list->length > 0 ? "," : "");
        text_add(list, quoted.bytes, quoted.length);
    }
    list->failed |= quoted.failed;
    text_deinit(&quoted);
}

struct offer {
    struct text capabilities, methods, tools,
        commands; // lists of JSON strings, each with a zero byte behind it
};

static void put_field(struct text *list, const struct recorded_message *message, enum lookup_key key,
                      size_t skipped) {
    char name[RECORDING_NAME_BYTES_MAX];
    size_t bytes = SIZE_MAX;
    if (lookup_has(&message->found, key) && message->found.type[key] == JSON_STRING) {
        bytes = json_string_decode(message->body, message->found.value[key], name, sizeof name);
    }
    if (bytes != SIZE_MAX && bytes > skipped) {
        put_name(list, name + skipped, bytes - skipped);
    }
}

static bool is_method(const struct recorded_message *message, const char *method) {
    return json_string_is(message->body, message->found.value[KEY_METHOD], method);
}

// Notes by which name a message reached its target: a capability, a tool, a command, a method, or the target's own
// name.
static void read_reason(struct offer *offer, const struct recorded_message *message) {
    bool is_named = lookup_has(&message->found, KEY_TARGET_AGENT);
    if (is_named && message->found.type[KEY_TARGET_AGENT] == JSON_STRING) {
        if (json_string_begins(message->body, message->found.value[KEY_TARGET_AGENT], "@")) {
            put_field(&offer->capabilities, message, KEY_TARGET_AGENT, 1);
        }
    } else if (is_method(message, "tool/integration")) {
        put_field(&offer->tools, message, KEY_TOOL, 0);
    } else if (is_method(message, "command/execute")) {
        put_field(&offer->commands, message, KEY_COMMAND, 0);
    } else {
        put_field(&offer->methods, message, KEY_METHOD, 0);
    }
}

static void put_list(struct text *params, const char *name, const struct text *list, bool *is_first) {
    if (list->length == 0) {
        return;
    }
    text_put(params, *is_first ? "\"" : ",\"");
    text_put(params, name);
    text_put(params, "\":[");
    text_put(params, list->bytes);
    text_put(params, "]");
    *is_first = false;
}

// Writes each capability as a member that is true. The list has the names as JSON strings with commas between them.
static void put_capabilities(struct text *params, const struct text *list, bool *is_first) {
    struct json_walk walk;
    struct json_item item;
    struct text array = {0};
    text_put(&array, "[");
    text_put(&array, list->length > 0 ? list->bytes : "");
    text_put(&array, "]");
    uint32_t bytes = (uint32_t)array.length;
    if (text_reserve(&array, BUFFER_SLACK_BYTES)) {
        memset(array.bytes + bytes, 0, BUFFER_SLACK_BYTES);
        json_walk_begin(&walk, (const uint8_t *)array.bytes, (struct span){0, bytes});
        while (json_next(&walk, &item) == JSON_ITEM) {
            text_put(params, *is_first ? "" : ",");
            text_add(params, array.bytes + item.value.at, item.value.bytes);
            text_put(params, ":true");
            *is_first = false;
        }
    }
    params->failed |= array.failed;
    text_deinit(&array);
}

void replay_put_offer(struct text *params, const struct recording *recording, int32_t peer) {
    struct offer offer = {0};
    bool is_first = true;
    for (size_t index = 0; index < recording->count; index++) {
        if (recording->messages[index].target == peer) {
            read_reason(&offer, &recording->messages[index]);
        }
    }
    text_put(params, "{\"agentId\":");
    text_string(params, recording->peers[peer]->name, recording->peers[peer]->name_bytes);
    text_put(params, ",\"capabilities\":{");
    put_capabilities(params, &offer.capabilities, &is_first);
    put_list(params, "methods", &offer.methods, &is_first);
    put_list(params, "tools", &offer.tools, &is_first);
    put_list(params, "commands", &offer.commands, &is_first);
    text_put(params, "}}");
    params->failed |=
        offer.capabilities.failed || offer.methods.failed || offer.tools.failed || offer.commands.failed;
    text_deinit(&offer.capabilities);
    text_deinit(&offer.methods);
    text_deinit(&offer.tools);
    text_deinit(&offer.commands);
}

// --- Answers

// Answers a request that isn't in the recording, or whose end isn't known, with a short result. A request that ended
// with the hub's error gets that error, from its target.
void replay_put_answer(struct text *body, const struct recorded_message *request, const char *id,
                       size_t id_bytes) {
    bool is_error = request != NULL && request->has_ended && request->is_error && request->code != 0;
    size_t begun = body->length, wanted = request != NULL ? request->answer_bytes : 0;
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_add(body, id, id_bytes);
    if (is_error) {
        text_put(body, ",\"error\":{\"code\":");
        text_number(body, request->code);
        text_put(body, ",\"message\":\"");
    } else {
        text_put(body, ",\"result\":\"");
    }
    const char *tail = is_error ? "\"}}" : "\"}";
    size_t bytes = body->length - begun + strlen(tail), filler = wanted > bytes ? wanted - bytes : 0;
    if (filler > 0 && text_reserve(body, filler)) {
        memset(body->bytes + body->length, 'x', filler);
        body->length += filler;
    }
    text_put(body, tail);
}
