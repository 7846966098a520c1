// Receivers of messages: subscriptions at a server, its knowledge of those at others, and the routes between
// them.
#include <stdlib.h>
#include <string.h>

#include "tests/sim/broker_parts.h"
#include "tests/sim/kernel.h"

bool subject_matches(const char *pattern, const char *subject) {
    for (;;) {
        size_t token = strcspn(pattern, "."), other = strcspn(subject, ".");
        if (token == 1 && *pattern == '>')
            return other > 0;
        if (!(token == 1 && *pattern == '*' && other) &&
            (token != other || memcmp(pattern, subject, token) != 0))
            return false;
        pattern += token;
        subject += other;
        if (!*pattern || !*subject)
            return !*pattern && !*subject;
        pattern++;
        subject++;
    }
}

static char *copy(const char *text) {
    char *copied = strdup(text);
    if (!copied)
        abort();
    return copied;
}

static struct passage *passage(const char *subject, const char *queue, int change) {
    struct passage *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        abort();
    *fresh = (struct passage){.change = change, .subject = copy(subject), .queue = copy(queue)};
    return fresh;
}

static void passage_free(struct passage *passage) {
    for (uint32_t index = 0; index < passage->queue_count; index++)
        free(passage->queues[index]);
    free(passage->subject);
    free(passage->queue);
    free(passage->reply);
    free(passage->bytes);
    free(passage);
}

static void lay(struct brokers *brokers, uint32_t from, uint32_t to, struct passage *passage) {
    struct route *route = &brokers->routes[from][to];
    if (from == to || route->cut || !brokers->runs[from] || !brokers->runs[to]) {
        passage_free(passage);
        return;
    }
    *(route->last ? &route->last->next : &route->first) = passage;
    route->last = passage;
}

// --- Interest

void routes_tell(struct brokers *brokers, const struct subscription *subscription, int change) {
    for (uint32_t to = 0; to < brokers->options.count; to++)
        lay(brokers, subscription->client->server, to,
            passage(subscription->subject, subscription->queue, change));
}

void routes_begin(struct brokers *brokers, uint32_t from, uint32_t to) {
    for (const struct subscription *at = brokers->subscriptions; at; at = at->next)
        if (at->client->server == from)
            lay(brokers, from, to, passage(at->subject, at->queue, 1));
}

static void interest_free(struct interest *interest) {
    free(interest->subject);
    free(interest->queue);
    free(interest);
}

void routes_forget(struct brokers *brokers, uint32_t from, uint32_t to) {
    struct route *route = &brokers->routes[from][to];
    for (struct passage *at = route->first, *next; at; at = next) {
        next = at->next;
        passage_free(at);
    }
    for (struct interest *at = route->interests, *next; at; at = next) {
        next = at->next;
        interest_free(at);
    }
    *route = (struct route){.cut = route->cut};
}

void subscription_end(struct subscription *subscription) {
    struct brokers *brokers = subscription->client->brokers;
    struct subscription **at = &brokers->subscriptions;
    while (*at != subscription)
        at = &(*at)->next;
    *at = subscription->next;
    routes_tell(brokers, subscription, -1);
    free(subscription->subject);
    free(subscription->queue);
    free(subscription);
}

// News of `to` are known at the beginning of the route that leads there.
static void learn(struct route *route, const struct passage *told) {
    struct interest **at = &route->interests;
    while (*at && (strcmp((*at)->subject, told->subject) != 0 || strcmp((*at)->queue, told->queue) != 0))
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at)
            abort();
        **at = (struct interest){.subject = copy(told->subject), .queue = copy(told->queue)};
    }
    (*at)->weight += (uint32_t)told->change;
    if ((*at)->weight)
        return;
    struct interest *gone = *at;
    *at = gone->next;
    interest_free(gone);
}

// --- Groups

// Members of a group that may get a message: subscriptions here, and servers elsewhere as often as they have
// members.
struct choice {
    struct subscription *here;
    uint32_t server;
};

static uint32_t choices(const struct brokers *brokers, uint32_t server, const char *queue,
                        const char *subject, bool remote_target, struct choice *out) {
    uint32_t count = 0;
    for (struct subscription *at = brokers->subscriptions; at && count < CHOICE_MAX; at = at->next)
        if (at->client->server == server && strcmp(at->queue, queue) == 0 &&
            subject_matches(at->subject, subject))
            out[count++] = (struct choice){at, server};
    for (uint32_t to = 0; remote_target && to < brokers->options.count; to++)
        for (const struct interest *at = brokers->routes[server][to].interests; at; at = at->next)
            for (uint32_t weight = 0; weight < at->weight && count < CHOICE_MAX; weight++)
                if (strcmp(at->queue, queue) == 0 && subject_matches(at->subject, subject))
                    out[count++] = (struct choice){NULL, to};
    return count;
}

struct group {
    const char *queue;
    struct choice choice;
    bool chosen;
};

static void add_group(struct group *groups, uint32_t *count, const char *queue) {
    for (uint32_t index = 0; index < *count; index++)
        if (strcmp(groups[index].queue, queue) == 0)
            return;
    if (*count == GROUPS_MAX)
        kernel_fail("more queue groups on one subject than the simulated broker has room for");
    groups[(*count)++] = (struct group){.queue = queue};
}

