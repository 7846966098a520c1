#include "core/rights/users.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"

_Thread_local const struct users *users_judging;
const struct user_rights users_no_rights;

bool users_are_of(const struct users *users, const char *text, size_t bytes) {
    struct digest digest;
    assert(users && text);
    return digest_make(text, bytes, &digest) && digest_same(&digest, &users->digest);
}

struct users *users_hold(struct users *users) {
    uint32_t before = atomic_fetch_add_explicit(&users->references, 1, memory_order_relaxed);
    assert(before > 0 && before < UINT32_MAX);
    (void)before;
    return users;
}

static void drop_user(struct user *user) {
    if (!user || atomic_fetch_sub_explicit(&user->references, 1, memory_order_acq_rel) > 1)
        return;
    account_drop(user->account);
    memory_give(user);
}

static void destroy(struct users *users) {
    for (uint32_t index = 0; users->list && index < users->count; index++)
        drop_user(users->list[index]);
    for (uint32_t index = 0; index < users->gone_count; index++)
        drop_user(users->gone[index].user);
    if (users->tokens)
        digest_wipe(users->tokens, users->token_count * sizeof *users->tokens);
    if (users->text)
        digest_wipe(users->text, users->text_bytes);
    memory_give(users->text);
    memory_give(users->list);
    memory_give(users->rights);
    memory_give(users->places);
    memory_give(users->gone);
    memory_give(users->patterns);
    memory_give(users->tokens);
    memory_give(users->names);
    memory_give(users->certificates);
    memory_give(users->uids);
    digest_wipe(users, sizeof *users);
    memory_give(users);
}

void users_drop(struct users *users) {
    if (!users)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&users->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        destroy(users);
}

uint32_t users_count(const struct users *users) {
    return users->count;
}

const struct user *users_at(const struct users *users, uint32_t index) {
    assert(index < users->count);
    return users->list[index];
}

const struct user_rights *users_rights_at(const struct users *users, uint32_t index) {
    assert(index < users->count);
    return &users->rights[index];
}

uint32_t users_hold_line(const struct users *users) {
    return users->hold_line;
}

bool users_have_certificates(const struct users *users) {
    return users->certificate_count > 0;
}

// --- By credential

static struct user *find_name(const struct user_name *sorted, uint32_t count, const char *name,
                              size_t bytes) {
    uint32_t low = 0, high = count;
    while (low < high) {
        const struct user_name *middle = &sorted[low + (high - low) / 2];
        int order = memcmp(middle->name, name, middle->bytes < bytes ? middle->bytes : bytes);
        if (order == 0 && middle->bytes == bytes)
            return middle->user;
        if (order < 0 || (order == 0 && middle->bytes < bytes))
            low = (uint32_t)(middle - sorted) + 1;
        else
            high = (uint32_t)(middle - sorted);
    }
    return NULL;
}

const struct user *users_by_name(const struct users *users, const char *name, size_t bytes) {
    assert(name);
    return find_name(users->names, users->count, name, bytes);
}

struct user *users_known(const struct users *users, const char *name, size_t bytes) {
    struct user *user = find_name(users->names, users->count, name, bytes);
    return user ? user : find_name(users->gone, users->gone_count, name, bytes);
}

const struct user *users_by_certificate(const struct users *users, const char *name, size_t bytes) {
    assert(name);
    return find_name(users->certificates, users->certificate_count, name, bytes);
}

const struct user *users_by_uid(const struct users *users, uint32_t uid) {
    uint32_t low = 0, high = users->uid_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (users->uids[middle].uid == uid)
            return users->uids[middle].user;
        if (users->uids[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct user *users_by_digest(const struct users *users, const struct digest *digest) {
    assert(digest);
    uint64_t hash = siphash_table(&users->key, digest->bytes, DIGEST_BYTES);
    uint32_t low = 0, high = users->token_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (users->tokens[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < users->token_count && users->tokens[low].hash == hash; low++)
        if (digest_same(&users->tokens[low].digest, digest))
            return users->tokens[low].user;
    return NULL;
}

const struct user *users_by_token(const struct users *users, const char *token, size_t bytes) {
    struct digest digest;
    assert(token || bytes == 0);
    if (bytes == 0 || bytes > TOKEN_BYTES_MAX || !digest_make(token, bytes, &digest))
        return NULL;
    const struct user *user = users_by_digest(users, &digest);
    digest_wipe(&digest, sizeof digest);
    return user;
}
