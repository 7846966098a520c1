#include "router/methods/methods.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/engine/request/validate.h"
#include "router/features/children/child_methods.h"
#include "router/features/gate/gate_methods.h"
#include "router/features/observe/pending_list.h"
#include "router/forwarding/remote_route.h"
#include "router/methods/cancel_request.h"
#include "router/methods/session.h"
#include "router/methods/status.h"
#include "router/registry/agent_params.h"
#include "router/registry/directory.h"
#include "router/registry/method_table.h"
#include "router/registry/subscribe.h"

static void (*const handlers[METHODS_COUNT])(struct shard *, const struct message *) = {
#define X(method, name, answer, before_initialize, grows, lasts) [method] = answer,
    METHODS(X)
#undef X
};

// A receiver of a message with such a name may rely on it that the hub has sent it.
static bool is_of_the_hub(const struct message *message) {
    if (message->method_long)
        return json_string_begins(message->body, message->lookup.value[KEY_METHOD], METHOD_TABLE_HUB_PREFIX);
    return method_table_is_of_hub(message->method, message->method_bytes);
}

// Refuses a method whose effect lasts on a connection that only gets answers.
static bool refuse_passing(struct shard *shard, const struct message *message, enum method method) {
    if (!method_table_lasts(method) || !message->peer->transport->answers_only)
        return false;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "this needs a connection that stays, such as a WebSocket");
    refuse(shard, message, ERROR_INVALID_REQUEST, &data);
    return true;
}

// A peer that may not decide is told that alone, whatever fields are missing (docs/gate.md).
static bool refuse_strictly(struct shard *shard, const struct message *message) {
    return shard->settings->strict &&
           (gate_methods_refuse(shard, message) || validate_refuse_strictly(shard, message));
}

bool methods_is_agents(const struct message *message) {
    return !message->method_long &&
           method_table_find(message->method, message->method_bytes) == METHODS_COUNT &&
           !is_of_the_hub(message) && !message_method_is(message, "governance/approval");
}

// Names of events that begin so are the hub's, so that whoever hears of one knows that the hub has told it: however the
// event is addressed, and whatever its source's user may do.
static bool refuse_event_of_hub(struct shard *shard, const struct message *message) {
    static const char prefix[] = "hub-";
    const struct lookup *lookup = &message->lookup;
    assert(!message->origin);
    if (!message_method_is(message, "event") || !lookup_has(lookup, KEY_EVENT) ||
        lookup->type[KEY_EVENT] != JSON_STRING ||
        !json_string_begins(message->body, lookup->value[KEY_EVENT], prefix))
        return false;
    refuse_right(shard, message, RULE_OWN);
    return true;
}

// What came from another hub: that one has answered what is a hub's, but for what is held here.
static bool answer_remote(struct shard *shard, const struct message *message, enum method method) {
    bool is_local = method < METHODS_COUNT || is_of_the_hub(message);
    if (is_local)
        refuse_method(shard, message);
    if (is_local || gate_methods_decide(shard, message))
        return true;
    if (message->origin->kind != SUBJECT_DECIDE)
        return validate_refuse(shard, message);
    refuse_method(shard, message);
    return true;
}

// Nobody decides on what their own connection sent; where users are on, the hub that holds it knows whose it is.
static bool decide_remote(struct shard *shard, const struct message *message) {
    struct gate_place place;
    if (!shard->hub->settings.cluster || !gate_methods_remote(shard, message, &place))
        return false;
    if (!shard->settings->users && remote_route_holds(message->peer, place.checkpoint, place.bytes))
        refuse_right(shard, message, RULE_OWN);
    else
        remote_route_decision(shard, message, &place.hub, place.checkpoint, place.bytes);
    return true;
}

bool methods_answer(struct shard *shard, const struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD && message->method_bytes <= sizeof message->method);
    enum method method =
        message->method_long ? METHODS_COUNT : method_table_find(message->method, message->method_bytes);
    bool open = message->peer->initialized || !shard->settings->require_initialize;
    if (!open && !method_table_before_initialize(method)) {
        refuse_for(shard, message, ERROR_NOT_INITIALIZED, "initialize comes first");
        return true;
    }
    if (message->origin)
        return answer_remote(shard, message, method);
    if (method == METHODS_COUNT && refuse_event_of_hub(shard, message))
        return true;
    if (method_table_is_of_session(method) && attach_opens_there(shard, message, method))
        return false;
    if (refuse_strictly(shard, message) || refuse_passing(shard, message, method) ||
        (method_table_result_grows(method) && refuse_result(shard, message)))
        return true;
    if (method == METHOD_HUB_ATTACH && attach_seeks(shard, message))
        return false;
    if (method < METHODS_COUNT)
        handlers[method](shard, message);
    else if (is_of_the_hub(message))
        refuse_method(shard, message);
    else
        return decide_remote(shard, message) || gate_methods_decide(shard, message);
    return true;
}
