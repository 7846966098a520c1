#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/mcp/mcp_message.h"
#include "core/send/envelope.h"
#include "io/keeper.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/children/child.h"
#include "router/features/children/child_registration.h"

// Starts children, and sends them the hub's own messages.

enum { KEEPER_PAUSE_MS = 20 };

static void begin_afresh(struct shard *shard, struct child *child) {
    wheel_disarm(&child->stub->cold->timer);
    child->serial++;
    child->after = CHILD_AFTER_END;
    child->running_ms = 0;
    child->fault = CHILD_FAULT_NONE;
    child->has_status = child->had_requests = child->shutdown_requested = child->is_wanted =
        child->era_probed = false;
    child->is_reading = child->input_gone = child->is_shut = false;
    own_requests_forget(&child->own);
    unit_begin(&child->stub->unit);
    assert(!child->stub->partial && child->stub->connection.paused);
    assert(outbox_empty(&child->hub_outbox));
    child_set_state(child, CHILD_STARTING);
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_CHILDREN, CHILDREN_COUNT_STARTED));
}

// Returns whether an instance may have a process. An instance that ends counts until its process group is gone.
static bool has_place(const struct child *child) {
    assert(!child->has_process);
    return !child->of || child->modern || child->of->processes < child->settings->instances_max;
}

void child_start(struct shard *shard, struct child *child) {
    int in, out;
    assert(child->stub->connection.socket < 0 && !child->orders);
    if (shard->phase != HUB_SERVING || !has_place(child))
        return;
    begin_afresh(shard, child);
    int failed = child_launch(shard, child, &in, &out);
    if (failed == -EAGAIN) { // too many starts at a time
        child_set_state(child, CHILD_WAITING);
        child->is_wanted = true; // the start is still wanted
        child_wake_after(shard, child, KEEPER_PAUSE_MS);
        return;
    }
    if (failed) {
        child_fail(shard, child, CHILD_FAULT_START, -failed);
        return;
    }
    child_note_process(child, true);
    connection_set_sockets(&child->stub->connection, out, in);
    child_wake_after(shard, child, child->settings->start_ms);
}

void child_begin(struct shard *shard, struct child *child) {
    assert(!child->orders && !child->has_process);
    child_set_state(child, CHILD_IDLE);
    if (!child_is_on_demand(child) || child->is_wanted || !outbox_empty(&child->stub->connection.outbox))
        child_start(shard, child);
}

void child_wanted(struct shard *shard, struct peer *stub) {
    struct child *child = child_of_stub(stub);
    assert(stub->connection.paused);
    if (child)
        child_touch(child);
    if (child && child->state == CHILD_IDLE && !child->orders)
        child_start(shard, child);
}

void child_started(struct shard *shard, struct child *child, int32_t process) {
    assert(process > 0);
    atomic_store_explicit(&child->record->process, process, memory_order_relaxed);
    if (child->state != CHILD_STARTING)
        return;
    connection_receive(&child->stub->connection, shard->io); // not before: output would come too early
    bool is_hermes = child->of ? child->settings->protocol == CHILD_HERMES || child->reopens
                               : child->settings->protocol != CHILD_PLAIN;
    if (is_hermes)
        child_initialize(shard, child);
    else
        child_ready(shard, child, NULL, NULL);
}

// Registers a stand-in as a child that runs, because its first instance is ready. The instance has said nothing that
// would change the stand-in's capabilities. Returns false without memory.
static bool show_first(struct shard *shard, struct child *child) {
    assert(shard->index == 0);
    struct child *stand_in = child->of;
    if (!stand_in || child->modern)
        return true;
    const char *name = stand_in->record->name;
    const struct agent *agent = agents_find(&shard->agents, name, strlen(name));
    if (!agent || !agent->child || agent->absent || !agent->resting || stand_in->orders)
        return true;
    struct piece now = {agent->capabilities->text, agent->capabilities->bytes}, answer;
    if (agent->initialize_result)
        answer = (struct piece){agent->initialize_result->text, agent->initialize_result->bytes};
    return child_register(shard, stand_in, &now, agent->initialize_result ? &answer : NULL, false);
}

