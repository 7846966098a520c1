#include "router/methods/methods.h"

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
#define X(method, name, answer, before_initialize) [method] = answer,
    METHODS(X)
#undef X
};

// Whoever gets a message with such a name may rely on it that the hub has sent it.
static bool is_of_the_hub(const struct message *message) {
    if (message->method_long)
        return json_string_begins(message->body, message->lookup.value[KEY_METHOD], NAMES_HUB_PREFIX);
    return names_is_of_hub(message->method, message->method_bytes);
}

bool methods_answer(struct shard *shard, const struct message *message) {
    enum method method =
        message->method_long ? METHODS_COUNT : names_find(message->method, message->method_bytes);
    bool open = message->peer->initialized || !shard->settings->require_initialize;
    if (!open && !names_before_initialize(method)) {
        refuse(shard, message, ERROR_NOT_INITIALIZED, NULL);
        return true;
    }
    if (validate_refuse(shard, message))
        return true;
    if (method < METHODS_COUNT)
        answers[method](shard, message);
    else if (is_of_the_hub(message))
        refuse_method(shard, message);
    else
        return false;
    return true;
}
