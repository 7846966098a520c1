// Messages between a server and its clients.
#include "tests/sim/broker.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/broker_parts.h"
#include "tests/sim/kernel.h"
#include "tests/sim/naive.h"

enum { WORDS_MAX = 5, PAYLOAD_MAX = 1 << 20, LINE_MAX = 4096, WAITING_MAX = 64 << 20 };

static const char no_responders[] = "NATS/1.0 503\r\n\r\n";

void heap_add(struct heap *heap, const void *bytes, size_t count) {
    if (heap->count + count > heap->capacity) {
        heap->capacity = 2 * (heap->count + count);
        heap->bytes = realloc(heap->bytes, heap->capacity);
        if (!heap->bytes)
            abort();
    }
    if (count)
        memcpy(heap->bytes + heap->count, bytes, count);
    heap->count += count;
}

void heap_drop(struct heap *heap, size_t count) {
    if (count)
        memmove(heap->bytes, heap->bytes + count, heap->count - count);
    heap->count -= count;
}

// --- Servers

struct brokers *brokers_open(const struct broker_options *options, struct random *random) {
    struct brokers *brokers = calloc(1, sizeof *brokers);
    if (!brokers || !options->count || options->count > BROKERS_MAX)
        kernel_fail("so many brokers can't be");
    brokers->options = *options;
    brokers->random = random;
    if (!options->payload_max)
        brokers->options.payload_max = PAYLOAD_MAX;
    if (!options->line_max)
        brokers->options.line_max = LINE_MAX;
    if (!options->waiting_max)
        brokers->options.waiting_max = WAITING_MAX;
    for (uint32_t server = 0; server < options->count; server++)
        brokers->runs[server] = true;
    return brokers;
}

void brokers_close(struct brokers *brokers) {
    if (brokers->clients || brokers->subscriptions)
        kernel_fail("clients of a broker are left");
    for (uint32_t from = 0; from < brokers->options.count; from++)
        for (uint32_t to = 0; to < brokers->options.count; to++)
            routes_forget(brokers, from, to);
    free(brokers);
}

void brokers_tap(struct brokers *brokers,
                 bool (*tap)(void *context, const struct broker_client *from,
                             const struct broker_message *message),
                 void *context) {
    brokers->tap = tap;
    brokers->tap_context = context;
}

void brokers_cut(struct brokers *brokers, uint32_t one, uint32_t other, bool cut) {
    if (brokers->routes[one][other].cut == cut)
        return;
    brokers->routes[one][other].cut = brokers->routes[other][one].cut = cut;
    routes_forget(brokers, one, other);
    routes_forget(brokers, other, one);
    if (cut || !brokers->runs[one] || !brokers->runs[other])
        return;
    routes_begin(brokers, one, other);
    routes_begin(brokers, other, one);
}

static void client_end(struct broker_client *client) {
    struct subscription *next = client->brokers->subscriptions;
    client->over = true;
    for (struct subscription *at = next; at; at = next) {
        next = at->next;
        if (at->client == client)
            subscription_end(at);
    }
}

void brokers_reap(struct brokers *brokers) {
    for (struct broker_client *client = brokers->clients; client; client = client->next)
        if (client->over)
            client_end(client);
}

void broker_kill(struct brokers *brokers, uint32_t server) {
    brokers->runs[server] = brokers->lame[server] = false;
    for (struct broker_client *client = brokers->clients; client; client = client->next) {
        if (client->server != server)
            continue;
        client_end(client);
        client->out.count = 0;
    }
    for (uint32_t other = 0; other < brokers->options.count; other++) {
        routes_forget(brokers, server, other);
        routes_forget(brokers, other, server);
    }
}

void broker_start(struct brokers *brokers, uint32_t server) {
    if (brokers->runs[server])
        return;
    brokers->runs[server] = true;
    brokers->life[server]++;
    for (uint32_t other = 0; other < brokers->options.count; other++)
        if (other != server && brokers->runs[other] && !brokers->routes[server][other].cut) {
            routes_begin(brokers, server, other);
            routes_begin(brokers, other, server);
        }
}

bool broker_runs(const struct brokers *brokers, uint32_t server) {
    return brokers->runs[server];
}

bool broker_is_lame(const struct brokers *brokers, uint32_t server) {
    return brokers->lame[server];
}

// --- Saying

// A client that is too slow is over at once; its subscriptions go behind the message under way
// (brokers_reap).
void client_say(struct broker_client *client, const void *bytes, size_t count) {
    if (client->over)
        return;
    if (client->out.count + count > client->brokers->options.waiting_max) {
        client->over = true;
        client->out.count = 0;
        return;
    }
    heap_add(&client->out, bytes, count);
}

