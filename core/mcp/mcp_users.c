#include "core/mcp/mcp_users.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"

struct mcp_request {
    uint64_t id;
    struct mcp_user *user; // NULL: it was given up
    uint64_t abandoned_ms; // then: when
    enum mcp_ask ask;
    struct hash_node by_id;
    struct list by_user;
    struct mcp_subscription *subscription; // that it asks for, as long as both are there
    size_t own_bytes;                      // of one that listens
    char own[];
};

struct mcp_resource {
    struct list link;          // of all
    struct list subscriptions; // struct mcp_subscription.by_resource
    bool lapsed;               // somebody isn't subscribed any more, and the server may not know
    size_t bytes;
    char uri[];
};

struct mcp_subscription {
    struct mcp_user *user;
    struct mcp_resource *resource;
    struct mcp_request *request; // that asks for it, likewise
    struct list by_user, by_resource;
};

// Ids and names of connections are the hub's own: nobody can choose them so that they collide.
static uint64_t hash_of(uint64_t number) {
    return hash_table_hash(number, UINT64_C(0x9e3779b97f4a7c15));
}

void mcp_users_init(struct mcp_users *sharing, const struct siphash_key *key, struct quota *quota) {
    *sharing = (struct mcp_users){.quota = quota};
    list_init(&sharing->users);
    list_init(&sharing->asking);
    list_init(&sharing->logging);
    list_init(&sharing->abandoned);
    hash_table_init(&sharing->by_connection, quota);
    hash_table_init(&sharing->by_request, quota);
    list_init(&sharing->all);
    name_map_init(&sharing->resources, key, quota);
}

static void ignore(void *context, const char *uri, size_t bytes) {
    (void)context;
    (void)uri;
    (void)bytes;
}

void mcp_users_deinit(struct mcp_users *sharing) {
    while (!list_empty(&sharing->users))
        mcp_user_leave(sharing, list_entry(sharing->users.next, struct mcp_user, link), ignore, NULL);
    mcp_abandoned_forget(sharing);
    assert(sharing->resources.count == 0);
    name_map_deinit(&sharing->resources);
    hash_table_deinit(&sharing->by_connection);
    hash_table_deinit(&sharing->by_request);
}

// --- Users

struct mcp_user *mcp_user_find(const struct mcp_users *sharing, uint64_t connection) {
    struct hash_node *node = hash_table_find(&sharing->by_connection, hash_of(connection));
    for (; node; node = hash_table_next(node)) {
        struct mcp_user *user = hash_table_entry(node, struct mcp_user, by_connection);
        if (user->home.connection == connection)
            return user;
    }
    return NULL;
}

struct mcp_user *mcp_user_take(struct mcp_users *sharing, uint64_t connection) {
    struct mcp_user *user = mcp_user_find(sharing, connection);
    if (user)
        return user;
    user = quota_take_zeroed(sharing->quota, 1, sizeof *user);
    if (!user)
        return NULL;
    if (!hash_table_add(&sharing->by_connection, &user->by_connection, hash_of(connection))) {
        quota_give(sharing->quota, user);
        return NULL;
    }
    user->home.connection = connection;
    list_init(&user->home.agents);
    list_init(&user->home.pending);
    list_init(&user->home.link);
    list_init(&user->link);
    list_init(&user->asking);
    list_init(&user->logging);
    list_init(&user->requests);
    list_init(&user->subscriptions);
    list_append(&sharing->users, &user->link);
    return user;
}

// --- Requests

static struct mcp_request *find_request(const struct mcp_users *sharing, uint64_t id) {
    struct hash_node *node = hash_table_find(&sharing->by_request, hash_of(id));
    for (; node; node = hash_table_next(node)) {
        struct mcp_request *request = hash_table_entry(node, struct mcp_request, by_id);
        if (request->id == id)
            return request;
    }
    return NULL;
}

static void count(struct list *all, struct list *own, uint32_t *counter, int change) {
    assert(change > 0 || *counter > 0);
    *counter += (uint32_t)change;
    if (*counter == 0)
        list_remove(own);
    else if (list_empty(own))
        list_append(all, own);
}

static void count_request(struct mcp_users *sharing, const struct mcp_request *request, int change) {
    struct mcp_user *user = request->user;
    if (request->ask == MCP_ASK_LISTEN)
        user->listens += (uint32_t)change;
    else
        count(&sharing->asking, &user->asking, &user->asks, change);
    if (request->ask == MCP_ASK_WITH_LOG)
        count(&sharing->logging, &user->logging, &user->logs, change);
}