void child_ready(struct shard *shard, struct child *child, const struct piece *capabilities,
                 const struct piece *answer) {
    struct peer *stub = child->stub;
    assert(child->state == CHILD_STARTING || child->state == CHILD_GREETING);
    bool is_offer = child->of && capabilities; // the capabilities count for the stand-in
    if (!child_register(shard, is_offer ? child->of : child, capabilities, answer, false) ||
        !show_first(shard, child)) {
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0);
        return;
    }
    wheel_disarm(&stub->cold->timer);
    child_set_state(child, CHILD_RUNNING);
    child->running_ms = shard_now_ms(shard);
    stub->connection.paused = false;
    if (list_empty(&stub->to_send) && !outbox_empty(&stub->connection.outbox))
        list_append(&shard->to_send, &stub->to_send);
    if (child->settings->idle_ms && child_is_on_demand(child))
        child_wake_after(shard, child, child->settings->idle_ms);
}

// --- Launch

// The command by which the keeper starts a child.

// Returns the directory that a variable of the hub's environment names; or NULL. A relative path means nothing to
// another process.
static const char *own_directory(const char *name) {
    const char *value = getenv(name);
    return value && *value == '/' ? value : NULL;
}

// Writes the default path of the child's data. Returns false if no variable names a directory.
static bool put_default(struct text *path, const struct child_settings *settings) {
    const char *data = own_directory("XDG_DATA_HOME"), *home = own_directory("HOME");
    if (!data && !home)
        return false;
    text_put(path, data ? data : home);
    text_put(path, data ? "/patchbay/" : "/.local/share/patchbay/");
    text_put(path, settings->name);
    return true;
}

// Writes the configured path of the child's data. A relative path is relative to the hub's directory, as the hub's own
// paths are; the child may run elsewhere. Returns false if that directory can't be read.
static bool put_configured(struct text *path, const char *data) {
    char *here = *data == '/' ? NULL : getcwd(NULL, 0);
    if (*data != '/' && !here)
        return false;
    text_put(path, here ? here : "");
    text_put(path, here ? "/" : "");
    text_put(path, data);
    free(here);
    return true;
}

int child_data_directory(const struct child_settings *settings, char **out) {
    struct text path;
    *out = NULL;
    if (settings->protocol != CHILD_HERMES)
        return 0;
    text_init(&path);
    bool known = settings->data ? put_configured(&path, settings->data) : put_default(&path, settings);
    text_add(&path, "", 1);
    if (known && !path.failed) {
        *out = path.bytes;
        return 0;
    }
    text_deinit(&path);
    return known ? -ENOMEM : -ENOENT;
}

static void put_string(struct text *out, const char *string) {
    text_add(out, string ? string : "", string ? strlen(string) + 1 : 1);
}

// Writes a variable that the hub sets, and that is no secret.
static void put_variable(struct text *out, const char *name, const char *value) {
    text_put(out, "O");
    text_put(out, name);
    text_put(out, "=");
    put_string(out, value);
}

static void put_start(struct text *out, const struct child *child, const char *data) {
    const struct child_settings *settings = child->settings;
    bool hermes = settings->protocol == CHILD_HERMES;
    struct keeper_command command = {
        .kind = KEEPER_START,
        .place = child->record->place,
        .serial = child->serial,
        .value = (uint32_t)settings->end_ms,
        .words = (uint32_t)settings->command_words,
        .variables = (uint32_t)settings->variable_count + (hermes ? 3 : 0),
    };
    assert(settings->command_words > 0 && (data || !hermes));
    text_add(out, &command, sizeof command);
    put_string(out, settings->name);
    put_string(out, settings->directory);
    put_string(out, data);
    text_add(out, settings->command.bytes, settings->command.length);
    text_add(out, settings->variables.bytes, settings->variables.length);
    if (!hermes)
        return;
    put_variable(out, "HERMES_VERSION", PATCHBAY_VERSION);
    put_variable(out, "HERMES_API_VERSION", "1.0.0");
    put_variable(out, "HERMES_DATA_DIR", data);
}

int child_launch(struct shard *shard, struct child *child, int *in, int *out) {
    assert(shard->index == 0);
    struct text command;
    char *data;
    int failed = child_data_directory(child->settings, &data);
    if (failed == -ENOENT)
        child_log(child, "nothing says where its data are to be: set HOME, XDG_DATA_HOME or its data");
    if (failed)
        return failed;
    text_init(&command);
    put_start(&command, child, data);
    memory_give(data);
    int result = command.failed || command.length > KEEPER_COMMAND_BYTES
                     ? -ENOMEM
                     : io_start(shard->io, shard->hub->start_settings.keeper->commands, command.bytes,
                                command.length, in, out);
    text_deinit(&command);
    return result;
}

