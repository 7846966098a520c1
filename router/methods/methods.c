#include "router/methods/methods.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/engine/request/validate.h"
#include "router/engine/shard/feature_call.h"
#include "router/methods/cancel_request.h"
#include "router/methods/session.h"
#include "router/methods/status.h"
#include "router/registry/agent_params.h"
#include "router/registry/directory.h"
#include "router/registry/method_table.h"
#include "router/registry/subscribe.h"

// The engine's own methods, by enum method.
static const struct feature_method engine_methods[METHODS_COUNT] = {
#define X(method, text, function, early, grows, stays)                                                       \
    [method] = {.name = text,                                                                                \
                .answer = function,                                                                          \
                .before_initialize = early,                                                                  \
                .result_grows = grows,                                                                       \
                .lasts = stays},
    METHODS(X)
#undef X
};

// Returns whether the message's method has the hub's prefix. Only the hub sends such messages to peers.
static bool is_of_the_hub(const struct message *message) {
    if (message->method_long)
        return json_string_begins(message->body, message->lookup.value[KEY_METHOD], METHOD_TABLE_HUB_PREFIX);
    return method_table_is_of_hub(message->method, message->method_bytes);
}

// Returns the row of the hub's method that the message calls, of the engine or a feature; NULL: the method isn't the
// hub's.
static const struct feature_method *find_row(const struct shard *shard, const struct message *message,
                                             enum method method) {
    if (method < METHODS_COUNT)
        return &engine_methods[method];
    if (message->method_long || !is_of_the_hub(message))
        return NULL;
    return feature_set_method(shard->features, message->method, message->method_bytes);
}

// Refuses a method whose effect lasts on a connection that only gets answers.
static bool refuse_passing(struct shard *shard, const struct message *message,
                           const struct feature_method *row) {
    if (!row || !row->lasts || !message->peer->transport->answers_only)
        return false;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "this needs a connection that stays, such as a WebSocket");
    refuse(shard, message, ERROR_INVALID_REQUEST, &data);
    return true;
}

static const struct feature_method *find_claim(const struct shard *shard, const struct message *message) {
    assert(message->method_bytes <= sizeof message->method);
    return message->method_long ? NULL
                                : feature_set_claim(shard->features, message->method, message->method_bytes);
}

// Refuses by the feature that answers such a method first, whatever fields are missing.
static bool refuse_strictly(struct shard *shard, const struct message *message) {
    if (!shard->settings->strict)
        return false;
    const struct feature_method *claim = find_claim(shard, message);
    return (claim && claim->refuse && claim->refuse(shard, message)) ||
           validate_refuse_strictly(shard, message);
}

// Returns whether a method that is an agent's, too, was a feature's to answer.
static bool take_claim(struct shard *shard, const struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    const struct feature_method *claim = find_claim(shard, message);
    return claim && claim->take(shard, message);
}

bool methods_is_agents(const struct shard *shard, const struct message *message) {
    return !message->method_long &&
           method_table_find(message->method, message->method_bytes) == METHODS_COUNT &&
           !is_of_the_hub(message) && !find_claim(shard, message);
}

// Names of events that begin so are the hub's, so that whoever hears of one knows that the hub has told it: however the
// event is addressed, and whatever its source's user may do.
static bool refuse_event_of_hub(struct shard *shard, const struct message *message) {
    static const char prefix[] = "hub-";
    const struct lookup *lookup = &message->lookup;
    if (!message_method_is(message, "event") || !lookup_has(lookup, KEY_EVENT) ||
        lookup->type[KEY_EVENT] != JSON_STRING ||
        !json_string_begins(message->body, lookup->value[KEY_EVENT], prefix))
        return false;
    refuse_right(shard, message, RULE_OWN);
    return true;
}

// Answers a message from another hub, which has answered all but what is held here.
static bool answer_remote(struct shard *shard, const struct message *message, enum method method) {
    bool is_local = method < METHODS_COUNT || is_of_the_hub(message);
    if (is_local)
        refuse_method(shard, message);
    if (is_local || take_claim(shard, message))
        return true;
    if (message->origin->kind != SUBJECT_DECIDE)
        return validate_refuse(shard, message);
    refuse_method(shard, message);
    return true;
}

bool methods_answer(struct shard *shard, const struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD && message->method_bytes <= sizeof message->method);
    enum method method =
        message->method_long ? METHODS_COUNT : method_table_find(message->method, message->method_bytes);
    bool open = message->peer->initialized || !shard->settings->require_initialize;
    const struct feature_method *row = find_row(shard, message, method);
    if (!open && !(row && row->before_initialize)) {
        refuse_for(shard, message, ERROR_NOT_INITIALIZED, "initialize comes first");
        return true;
    }
    if (method == METHODS_COUNT && refuse_event_of_hub(shard, message))
        return true;
    if (message->origin)
        return answer_remote(shard, message, method);
    if (method_table_is_of_session(method) && attach_opens_there(shard, message))
        return false;
    if (refuse_strictly(shard, message) || refuse_passing(shard, message, row) ||
        (row && row->result_grows && refuse_result(shard, message)))
        return true;
    if (method == METHOD_HUB_ATTACH && attach_seeks(shard, message))
        return false;
    if (row)
        row->answer(shard, message);
    else if (is_of_the_hub(message))
        refuse_method(shard, message);
    else
        return take_claim(shard, message);
    return true;
}