static struct mcp_request *begin_request(struct mcp_users *sharing, struct mcp_user *user, uint64_t id,
                                         enum mcp_ask ask, size_t own_bytes) {
    assert(!find_request(sharing, id));
    struct mcp_request *request = quota_take(sharing->quota, sizeof *request + own_bytes);
    if (!request)
        return NULL;
    *request = (struct mcp_request){.id = id, .user = user, .ask = ask, .own_bytes = own_bytes};
    if (!hash_table_add(&sharing->by_request, &request->by_id, hash_of(id))) {
        quota_give(sharing->quota, request);
        return NULL;
    }
    list_init(&request->by_user);
    list_append(&user->requests, &request->by_user);
    count_request(sharing, request, 1);
    return request;
}

bool mcp_ask_begin(struct mcp_users *sharing, struct mcp_user *user, uint64_t id, enum mcp_ask ask) {
    return begin_request(sharing, user, id, ask, 0) != NULL;
}

bool mcp_listen_begin(struct mcp_users *sharing, struct mcp_user *user, uint64_t id, const void *own,
                      size_t bytes) {
    assert(bytes > 0);
    struct mcp_request *request = begin_request(sharing, user, id, MCP_ASK_LISTEN, bytes);
    if (request)
        memcpy(request->own, own, bytes);
    return request != NULL;
}

static void end_request(struct mcp_users *sharing, struct mcp_request *request) {
    count_request(sharing, request, -1);
    if (request->subscription)
        request->subscription->request = NULL;
    hash_table_remove(&sharing->by_request, &request->by_id);
    list_remove(&request->by_user);
    quota_give(sharing->quota, request);
}

bool mcp_ask_end(struct mcp_users *sharing, uint64_t id) {
    struct mcp_request *request = find_request(sharing, id);
    if (!request || !request->user)
        return false;
    end_request(sharing, request);
    return true;
}

// --- Requests that were given up

static void end_abandoned(struct mcp_users *sharing, struct mcp_request *request) {
    assert(!request->user && sharing->abandoned_count > 0);
    sharing->abandoned_count--;
    hash_table_remove(&sharing->by_request, &request->by_id);
    list_remove(&request->by_user);
    quota_give(sharing->quota, request);
}

static struct mcp_request *oldest_abandoned(const struct mcp_users *sharing) {
    return list_entry(sharing->abandoned.next, struct mcp_request, by_user);
}

static void expire_abandoned(struct mcp_users *sharing, uint64_t now_ms) {
    while (!list_empty(&sharing->abandoned) &&
           now_ms - oldest_abandoned(sharing)->abandoned_ms >= MCP_ABANDONED_MS)
        end_abandoned(sharing, oldest_abandoned(sharing));
    if (now_ms >= sharing->crowded_until_ms)
        sharing->crowded_until_ms = 0;
}

bool mcp_ask_abandon(struct mcp_users *sharing, uint64_t id, uint64_t now_ms) {
    struct mcp_request *request = find_request(sharing, id);
    if (!request || !request->user)
        return false;
    expire_abandoned(sharing, now_ms);
    bool room = sharing->abandoned_count < MCP_ABANDONED_MAX;
    if (request->ask == MCP_ASK_LISTEN || !room) {
        if (request->ask != MCP_ASK_LISTEN)
            sharing->crowded_until_ms = now_ms + MCP_ABANDONED_MS;
        end_request(sharing, request);
        return true;
    }
    count_request(sharing, request, -1);
    if (request->subscription)
        request->subscription->request = NULL;
    request->subscription = NULL;
    request->user = NULL;
    request->abandoned_ms = now_ms;
    list_remove(&request->by_user);
    list_append(&sharing->abandoned, &request->by_user);
    sharing->abandoned_count++;
    return true;
}

bool mcp_abandoned_end(struct mcp_users *sharing, uint64_t id) {
    struct mcp_request *request = find_request(sharing, id);
    if (!request || request->user)
        return false;
    end_abandoned(sharing, request);
    return true;
}

bool mcp_abandoned_any(struct mcp_users *sharing, uint64_t now_ms) {
    expire_abandoned(sharing, now_ms);
    return sharing->abandoned_count > 0 || sharing->crowded_until_ms > 0;
}

void mcp_abandoned_forget(struct mcp_users *sharing) {
    while (!list_empty(&sharing->abandoned))
        end_abandoned(sharing, oldest_abandoned(sharing));
    assert(sharing->abandoned_count == 0);
    sharing->crowded_until_ms = 0;
}