bool child_command(struct shard *shard, struct child *child, uint32_t kind, uint32_t value) {
    assert(kind != KEEPER_START);
    struct keeper_command command = {
        .kind = kind, .place = child->record->place, .serial = child->serial, .value = value};
    return !child->has_process || io_tell_keeper(shard->io, shard->hub->start_settings.keeper->commands,
                                                 &command, sizeof command) == 0;
}

// --- Input

// The hub's own messages to a child.

enum { HUB_OUTBOX_BYTES_MAX = 64 << 10 };

static_assert(HUB_OUTBOX_BYTES_MAX < (size_t)OUTBOX_COUNT_MAX,
              "so many parcels can't wait, as each has a byte");

void child_withdraw(struct shard *shard, struct child *child) {
    for (struct parcel *parcel; (parcel = outbox_take(&child->hub_outbox));)
        send_release(shard, parcel);
}

// Sends the parcels of hub_outbox. Parcels in the stub's queue wait.
void child_send_on(struct shard *shard, struct child *child) {
    assert(shard->index == 0);
    struct connection *connection = &child->stub->connection;
    struct parcel_list done;
    if (connection->send_op || connection->ending || connection->out < 0)
        return;
    parcel_list_init(&done);
    enum sending sending =
        connection_send_from(connection, &child->hub_outbox, shard->io, &shard->sender, &done);
    for (struct parcel *parcel; (parcel = parcel_list_take(&done));)
        send_release(shard, parcel);
    if (sending == SENDING_FAILED) {
        child_fail(shard, child, CHILD_FAULT_INPUT, 0);
    } else if (sending == SENDING_IDLE && child->is_reading && !child->is_shut) {
        child->is_shut = true;
        io_shutdown(shard->io, connection->out, SHUT_WR);
    }
}

void child_send(struct shard *shard, struct child *child, struct text *body) {
    bool room = !body->failed && child->hub_outbox.bytes + body->length <= HUB_OUTBOX_BYTES_MAX;
    struct parcel *parcel = room ? parcel_from_text(&shard->parcels, body->bytes, body->length) : NULL;
    assert(child->stub->connection.paused);
    if (!parcel) {
        text_deinit(body);
        child_fail(shard, child, room ? CHILD_FAULT_MEMORY : CHILD_FAULT_SLOW, 0);
        return;
    }
    parcel_encode(parcel, child->stub->transport->codec.wire);
    outbox_add(&child->hub_outbox, parcel);
    child_touch(child);
    child_send_on(shard, child);
}

static void put_hermes_initialize(struct text *body, const struct child *child, uint64_t id) {
    char *data;
    // Without the directory the child wouldn't have been started
    (void)child_data_directory(child->settings, &data);
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(body, (int64_t)id);
    text_put(body, ",\"method\":\"initialize\",\"params\":{\"hermesVersion\":\"" PATCHBAY_VERSION
                   "\",\"apiVersion\":\"1.0.0\",\"dataDirectory\":");
    text_string(body, data ? data : "", data ? strlen(data) : 0);
    text_put(body, "}}");
    memory_give(data);
}

void child_initialize(struct shard *shard, struct child *child) {
    assert(child->state == CHILD_STARTING);
    struct text body;
    uint64_t id = own_requests_begin(&child->own);
    text_init(&body);
    if (child->reopens)
        child->ops->put_reopening(child->stub, &body, id);
    else if (child->settings->protocol == CHILD_MCP)
        mcp_put_initialize(&body, id, child->settings->asks_clients);
    else
        put_hermes_initialize(&body, child, id);
    child_set_state(child, CHILD_GREETING);
    child_send(shard, child, &body);
}

void child_request_shutdown(struct shard *shard, struct child *child, const char *reason) {
    assert(child->state == CHILD_STOPPING);
    struct text body;
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(&body, (int64_t)own_requests_begin(&child->own));
    text_put(&body, ",\"method\":\"shutdown\",\"params\":{\"reason\":\"");
    text_put(&body, reason);
    text_put(&body, "\"}}");
    child->shutdown_requested = true;
    child_send(shard, child, &body);
}

bool child_answers_own(struct child *child, const struct lookup *lookup, const uint8_t *body) {
    uint64_t id = 0;
    bool is_number =
        lookup->kind == BODY_RESPONSE && lookup_has(lookup, KEY_ID) && lookup->type[KEY_ID] == JSON_NUMBER;
    assert(lookup->verdict == LOOKUP_GOOD);
    return is_number && json_number_whole(body, lookup->value[KEY_ID], &id) &&
           own_requests_end(&child->own, id);
}