static void say(struct broker_client *client, const char *text) {
    client_say(client, text, strlen(text));
}

static void tell(struct broker_client *client, const char *fault, const char *more) {
    char line[FAULT_MAX + 16];
    snprintf(client->fault, sizeof client->fault, "'%s%.80s'", fault, more);
    snprintf(line, sizeof line, "-ERR %s\r\n", client->fault);
    say(client, line);
}

static void end_with(struct broker_client *client, const char *fault) {
    tell(client, fault, "");
    client_end(client);
}

static void say_info(struct broker_client *client) {
    const struct brokers *brokers = client->brokers;
    const struct broker_options *options = &brokers->options;
    char text[1024], urls[128] = "";
    for (uint32_t server = 0, at = 0; server < options->count && options->count > 1; server++)
        if (brokers->runs[server] && !brokers->lame[server])
            at += (uint32_t)snprintf(urls + at, sizeof urls - at, "%s\"127.0.0.1:%u\"", at ? "," : "",
                                     BROKER_PORT + server);
    snprintf(text, sizeof text,
             "INFO {\"server_id\":\"NSIM%u%u\",\"server_name\":\"sim-%u\",\"version\":\"2.9.10\",\"proto\":1,"
             "\"git_commit\":\"\",\"go\":\"go1.19.4\",\"host\":\"127.0.0.1\",\"port\":%u,\"headers\":true,"
             "\"max_payload\":%u,\"client_id\":%u,\"client_ip\":\"127.0.0.1\"%s%s%s%s%s%s} \r\n",
             client->server, brokers->life[client->server], client->server, BROKER_PORT + client->server,
             options->payload_max, client->number,
             options->user || options->token ? ",\"auth_required\":true" : "",
             options->tls ? ",\"tls_required\":true" : "",
             brokers->lame[client->server] ? ",\"ldm\":true" : "", urls[0] ? ",\"connect_urls\":[" : "", urls,
             urls[0] ? "]" : "");
    say(client, text);
}

void broker_lame(struct brokers *brokers, uint32_t server) {
    brokers->lame[server] = true;
    for (struct broker_client *client = brokers->clients; client; client = client->next)
        if (client->server == server)
            say_info(client);
}

void broker_ping(struct brokers *brokers, uint32_t server) {
    for (struct broker_client *client = brokers->clients; client; client = client->next)
        if (client->server == server)
            say(client, "PING\r\n");
}

void client_deliver(struct subscription *subscription, const struct broker_message *message) {
    struct broker_client *client = subscription->client;
    char line[2 * SUBJECT_MAX];
    const char *blank = message->reply[0] ? " " : "";
    bool headers = client->headers && message->head > 0;
    size_t skip = headers ? 0 : message->head;
    int count = headers ? snprintf(line, sizeof line, "HMSG %s %s %s%s%zu %zu\r\n", message->subject,
                                   subscription->sid, message->reply, blank, message->head, message->count)
                        : snprintf(line, sizeof line, "MSG %s %s %s%s%zu\r\n", message->subject,
                                   subscription->sid, message->reply, blank, message->count - skip);
    struct heap whole = {0};
    heap_add(&whole, line, (size_t)count);
    heap_add(&whole, message->bytes + skip, message->count - skip);
    heap_add(&whole, "\r\n", 2);
    bool last = subscription->left && --subscription->left == 0;
    client_say(client, whole.bytes, whole.count);
    free(whole.bytes);
    if (last && !client->over)
        subscription_end(subscription);
}

// --- Hearing

static bool shows(struct bit options, const char *member, const char *wanted) {
    struct bit bit = naive_find(options, member);
    return bit.count == strlen(wanted) + 2 && memcmp(bit.bytes + 1, wanted, bit.count - 2) == 0;
}

static bool is_true(struct bit options, const char *member) {
    return bit_is(naive_find(options, member), "true");
}

static void hear_connect(struct broker_client *client, const char *text) {
    const struct broker_options *wanted = &client->brokers->options;
    struct bit options = {(const uint8_t *)text, strlen(text)};
    if (!naive_valid(options)) {
        end_with(client, "Parser Error");
        return;
    }
    client->verbose = !bit_is(naive_find(options, "verbose"), "false");
    client->echoes = !bit_is(naive_find(options, "echo"), "false");
    client->headers = is_true(options, "headers");
    client->no_responders = is_true(options, "no_responders");
    if (client->no_responders && !client->headers) {
        end_with(client, "No Responders Requires Headers Support");
        return;
    }
    bool good = wanted->token ? shows(options, "auth_token", wanted->token)
                : wanted->user
                    ? shows(options, "user", wanted->user) && shows(options, "pass", wanted->password)
                    : true;
    if (!good) {
        end_with(client, "Authorization Violation");
        return;
    }
    client->connected = true;
    if (client->verbose)
        say(client, "+OK\r\n");
}