struct mcp_user *mcp_asker(const struct mcp_users *sharing, uint64_t id) {
    const struct mcp_request *request = find_request(sharing, id);
    return request ? request->user : NULL;
}

const char *mcp_listener(const struct mcp_users *sharing, uint64_t id, size_t *bytes) {
    const struct mcp_request *request = find_request(sharing, id);
    bool listens = request && request->own_bytes > 0;
    *bytes = listens ? request->own_bytes : 0;
    return listens ? request->own : NULL;
}

enum mcp_ask mcp_ask_kind(const struct mcp_users *sharing, uint64_t id) {
    const struct mcp_request *request = find_request(sharing, id);
    return request && request->user ? request->ask : MCP_ASK;
}

void mcp_each_ask(const struct mcp_user *user, mcp_tell_ask *tell, void *context) {
    for (const struct list *node = user->requests.next, *next; node != &user->requests; node = next) {
        next = node->next;
        tell(context, list_entry(node, struct mcp_request, by_user)->id);
    }
}

static bool has_one(const struct list *list) {
    return !list_empty(list) && list->next == list->prev;
}

struct mcp_user *mcp_only_asking(const struct mcp_users *sharing) {
    return has_one(&sharing->asking) ? list_entry(sharing->asking.next, struct mcp_user, asking) : NULL;
}

struct mcp_user *mcp_only_logging(const struct mcp_users *sharing) {
    return has_one(&sharing->logging) ? list_entry(sharing->logging.next, struct mcp_user, logging) : NULL;
}

// --- Resources

static struct mcp_subscription *find_subscription(const struct mcp_resource *resource,
                                                  const struct mcp_user *user) {
    const struct list *all = resource ? &resource->subscriptions : NULL;
    for (struct list *node = all ? all->next : NULL; node && node != all; node = node->next) {
        struct mcp_subscription *found = list_entry(node, struct mcp_subscription, by_resource);
        if (found->user == user)
            return found;
    }
    return NULL;
}

static struct mcp_resource *take_resource(struct mcp_users *sharing, const char *uri, size_t bytes) {
    struct mcp_resource *resource = name_map_get(&sharing->resources, uri, bytes);
    if (resource)
        return resource;
    resource = quota_take(sharing->quota, sizeof *resource + bytes);
    if (!resource)
        return NULL;
    resource->lapsed = false;
    resource->bytes = bytes;
    memcpy(resource->uri, uri, bytes);
    if (!name_map_add(&sharing->resources, resource->uri, bytes, resource)) {
        quota_give(sharing->quota, resource);
        return NULL;
    }
    list_init(&resource->link);
    list_append(&sharing->all, &resource->link);
    list_init(&resource->subscriptions);
    return resource;
}

static void give_resource(struct mcp_users *sharing, struct mcp_resource *resource) {
    if (!list_empty(&resource->subscriptions))
        return;
    name_map_remove(&sharing->resources, resource->uri, resource->bytes);
    list_remove(&resource->link);
    quota_give(sharing->quota, resource);
}

static bool subscribe(struct mcp_users *sharing, struct mcp_user *user, struct mcp_request *request,
                      const char *uri, size_t bytes) {
    if (bytes > MCP_URI_BYTES_MAX)
        return false;
    struct mcp_resource *resource = take_resource(sharing, uri, bytes);
    if (!resource)
        return false;
    if (find_subscription(resource, user))
        return true;
    bool room = user->subscribed < SUBSCRIPTIONS_PER_CONNECTION_MAX;
    struct mcp_subscription *subscription = room ? quota_take(sharing->quota, sizeof *subscription) : NULL;
    if (!subscription) {
        give_resource(sharing, resource);
        return false;
    }
    *subscription = (struct mcp_subscription){.user = user, .resource = resource, .request = request};
    if (request)
        request->subscription = subscription;
    list_init(&subscription->by_user);
    list_init(&subscription->by_resource);
    list_append(&user->subscriptions, &subscription->by_user);
    list_append(&resource->subscriptions, &subscription->by_resource);
    user->subscribed++;
    return true;
}

bool mcp_subscribe(struct mcp_users *sharing, struct mcp_user *user, const char *uri, size_t bytes) {
    return subscribe(sharing, user, NULL, uri, bytes);
}

