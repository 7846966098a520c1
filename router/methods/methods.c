#include "router/methods/methods.h"

#include <assert.h>

#include "router/methods/cancelling.h"
#include "router/methods/directory.h"
#include "router/methods/names.h"
#include "router/methods/registration.h"
#include "router/methods/session.h"
#include "router/methods/status.h"
#include "router/methods/subscribe.h"
#include "router/request/refuse.h"
#include "router/request/validate.h"

static void (*const answers[METHODS_COUNT])(struct shard *, const struct message *) = {
#define X(method, name, answer, before_initialize, grows) [method] = answer,
    METHODS(X)
#undef X
};

// Whoever gets a message with such a name may rely on it that the hub has sent it.
static bool is_of_the_hub(const struct message *message) {
    if (message->method_long)
        return json_string_begins(message->body, message->lookup.value[KEY_METHOD], NAMES_HUB_PREFIX);
    return names_is_of_hub(message->method, message->method_bytes);
}

// Whether so much waits for the peer already that it gets no more results that cost it nothing to ask for:
// else a few bytes from one that doesn't read would be megabytes of work, which all others wait for. A refusal
// is small.
static bool refuse_result(struct shard *shard, const struct message *message, enum method method) {
    size_t most = 2 * shard_limits(shard)->queue_bytes_max;
    if (!names_result_grows(method) || !message_is_request(message) ||
        connection_waiting(&message->peer->connection) + message->peer->batch_bytes < most)
        return false;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "too much waits for this connection already");
    reply_data_number(&data, "limit", (int64_t)most);
    refuse(shard, message, ERROR_OVERLOADED, &data);
    return true;
}

bool methods_answer(struct shard *shard, const struct message *message) {
    assert(message->lookup.verdict == LOOKUP_GOOD && message->method_bytes <= sizeof message->method);
    enum method method =
        message->method_long ? METHODS_COUNT : names_find(message->method, message->method_bytes);
    bool open = message->peer->initialized || !shard->settings->require_initialize;
    if (!open && !names_before_initialize(method)) {
        refuse(shard, message, ERROR_NOT_INITIALIZED, NULL);
        return true;
    }
    if (validate_refuse(shard, message) || refuse_result(shard, message, method))
        return true;
    if (method < METHODS_COUNT)
        answers[method](shard, message);
    else if (is_of_the_hub(message))
        refuse_method(shard, message);
    else
        return false;
    return true;
}