static struct subscription *subscription_of(const struct broker_client *client, const char *sid) {
    struct subscription *at = client->brokers->subscriptions;
    while (at && (at->client != client || strcmp(at->sid, sid) != 0))
        at = at->next;
    return at;
}

static char *copy(const char *text) {
    char *copied = strdup(text);
    if (!copied)
        abort();
    return copied;
}

static bool is_pattern(const char *subject) {
    for (const char *at = subject;; at++) {
        size_t token = strcspn(at, ".");
        if (!token || (*at == '>' && token == 1 && at[1]))
            return false;
        at += token;
        if (!*at)
            return true;
    }
}

static void hear_sub(struct broker_client *client, char **words, unsigned count) {
    struct brokers *brokers = client->brokers;
    if (count != 2 && count != 3) {
        end_with(client, "Unknown Protocol Operation");
        return;
    }
    const char *sid = words[count - 1];
    if (!is_pattern(words[0]) || strlen(sid) >= SID_MAX) {
        tell(client, "Invalid Subject", "");
        return;
    }
    if (!subscription_of(client, sid)) {
        struct subscription *fresh = calloc(1, sizeof *fresh), **last = &brokers->subscriptions;
        if (!fresh)
            abort();
        *fresh = (struct subscription){.client = client, .subject = copy(words[0])};
        fresh->queue = copy(count == 3 ? words[1] : "");
        snprintf(fresh->sid, sizeof fresh->sid, "%s", sid);
        while (*last)
            last = &(*last)->next;
        *last = fresh;
        routes_tell(brokers, fresh, 1);
    }
    if (client->verbose)
        say(client, "+OK\r\n");
}

static void hear_unsub(struct broker_client *client, char **words, unsigned count) {
    struct subscription *subscription = count ? subscription_of(client, words[0]) : NULL;
    if (count != 1 && count != 2) {
        end_with(client, "Unknown Protocol Operation");
        return;
    }
    if (subscription && count == 2)
        subscription->left = strtoull(words[1], NULL, 10);
    if (subscription && !subscription->left)
        subscription_end(subscription);
    if (client->verbose)
        say(client, "+OK\r\n");
}

// Nobody has got the message. The sender is told, where the reply comes to it by a plain subscription.
static void tell_nobody(struct broker_client *client, const char *reply) {
    struct subscription *at = client->brokers->subscriptions;
    while (at && (at->client != client || at->queue[0] || !subject_matches(at->subject, reply)))
        at = at->next;
    if (!at)
        return;
    char line[SUBJECT_MAX + 128];
    size_t bytes = sizeof no_responders - 1;
    snprintf(line, sizeof line, "HMSG %s %s %zu %zu\r\n%s\r\n", reply, at->sid, bytes, bytes, no_responders);
    say(client, line);
}

static void publish(struct broker_client *client, const struct broker_message *message) {
    struct brokers *brokers = client->brokers;
    if (brokers->tap && !brokers->tap(brokers->tap_context, client, message))
        return;
    bool got = routes_publish(client, message);
    if (!got && message->reply[0] && client->no_responders)
        tell_nobody(client, message->reply);
    if (client->verbose)
        say(client, "+OK\r\n");
}

static bool is_number(const char *text, size_t *out) {
    if (!*text || strlen(text) > 9 || text[strspn(text, "0123456789")])
        return false;
    *out = strtoull(text, NULL, 10);
    return true;
}

// PUB SUBJECT [REPLY] COUNT, or HPUB SUBJECT [REPLY] HEAD COUNT, and `rest` bytes behind the line. How many of them
// belong to it; SIZE_MAX: they aren't all there.
static size_t hear_pub(struct broker_client *client, char **words, unsigned count, const uint8_t *bytes,
                       size_t rest) {
    bool headed = toupper((unsigned char)*words[0]) == 'H';
    unsigned numbers = headed ? 2 : 1;
    size_t head = 0, total = 0;
    bool good = (count == 2 + numbers || count == 3 + numbers) && is_number(words[count - 1], &total) &&
                (!headed || (is_number(words[count - 2], &head) && head <= total));
    if (!good || (headed && !client->headers)) {
        end_with(client, headed && good ? "message headers not supported" : "Parser Error");
        return 0;
    }
    if (total > client->brokers->options.payload_max) {
        end_with(client, "Maximum Payload Violation");
        return 0;
    }
    if (rest < total + 2)
        return SIZE_MAX;
    if (memcmp(bytes + total, "\r\n", 2) != 0) {
        end_with(client, "Unknown Protocol Operation");
        return 0;
    }
    const char *reply = count == 3 + numbers ? words[2] : "";
    publish(client, &(struct broker_message){words[1], reply, bytes, head, total});
    return total + 2;
}