bool mcp_subscribe_asked(struct mcp_users *sharing, uint64_t id, const char *uri, size_t bytes) {
    struct mcp_request *request = find_request(sharing, id);
    assert(request && !request->subscription);
    return subscribe(sharing, request->user, request, uri, bytes);
}

static void end_subscription(struct mcp_users *sharing, struct mcp_subscription *subscription) {
    assert(subscription->user->subscribed > 0);
    subscription->user->subscribed--;
    subscription->resource->lapsed = true;
    if (subscription->request)
        subscription->request->subscription = NULL;
    list_remove(&subscription->by_user);
    list_remove(&subscription->by_resource);
    quota_give(sharing->quota, subscription);
}

void mcp_ask_refused(struct mcp_users *sharing, uint64_t id, mcp_tell *orphan, void *context) {
    const struct mcp_request *request = find_request(sharing, id);
    if (!request || !request->subscription)
        return;
    struct mcp_resource *resource = request->subscription->resource;
    bool had_lapsed = resource->lapsed;
    end_subscription(sharing, request->subscription);
    resource->lapsed = had_lapsed;
    if (had_lapsed && list_empty(&resource->subscriptions))
        orphan(context, resource->uri, resource->bytes);
    give_resource(sharing, resource);
}

bool mcp_unsubscribe(struct mcp_users *sharing, const struct mcp_user *user, const char *uri, size_t bytes) {
    struct mcp_resource *resource = name_map_get(&sharing->resources, uri, bytes);
    if (!resource)
        return false;
    struct mcp_subscription *subscription = find_subscription(resource, user);
    if (subscription)
        end_subscription(sharing, subscription);
    bool others = !list_empty(&resource->subscriptions);
    give_resource(sharing, resource);
    return others;
}

void mcp_unsubscribe_all(struct mcp_users *sharing, struct mcp_user *user) {
    while (!list_empty(&user->subscriptions)) {
        struct mcp_subscription *subscription =
            list_entry(user->subscriptions.next, struct mcp_subscription, by_user);
        struct mcp_resource *resource = subscription->resource;
        end_subscription(sharing, subscription);
        give_resource(sharing, resource);
    }
    assert(user->subscribed == 0);
}

// --- Levels

void mcp_level_say(struct mcp_users *sharing, struct mcp_user *user, const char *level) {
    size_t bytes = strlen(level);
    assert(bytes < sizeof user->level);
    memcpy(user->level, level, bytes + 1);
    user->levelled = ++sharing->levels;
}

const char *mcp_level(const struct mcp_users *sharing) {
    const struct mcp_user *last = NULL;
    for (const struct list *node = sharing->users.next; node != &sharing->users; node = node->next) {
        const struct mcp_user *user = list_entry(node, struct mcp_user, link);
        if (user->levelled > (last ? last->levelled : 0))
            last = user;
    }
    return last ? last->level : "";
}

// --- Leaving

void mcp_each_subscription(const struct mcp_user *user, mcp_tell *tell, void *context) {
    assert(user && tell);
    for (const struct list *node = user->subscriptions.next; node != &user->subscriptions;
         node = node->next) {
        const struct mcp_resource *resource = list_entry(node, struct mcp_subscription, by_user)->resource;
        tell(context, resource->uri, resource->bytes);
    }
}

void mcp_each_resource(const struct mcp_users *sharing, mcp_tell *tell, void *context) {
    for (struct list *node = sharing->all.next; node != &sharing->all; node = node->next) {
        const struct mcp_resource *resource = list_entry(node, struct mcp_resource, link);
        tell(context, resource->uri, resource->bytes);
    }
}

void mcp_user_leave(struct mcp_users *sharing, struct mcp_user *user, mcp_tell *orphan, void *context) {
    while (!list_empty(&user->requests))
        end_request(sharing, list_entry(user->requests.next, struct mcp_request, by_user));
    while (!list_empty(&user->subscriptions)) {
        struct mcp_subscription *subscription =
            list_entry(user->subscriptions.next, struct mcp_subscription, by_user);
        struct mcp_resource *resource = subscription->resource;
        end_subscription(sharing, subscription);
        if (list_empty(&resource->subscriptions))
            orphan(context, resource->uri, resource->bytes);
        give_resource(sharing, resource);
    }
    assert(user->asks == 0 && user->logs == 0 && list_empty(&user->asking) && list_empty(&user->logging));
    assert(list_empty(&user->home.pending)); // whoever asked it has been told
    list_remove(&user->link);
    hash_table_remove(&sharing->by_connection, &user->by_connection);
    quota_give(sharing->quota, user);
}
