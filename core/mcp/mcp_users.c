#include "core/mcp/mcp_users.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"

struct mcp_request {
    uint64_t id;
    struct mcp_user *user; // NULL: the request was abandoned
    uint64_t abandoned_ms; // when the request was abandoned
    enum mcp_request_kind kind;
    struct hash_node by_id;
    struct list by_user;
    struct mcp_subscription *subscription; // the subscription that the request asks for, while both exist
    // Bytes of `own`: the id that the client chose for a request that listens
    size_t own_bytes;
    char own[];
};

struct mcp_resource {
    struct list link;          // in mcp_users.all
    struct list subscriptions; // struct mcp_subscription.by_resource
    bool lapsed;               // a user has unsubscribed, and the server may not have been told
    size_t bytes;
    char uri[];
};

struct mcp_subscription {
    struct mcp_user *user;
    struct mcp_resource *resource;
    struct mcp_request *request; // the request that asks for the subscription, while both exist
    struct list by_user, by_resource;
};

// Hashes without a secret: the hub chooses ids and connections' names, so no peer can make collisions.
static uint64_t hash_of(uint64_t number) {
    return hash_table_hash(number, UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t hash_of_user(const struct hash_table *users, const struct hash_node *node) {
    (void)users;
    return hash_of(hash_table_entry(node, struct mcp_user, by_connection)->registrant.connection);
}

static uint64_t hash_of_request(const struct hash_table *requests, const struct hash_node *node) {
    (void)requests;
    return hash_of(hash_table_entry(node, struct mcp_request, by_id)->id);
}

void mcp_users_init(struct mcp_users *users, const struct siphash_key *key, struct quota *quota) {
    *users = (struct mcp_users){.quota = quota};
    list_init(&users->users);
    list_init(&users->by_requests);
    list_init(&users->logging);
    list_init(&users->abandoned);
    hash_table_init(&users->by_connection, hash_of_user, quota);
    hash_table_init(&users->by_request, hash_of_request, quota);
    list_init(&users->all);
    name_map_init(&users->resources, key, quota);
}

void mcp_users_deinit(struct mcp_users *users) {
    while (!list_empty(&users->users))
        mcp_user_leave(users, list_entry(users->users.next, struct mcp_user, link), NULL, NULL);
    mcp_abandoned_forget(users);
    assert(users->resources.count == 0);
    name_map_deinit(&users->resources);
    hash_table_deinit(&users->by_connection);
    hash_table_deinit(&users->by_request);
}

// --- Users

struct mcp_user *mcp_user_find(const struct mcp_users *users, uint64_t connection) {
    struct hash_node *node = hash_table_find(&users->by_connection, hash_of(connection));
    for (; node; node = node->next) {
        struct mcp_user *user = hash_table_entry(node, struct mcp_user, by_connection);
        if (user->registrant.connection == connection)
            return user;
    }
    return NULL;
}

struct mcp_user *mcp_user_take(struct mcp_users *users, uint64_t connection) {
    struct mcp_user *user = mcp_user_find(users, connection);
    if (user)
        return user;
    user = quota_take_zeroed(users->quota, 1, sizeof *user);
    if (!user)
        return NULL;
    user->registrant.connection = connection;
    if (!hash_table_add(&users->by_connection, &user->by_connection)) {
        quota_give(users->quota, user);
        return NULL;
    }
    list_init(&user->registrant.agents);
    list_init(&user->registrant.pending);
    list_init(&user->registrant.link);
    list_init(&user->link);
    list_init(&user->by_requests);
    list_init(&user->logging);
    list_init(&user->requests);
    list_init(&user->subscriptions);
    list_append(&users->users, &user->link);
    return user;
}

// --- Requests

static struct mcp_request *find_request(const struct mcp_users *users, uint64_t id) {
    struct hash_node *node = hash_table_find(&users->by_request, hash_of(id));
    for (; node; node = node->next) {
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

static void count_request(struct mcp_users *users, const struct mcp_request *request, int change) {
    struct mcp_user *user = request->user;
    if (request->kind == MCP_REQUEST_LISTEN)
        user->listens += (uint32_t)change;
    else
        count(&users->by_requests, &user->by_requests, &user->request_count, change);
    if (request->kind == MCP_REQUEST_WITH_LOG)
        count(&users->logging, &user->logging, &user->logs, change);
}

static struct mcp_request *begin_request(struct mcp_users *users, struct mcp_user *user, uint64_t id,
                                         enum mcp_request_kind kind, size_t own_bytes) {
    assert(!find_request(users, id));
    struct mcp_request *request = quota_take(users->quota, sizeof *request + own_bytes);
    if (!request)
        return NULL;
    *request = (struct mcp_request){.id = id, .user = user, .kind = kind, .own_bytes = own_bytes};
    if (!hash_table_add(&users->by_request, &request->by_id)) {
        quota_give(users->quota, request);
        return NULL;
    }
    list_init(&request->by_user);
    list_append(&user->requests, &request->by_user);
    count_request(users, request, 1);
    return request;
}

bool mcp_request_begin(struct mcp_users *users, struct mcp_user *user, uint64_t id,
                       enum mcp_request_kind kind) {
    return begin_request(users, user, id, kind, 0) != NULL;
}

bool mcp_listen_begin(struct mcp_users *users, struct mcp_user *user, uint64_t id, const void *own,
                      size_t bytes) {
    assert(bytes > 0);
    struct mcp_request *request = begin_request(users, user, id, MCP_REQUEST_LISTEN, bytes);
    if (request)
        memcpy(request->own, own, bytes);
    return request != NULL;
}

static void end_request(struct mcp_users *users, struct mcp_request *request) {
    count_request(users, request, -1);
    if (request->subscription)
        request->subscription->request = NULL;
    hash_table_remove(&users->by_request, &request->by_id);
    list_remove(&request->by_user);
    quota_give(users->quota, request);
}

bool mcp_request_end(struct mcp_users *users, uint64_t id) {
    struct mcp_request *request = find_request(users, id);
    if (!request || !request->user)
        return false;
    end_request(users, request);
    return true;
}

// --- Abandoned requests

static void end_abandoned(struct mcp_users *users, struct mcp_request *request) {
    assert(!request->user && users->abandoned_count > 0);
    users->abandoned_count--;
    hash_table_remove(&users->by_request, &request->by_id);
    list_remove(&request->by_user);
    quota_give(users->quota, request);
}

static struct mcp_request *oldest_abandoned(const struct mcp_users *users) {
    return list_entry(users->abandoned.next, struct mcp_request, by_user);
}

static void expire_abandoned(struct mcp_users *users, uint64_t now_ms) {
    while (!list_empty(&users->abandoned) &&
           now_ms - oldest_abandoned(users)->abandoned_ms >= MCP_ABANDONED_MS)
        end_abandoned(users, oldest_abandoned(users));
    if (now_ms >= users->crowded_until_ms)
        users->crowded_until_ms = 0;
}

bool mcp_request_abandon(struct mcp_users *users, uint64_t id, uint64_t now_ms) {
    struct mcp_request *request = find_request(users, id);
    if (!request || !request->user)
        return false;
    expire_abandoned(users, now_ms);
    bool room = users->abandoned_count < MCP_ABANDONED_MAX;
    if (request->kind == MCP_REQUEST_LISTEN || !room) {
        if (request->kind != MCP_REQUEST_LISTEN)
            users->crowded_until_ms = now_ms + MCP_ABANDONED_MS;
        end_request(users, request);
        return true;
    }
    count_request(users, request, -1);
    if (request->subscription)
        request->subscription->request = NULL;
    request->subscription = NULL;
    request->user = NULL;
    request->abandoned_ms = now_ms;
    list_remove(&request->by_user);
    list_append(&users->abandoned, &request->by_user);
    users->abandoned_count++;
    return true;
}

bool mcp_abandoned_end(struct mcp_users *users, uint64_t id) {
    struct mcp_request *request = find_request(users, id);
    if (!request || request->user)
        return false;
    end_abandoned(users, request);
    return true;
}

bool mcp_abandoned_any(struct mcp_users *users, uint64_t now_ms) {
    expire_abandoned(users, now_ms);
    return users->abandoned_count > 0 || users->crowded_until_ms > 0;
}

void mcp_abandoned_forget(struct mcp_users *users) {
    while (!list_empty(&users->abandoned))
        end_abandoned(users, oldest_abandoned(users));
    assert(users->abandoned_count == 0);
    users->crowded_until_ms = 0;
}

struct mcp_user *mcp_request_user(const struct mcp_users *users, uint64_t id) {
    const struct mcp_request *request = find_request(users, id);
    return request ? request->user : NULL;
}

const char *mcp_listener(const struct mcp_users *users, uint64_t id, size_t *bytes) {
    const struct mcp_request *request = find_request(users, id);
    bool listens = request && request->own_bytes > 0;
    *bytes = listens ? request->own_bytes : 0;
    return listens ? request->own : NULL;
}

enum mcp_request_kind mcp_request_kind_of(const struct mcp_users *users, uint64_t id) {
    const struct mcp_request *request = find_request(users, id);
    return request && request->user ? request->kind : MCP_REQUEST;
}

void mcp_visit_requests(const struct mcp_user *user, mcp_visit_request *visit, void *context) {
    const struct list *all = &user->requests, *node = all->next;
    uint64_t last = list_empty(all) ? 0 : list_entry(all->prev, struct mcp_request, by_user)->id;
    for (uint64_t id = 0; node != all && (id != last || !id);) {
        const struct list *next = node->next;
        id = list_entry(node, struct mcp_request, by_user)->id;
        visit(context, id);
        node = next;
    }
}

static bool has_one(const struct list *list) {
    return !list_empty(list) && list->next == list->prev;
}

struct mcp_user *mcp_only_requester(const struct mcp_users *users) {
    return has_one(&users->by_requests) ? list_entry(users->by_requests.next, struct mcp_user, by_requests)
                                        : NULL;
}

struct mcp_user *mcp_only_log_reader(const struct mcp_users *users) {
    return has_one(&users->logging) ? list_entry(users->logging.next, struct mcp_user, logging) : NULL;
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

static struct mcp_resource *take_resource(struct mcp_users *users, const char *uri, size_t bytes) {
    struct mcp_resource *resource = name_map_get(&users->resources, uri, bytes);
    if (resource)
        return resource;
    resource = quota_take(users->quota, sizeof *resource + bytes);
    if (!resource)
        return NULL;
    resource->lapsed = false;
    resource->bytes = bytes;
    memcpy(resource->uri, uri, bytes);
    if (!name_map_add(&users->resources, resource->uri, bytes, resource)) {
        quota_give(users->quota, resource);
        return NULL;
    }
    list_init(&resource->link);
    list_append(&users->all, &resource->link);
    list_init(&resource->subscriptions);
    return resource;
}

static void give_resource(struct mcp_users *users, struct mcp_resource *resource) {
    if (!list_empty(&resource->subscriptions))
        return;
    name_map_remove(&users->resources, resource->uri, resource->bytes);
    list_remove(&resource->link);
    quota_give(users->quota, resource);
}

static bool subscribe(struct mcp_users *users, struct mcp_user *user, struct mcp_request *request,
                      const char *uri, size_t bytes) {
    if (bytes > MCP_URI_BYTES_MAX)
        return false;
    struct mcp_resource *resource = take_resource(users, uri, bytes);
    if (!resource)
        return false;
    if (find_subscription(resource, user))
        return true;
    bool room = user->subscribed < SUBSCRIPTIONS_PER_CONNECTION_MAX;
    struct mcp_subscription *subscription = room ? quota_take(users->quota, sizeof *subscription) : NULL;
    if (!subscription) {
        give_resource(users, resource);
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

bool mcp_subscribe(struct mcp_users *users, struct mcp_user *user, const char *uri, size_t bytes) {
    return subscribe(users, user, NULL, uri, bytes);
}

bool mcp_request_subscribe(struct mcp_users *users, uint64_t id, const char *uri, size_t bytes) {
    struct mcp_request *request = find_request(users, id);
    assert(request && !request->subscription);
    return subscribe(users, request->user, request, uri, bytes);
}

static void end_subscription(struct mcp_users *users, struct mcp_subscription *subscription) {
    assert(subscription->user->subscribed > 0);
    subscription->user->subscribed--;
    subscription->resource->lapsed = true;
    if (subscription->request)
        subscription->request->subscription = NULL;
    list_remove(&subscription->by_user);
    list_remove(&subscription->by_resource);
    quota_give(users->quota, subscription);
}

void mcp_request_refused(struct mcp_users *users, uint64_t id, mcp_visit_uri *orphan, void *context) {
    const struct mcp_request *request = find_request(users, id);
    if (!request || !request->subscription)
        return;
    struct mcp_resource *resource = request->subscription->resource;
    bool had_lapsed = resource->lapsed;
    end_subscription(users, request->subscription);
    resource->lapsed = had_lapsed;
    if (had_lapsed && list_empty(&resource->subscriptions))
        orphan(context, resource->uri, resource->bytes);
    give_resource(users, resource);
}

bool mcp_unsubscribe(struct mcp_users *users, const struct mcp_user *user, const char *uri, size_t bytes) {
    struct mcp_resource *resource = name_map_get(&users->resources, uri, bytes);
    if (!resource)
        return false;
    struct mcp_subscription *subscription = find_subscription(resource, user);
    if (subscription)
        end_subscription(users, subscription);
    bool others = !list_empty(&resource->subscriptions);
    give_resource(users, resource);
    return others;
}

void mcp_unsubscribe_all(struct mcp_users *users, struct mcp_user *user) {
    while (!list_empty(&user->subscriptions)) {
        struct mcp_subscription *subscription =
            list_entry(user->subscriptions.next, struct mcp_subscription, by_user);
        struct mcp_resource *resource = subscription->resource;
        end_subscription(users, subscription);
        give_resource(users, resource);
    }
    assert(user->subscribed == 0);
}

// --- Levels

void mcp_level_set(struct mcp_users *users, struct mcp_user *user, const char *level) {
    size_t bytes = strlen(level);
    assert(bytes < sizeof user->level);
    memcpy(user->level, level, bytes + 1);
    user->levelled = ++users->levels;
}

const char *mcp_level(const struct mcp_users *users) {
    const struct mcp_user *last = NULL;
    for (const struct list *node = users->users.next; node != &users->users; node = node->next) {
        const struct mcp_user *user = list_entry(node, struct mcp_user, link);
        if (user->levelled > (last ? last->levelled : 0))
            last = user;
    }
    return last ? last->level : "";
}

// --- Leaving

void mcp_visit_subscriptions(const struct mcp_user *user, mcp_visit_uri *visit, void *context) {
    assert(user && visit);
    for (const struct list *node = user->subscriptions.next; node != &user->subscriptions;
         node = node->next) {
        const struct mcp_resource *resource = list_entry(node, struct mcp_subscription, by_user)->resource;
        visit(context, resource->uri, resource->bytes);
    }
}

void mcp_visit_resources(const struct mcp_users *users, mcp_visit_uri *visit, void *context) {
    for (struct list *node = users->all.next; node != &users->all; node = node->next) {
        const struct mcp_resource *resource = list_entry(node, struct mcp_resource, link);
        visit(context, resource->uri, resource->bytes);
    }
}

void mcp_user_leave(struct mcp_users *users, struct mcp_user *user, mcp_visit_uri *orphan, void *context) {
    while (!list_empty(&user->requests))
        end_request(users, list_entry(user->requests.next, struct mcp_request, by_user));
    while (!list_empty(&user->subscriptions)) {
        struct mcp_subscription *subscription =
            list_entry(user->subscriptions.next, struct mcp_subscription, by_user);
        struct mcp_resource *resource = subscription->resource;
        end_subscription(users, subscription);
        if (orphan && list_empty(&resource->subscriptions))
            orphan(context, resource->uri, resource->bytes);
        give_resource(users, resource);
    }
    assert(user->request_count == 0 && user->logs == 0 && list_empty(&user->by_requests) &&
           list_empty(&user->logging));
    assert(list_empty(&user->registrant.pending)); // sources of these requests have been answered
    list_remove(&user->link);
    hash_table_remove(&users->by_connection, &user->by_connection);
    quota_give(users->quota, user);
}