static unsigned split(char *text, char **words, unsigned max) {
    unsigned count = 0;
    for (char *at = text; *(at += strspn(at, " \t"));) {
        if (count == max)
            return max + 1;
        words[count++] = at;
        at += strcspn(at, " \t");
        if (*at)
            *at++ = '\0';
    }
    return count;
}

static bool is_verb(const char *word, const char *verb) {
    return strcasecmp(word, verb) == 0;
}

// A line, and what lies behind it. As hear_pub.
static size_t hear_line(struct broker_client *client, char *line, const uint8_t *behind, size_t rest) {
    char *words[WORDS_MAX + 1];
    if (strncasecmp(line, "CONNECT ", 8) == 0) {
        hear_connect(client, line + 8);
        return 0;
    }
    unsigned count = split(line, words, WORDS_MAX);
    if (!client->connected && (client->brokers->options.user || client->brokers->options.token))
        end_with(client, "Authorization Violation");
    else if (count == 1 && is_verb(words[0], "PING"))
        say(client, "PONG\r\n");
    else if (count == 1 && is_verb(words[0], "PONG"))
        return 0;
    else if (count && count <= WORDS_MAX && (is_verb(words[0], "PUB") || is_verb(words[0], "HPUB")))
        return hear_pub(client, words, count, behind, rest);
    else if (count && is_verb(words[0], "SUB"))
        hear_sub(client, words + 1, count - 1);
    else if (count && is_verb(words[0], "UNSUB"))
        hear_unsub(client, words + 1, count - 1);
    else
        end_with(client, "Unknown Protocol Operation");
    return 0;
}

// Serves the client's next command: its line, and the payload where it has one. Returns false while the command isn't
// complete.
static bool hear_one(struct broker_client *client) {
    const struct heap *in = &client->in;
    const uint8_t *feed = in->count ? memchr(in->bytes, '\n', in->count) : NULL;
    size_t length = feed ? (size_t)(feed - in->bytes) : in->count;
    if (length > client->brokers->options.line_max) {
        end_with(client, "Maximum Control Line Exceeded");
        return false;
    }
    if (!feed)
        return false;
    char *line = calloc(1, length + 1);
    if (!line)
        abort();
    memcpy(line, in->bytes, length);
    if (length && line[length - 1] == '\r')
        line[length - 1] = '\0';
    size_t used = hear_line(client, line, feed + 1, in->count - length - 1);
    free(line);
    if (used == SIZE_MAX || client->over)
        return false;
    heap_drop(&client->in, length + 1 + used);
    return true;
}

void broker_hear(struct broker_client *client, const void *bytes, size_t count) {
    if (client->over)
        return;
    heap_add(&client->in, bytes, count);
    while (hear_one(client))
        ;
    brokers_reap(client->brokers);
}

// --- Clients

struct broker_client *broker_join(struct brokers *brokers, uint32_t server) {
    if (server >= brokers->options.count || !brokers->runs[server] || brokers->lame[server])
        return NULL;
    struct broker_client *client = calloc(1, sizeof *client), **last = &brokers->clients;
    if (!client)
        abort();
    *client = (struct broker_client){
        .brokers = brokers, .server = server, .number = ++brokers->joined, .echoes = true, .verbose = true};
    while (*last)
        last = &(*last)->next;
    *last = client;
    say_info(client);
    return client;
}

void broker_leave(struct broker_client *client) {
    struct broker_client **at = &client->brokers->clients;
    client_end(client);
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    free(client->in.bytes);
    free(client->out.bytes);
    free(client);
}

size_t broker_say(struct broker_client *client, void *out, size_t capacity) {
    size_t count = client->out.count < capacity ? client->out.count : capacity;
    if (count)
        memcpy(out, client->out.bytes, count);
    heap_drop(&client->out, count);
    return count;
}

size_t broker_waiting(const struct broker_client *client) {
    return client->out.count;
}

bool broker_over(const struct broker_client *client) {
    return client->over;
}

const char *broker_fault(const struct broker_client *client) {
    return client->fault;
}

uint32_t broker_server(const struct broker_client *client) {
    return client->server;
}

bool broker_connected(const struct broker_client *client) {
    return client->connected;
}

uint32_t broker_subscriptions(const struct broker_client *client) {
    uint32_t count = 0;
    for (const struct subscription *at = client->brokers->subscriptions; at; at = at->next)
        count += at->client == client;
    return count;
}