static uint32_t groups_of(const struct brokers *brokers, uint32_t server, const char *subject,
                          struct group *groups) {
    uint32_t count = 0;
    for (const struct subscription *at = brokers->subscriptions; at; at = at->next)
        if (at->queue[0] && at->client->server == server && subject_matches(at->subject, subject))
            add_group(groups, &count, at->queue);
    for (uint32_t to = 0; to < brokers->options.count; to++)
        for (const struct interest *at = brokers->routes[server][to].interests; at; at = at->next)
            if (at->queue[0] && subject_matches(at->subject, subject))
                add_group(groups, &count, at->queue);
    return count;
}

// Somebody by chance, the next one where that is who has sent it and doesn't hear itself.
static void choose(const struct broker_client *from, const char *subject, struct group *group) {
    struct choice all[CHOICE_MAX];
    struct brokers *brokers = from->brokers;
    uint32_t count = choices(brokers, from->server, group->queue, subject, true, all);
    uint32_t first = count ? random_below(brokers->random, count) : 0;
    for (uint32_t index = 0; index < count && !group->chosen; index++) {
        group->choice = all[(first + index) % count];
        group->chosen = !group->choice.here || group->choice.here->client != from || from->echoes;
    }
}

// --- Messages

static void deliver_plainly(const struct brokers *brokers, uint32_t server, const struct broker_client *from,
                            const struct broker_message *message, bool *got) {
    for (struct subscription *at = brokers->subscriptions, *next; at; at = next) {
        next = at->next;
        bool own = at->client == from && !from->echoes;
        if (at->queue[0] || own || at->client->server != server ||
            !subject_matches(at->subject, message->subject))
            continue;
        *got = true;
        client_deliver(at, message);
    }
}

static void send_on(struct brokers *brokers, uint32_t from, uint32_t to, const struct group *groups,
                    uint32_t count, const struct broker_message *message, bool *got) {
    struct passage *fresh = passage(message->subject, "", 0);
    for (const struct interest *at = brokers->routes[from][to].interests; at; at = at->next)
        fresh->plain |= !at->queue[0] && subject_matches(at->subject, message->subject);
    for (uint32_t index = 0; index < count; index++)
        if (groups[index].chosen && !groups[index].choice.here && groups[index].choice.server == to)
            fresh->queues[fresh->queue_count++] = copy(groups[index].queue);
    if (!fresh->plain && !fresh->queue_count) {
        passage_free(fresh);
        return;
    }
    fresh->reply = copy(message->reply);
    fresh->head = message->head;
    fresh->count = message->count;
    fresh->bytes = malloc(message->count + 1);
    if (!fresh->bytes)
        abort();
    memcpy(fresh->bytes, message->bytes, message->count);
    lay(brokers, from, to, fresh);
    *got = true;
}

bool routes_publish(struct broker_client *from, const struct broker_message *message) {
    struct brokers *brokers = from->brokers;
    struct group groups[GROUPS_MAX];
    bool got = false;
    uint32_t count = groups_of(brokers, from->server, message->subject, groups), server = from->server;
    for (uint32_t index = 0; index < count; index++)
        choose(from, message->subject, &groups[index]);
    for (uint32_t to = 0; to < brokers->options.count; to++)
        send_on(brokers, server, to, groups, count, message, &got);
    for (uint32_t index = 0; index < count; index++) {
        struct subscription *here = groups[index].chosen ? groups[index].choice.here : NULL;
        got |= here != NULL;
        if (here)
            client_deliver(here, message);
    }
    deliver_plainly(brokers, server, from, message, &got);
    return got;
}

// A message has come over a route: it goes no further. The member of its group that was here may have gone.
static void arrive(struct brokers *brokers, uint32_t server, const struct passage *passage) {
    struct choice all[CHOICE_MAX];
    bool got = false;
    struct broker_message message = {passage->subject, passage->reply, passage->bytes, passage->head,
                                     passage->count};
    for (uint32_t index = 0; index < passage->queue_count; index++) {
        uint32_t count = choices(brokers, server, passage->queues[index], passage->subject, false, all);
        if (count)
            client_deliver(all[random_below(brokers->random, count)].here, &message);
    }
    if (passage->plain)
        deliver_plainly(brokers, server, NULL, &message, &got);
}

bool brokers_step(struct brokers *brokers) {
    struct {
        uint32_t from, to;
    } full[BROKERS_MAX * BROKERS_MAX];
    uint32_t count = 0;
    for (uint32_t from = 0; from < brokers->options.count; from++)
        for (uint32_t to = 0; to < brokers->options.count; to++)
            if (brokers->routes[from][to].first) {
                full[count].from = from;
                full[count++].to = to;
            }
    if (!count)
        return false;
    uint32_t chosen = random_below(brokers->random, count), from = full[chosen].from, to = full[chosen].to;
    struct route *route = &brokers->routes[from][to];
    struct passage *passage = route->first;
    route->first = passage->next;
    if (!route->first)
        route->last = NULL;
    if (passage->change)
        learn(&brokers->routes[to][from], passage);
    else
        arrive(brokers, to, passage);
    passage_free(passage);
    brokers_reap(brokers);
    return true;
}
