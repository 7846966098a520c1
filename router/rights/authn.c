#include "router/rights/authn.h"

#include <assert.h>
#include <string.h>

#include "core/rights/rights.h"
#include "io/address.h"
#include "io/log.h"
#include "router/engine/message/message.h"
#include "router/engine/message/progress_token.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature_call.h"

// --- Who it is

// A user bears a connection from its first message on; one of HTTP, for a request.
static bool settle(struct identity *identity, const struct user *user, enum credential_kind kind) {
    assert(user && kind != CREDENTIAL_NONE);
    if (!identity_count_for(identity, user))
        return false;
    identity->user = user;
    identity->kind = kind;
    identity->was_known = true;
    list_remove(&identity->unauthenticated);
    wheel_disarm(&identity->timer);
    return true;
}

static void refuse_connection(struct shard *shard, const struct message *message, const struct user *user) {
    struct text data;
    text_init(&data);
    refuse_limit_put(shard, &data, user, LIMIT_CONNECTIONS);
    refuse(shard, message, ERROR_OVERLOADED, &data);
    peer_linger(shard, message->peer);
}

static bool settle_or_refuse(struct shard *shard, const struct message *message, const struct user *user,
                             enum credential_kind kind) {
    if (settle(identity_of(message->peer), user, kind))
        return true;
    refuse_connection(shard, message, user);
    return false;
}

const struct user *authn_token(struct shard *shard, const char *token, size_t bytes) {
    assert(shard->settings->users);
    return users_by_token(shard->settings->users, token, bytes);
}

void authn_credential_accepted(struct identity *identity) {
    assert(!identity->pending_refusal);
    identity->was_known = true;
    list_remove(&identity->unauthenticated);
    wheel_disarm(&identity->timer);
}

void authn_identify(struct identity *identity, const struct user *user, enum credential_kind kind) {
    assert(user && !identity->user);
    identity->user = user;
    identity->kind = kind;
    authn_credential_accepted(identity);
}

void authn_forget(struct identity *identity) {
    identity->user = NULL;
}

// --- A wrong one

static bool save_id(struct shard *shard, struct identity *identity, const struct message *message) {
    struct reply_to to = message_reply_to(message);
    assert(!identity->id);
    identity->exchange = NULL;
    if (!message_is_request(message))
        return true;
    identity->id = quota_take_anyway(&shard->quota, to.id_bytes);
    if (!identity->id)
        return false;
    memcpy(identity->id, to.id, to.id_bytes);
    identity->id_bytes = to.id_bytes;
    identity->exchange = to.exchange;
    return true;
}

static void log_refused(struct shard *shard, const struct peer *peer) {
    struct io_peer_address from;
    char address[ADDRESS_PEER_BYTES];
    assert(peer->connection.socket >= 0);
    if (!log_is_written(LOG_CREDENTIAL_REFUSED))
        return;
    io_read_peer_address(shard->io, peer->connection.socket, &from);
    address_of_peer(&from, address);
    if (!log_write(LOG_CREDENTIAL_REFUSED, LOG_FIELDS(log_text(address)), "a wrong credential came from %s",
                   address))
        shard_note_suppressed(shard);
}

// The peer stays until it has been told, and says nothing more.
static void begin_delay(struct shard *shard, struct identity *identity, enum authn_attempt attempt) {
    struct peer *peer = identity->peer;
    uint32_t delay_ms =
        authn_throttle_add(&shard->hub->authn_throttle, identity->address_hash, shard_now_ms(shard));
    assert(attempt != ATTEMPT_NONE && delay_ms >= AUTHN_THROTTLE_DELAY_MS);
    log_refused(shard, peer);
    identity->pending_refusal = attempt;
    peer->awaited++;
    wheel_disarm(&identity->timer);
    wheel_arm(&shard->wheel, &identity->timer, shard_now_ms(shard) + delay_ms);
    if (attempt == ATTEMPT_MESSAGE)
        peer_ended(shard, peer);
}

static void refuse_credential(struct shard *shard, const struct message *message) {
    refuse_right_silently(shard, message, RULE_CREDENTIAL);
    if (save_id(shard, identity_of(message->peer), message)) {
        begin_delay(shard, identity_of(message->peer), ATTEMPT_MESSAGE);
        return;
    }
    peer_close(shard, message->peer, COUNT_CLOSED_NO_MEMORY);
    if (message->exchange)
        exchange_miss(shard, message->exchange);
}

void authn_delay(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    assert(exchange && !identity_of(peer)->exchange);
    identity_of(peer)->exchange = exchange;
    begin_delay(shard, identity_of(peer), ATTEMPT_HTTP);
}

static void answer_wrong_credential(struct shard *shard, struct identity *identity) {
    struct reply_to to = {identity->id, identity->id_bytes, identity->exchange};
    struct text data;
    assert(!identity->id == !identity->id_bytes);
    if (!identity->id)
        return;
    if (to.exchange)
        to.exchange->http.closes = true;
    text_init(&data);
    reply_data_text(&data, "rule", rule_text(RULE_CREDENTIAL));
    reply_error(shard, identity->peer, to, ERROR_NOT_ALLOWED, &data);
    identity->exchange = NULL;
}

static void end_unauthenticated(struct shard *shard, struct peer *peer) {
    if (!peer_end_own(shard, peer, PEER_END_UNAUTHENTICATED))
        peer_linger(shard, peer);
}

static void end_delay(struct shard *shard, struct identity *identity) {
    struct peer *peer = identity->peer;
    enum authn_attempt attempt = identity->pending_refusal;
    assert(attempt != ATTEMPT_NONE);
    assert(peer->awaited > 0);
    peer->awaited--;
    identity->pending_refusal = ATTEMPT_NONE;
    stats_count(&shard->stats, COUNT_CLOSED_GUESS);
    if (attempt == ATTEMPT_MESSAGE)
        answer_wrong_credential(shard, identity);
    assert((attempt == ATTEMPT_HTTP) == (identity->exchange != NULL));
    end_unauthenticated(shard, peer);
}

bool authn_expired(struct shard *shard, struct identity *identity) {
    struct peer *peer = identity->peer;
    assert(peer->state != PEER_CLOSING && identity_of(peer) == identity);
    if (identity->pending_refusal) {
        end_delay(shard, identity);
        return false;
    }
    if (peer->state == PEER_OPEN && peer->exchanges > 0) { // a request of the peer is being answered
        wheel_arm(&shard->wheel, &identity->timer, shard_now_ms(shard) + CREDENTIAL_MS);
        return false;
    }
    return peer->state == PEER_OPEN;
}

void authn_deny(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_OPEN && !identity_of(peer)->pending_refusal);
    stats_count(&shard->stats, COUNT_CLOSED_UNAUTHENTICATED);
    assert(!identity_of(peer)->exchange);
    end_unauthenticated(shard, peer);
}

void authn_leave(struct shard *shard, struct peer *peer) {
    struct identity *identity = identity_of(peer);
    if (!identity)
        return;
    assert(peer->state == PEER_CLOSING);
    wheel_disarm(&identity->timer);
    list_remove(&identity->unauthenticated);
    authn_forget(identity);
    identity_uncount(identity);
    if (identity->pending_refusal && identity->exchange)
        exchange_miss(shard, identity->exchange);
    identity->pending_refusal = ATTEMPT_NONE;
    identity->exchange = NULL;
}

// --- The user's limits

// Returns whether the message cancels a pending or held request of the same peer. Such a cancel is never refused.
static bool is_own_cancel(struct shard *shard, const struct message *message) {
    const struct lookup *lookup = &message->lookup;
    struct peer *peer = message->peer;
    bool is_lsp = message_method_is(message, "$/cancelRequest");
    enum lookup_key key = is_lsp ? KEY_PARAMS_ID : KEY_REQUEST_ID;
    bool is_other = message_method_is(message, "notifications/cancelled") ||
                    message_method_is(message, "$/cancel_request");
    if ((!is_lsp && !is_other) || !lookup_has(lookup, key) ||
        (lookup->type[key] != JSON_STRING && lookup->type[key] != JSON_NUMBER))
        return false;
    struct span id = lookup->value[key];
    return request_index_find(&peer->request_index, message->body, id,
                              &shard->hub->start_settings.secrets.tables, &shard->quota) ||
           feature_has_request(shard, peer, message->body, id);
}

// A report on a request that the peer was asked may be a part of the answer, and isn't refused either.
static bool is_own_report(struct shard *shard, const struct message *message) {
    return progress_token_request(message) && hub_pending(shard->hub, message->peer->connection_id);
}

static __attribute__((noinline)) bool refuse_rate_over(struct shard *shard, const struct message *message) {
    const struct user *user = identity_user(message->peer);
    assert(user && authn_is_metered(user));
    uint64_t now_ns = io_now(shard->io), bytes = message->frame->body.bytes;
    enum account_limit limit;
    uint64_t wait_ms = account_lease_message(&shard->account_leases, user->account,
                                             &users_rights(user)->limits, now_ns, bytes, &limit);
    if (!wait_ms)
        return false;
    if (is_own_cancel(shard, message) || is_own_report(shard, message)) {
        account_lease_charge(&shard->account_leases, user->account, &users_rights(user)->limits, now_ns,
                             bytes);
        return false;
    }
    refuse_limit(shard, message, limit, wait_ms);
    return true;
}

static inline bool refuse_rate(struct shard *shard, const struct message *message) {
    // A message from another hub was counted there
    const struct user *user = message->origin ? NULL : identity_user(message->peer);
    return user && authn_is_metered(user) && refuse_rate_over(shard, message);
}

// --- Credentials of a message

static bool find_credential(const struct message *message, enum lookup_key *key) {
    const struct lookup *lookup = &message->lookup;
    if (__builtin_expect(!lookup_has(lookup, KEY_TOKEN) && !lookup_has(lookup, KEY_AGENT_SECRET), true))
        return false;
    *key = message_method_is(message, "initialize")       ? KEY_TOKEN
           : message_method_is(message, "agent/register") ? KEY_AGENT_SECRET
                                                          : LOOKUP_KEYS_COUNT;
    return *key < LOOKUP_KEYS_COUNT && lookup_has(&message->lookup, *key) &&
           message->lookup.type[*key] != JSON_NULL;
}

// Another user's credential counts for whom the connection speaks, as all that it sends.
static void refuse_other(struct shard *shard, const struct message *message) {
    assert(identity_user(message->peer));
    if (!refuse_rate(shard, message))
        refuse_right(shard, message, RULE_CREDENTIAL);
}

// Overwrites a value where it lies, between its quotes: the buffer may be at rest for long. (An MCP server of
// the client's own gets an initialize so.)
static void erase(const struct message *message, struct span value) {
    uint8_t *bytes = message->frame->buffer->bytes + message->frame->body.at + value.at;
    assert(bytes == message->body + value.at && value.bytes >= 2);
    memset(bytes + 1, '*', value.bytes - 2);
}

// Reads a child's credential. A child's user is the one of its section, whatever the credential is. Returns whether the
// credential is that user's.
static bool take_child_credential(struct shard *shard, const struct message *message, enum lookup_key key) {
    const struct identity *identity = identity_of(message->peer);
    char token[TOKEN_BYTES_MAX];
    bool is_text = message->lookup.type[key] == JSON_STRING;
    assert(identity->kind == CREDENTIAL_CHILD && lookup_has(&message->lookup, key));
    size_t bytes = is_text
                       ? json_string_decode(message->body, message->lookup.value[key], token, sizeof token)
                       : SIZE_MAX;
    const struct user *user = bytes == SIZE_MAX ? NULL : authn_token(shard, token, bytes);
    digest_wipe(token, bytes == SIZE_MAX ? sizeof token : bytes);
    if (is_text)
        erase(message, message->lookup.value[key]);
    if (user && identity->user && identity_same(user, identity->user))
        return true;
    if (!refuse_rate(shard, message))
        refuse_right(shard, message, RULE_CREDENTIAL);
    return false;
}

// True: the message goes on.
static bool take_message_credential(struct shard *shard, const struct message *message, enum lookup_key key) {
    struct identity *identity = identity_of(message->peer);
    char token[TOKEN_BYTES_MAX];
    size_t bytes = SIZE_MAX;
    assert(lookup_has(&message->lookup, key));
    if (message->lookup.type[key] == JSON_STRING) {
        bytes = json_string_decode(message->body, message->lookup.value[key], token, sizeof token);
        erase(message, message->lookup.value[key]);
    }
    const struct user *user = bytes == SIZE_MAX ? NULL : authn_token(shard, token, bytes);
    bool ok = false, is_same = user && identity_same(user, identity->user);
    if (!user)
        refuse_credential(shard, message);
    else if (identity->user && !is_same)
        refuse_other(shard, message);
    else
        ok = is_same || settle_or_refuse(shard, message, user, CREDENTIAL_TOKEN);
    if (ok && !is_same)
        ok = digest_make(token, bytes, &identity->digest);
    digest_wipe(token, bytes == SIZE_MAX ? sizeof token : bytes);
    return ok;
}

// Takes the connection's own credential.
static bool take_peer_credential(struct shard *shard, const struct message *message) {
    enum credential_kind kind;
    const struct user *user = peer_credential_user(shard, message->peer, &kind);
    if (user)
        return settle_or_refuse(shard, message, user, kind);
    refuse_for(shard, message, ERROR_NOT_INITIALIZED, "a credential comes first");
    message_erase(message); // the message may hold a credential in another form
    return false;
}

static bool is_child(const struct identity *identity) {
    return identity->kind == CREDENTIAL_CHILD;
}

static bool is_known(struct shard *shard, const struct message *message) {
    const struct identity *identity = identity_of(message->peer);
    enum lookup_key key;
    assert(identity && !identity->pending_refusal);
    if (!message->origin && find_credential(message, &key))
        return is_child(identity) ? take_child_credential(shard, message, key)
                                  : take_message_credential(shard, message, key);
    if (is_child(identity))
        return true;
    return identity->user || take_peer_credential(shard, message);
}

// --- Consequences

static __attribute__((noinline)) bool refuse_source_named(struct shard *shard,
                                                          const struct message *message) {
    struct span value = message->lookup.value[KEY_SOURCE_AGENT];
    char name[AGENT_ID_BYTES_MAX];
    size_t bytes;
    enum source_agent source = source_agent_read(shard, message, name, &bytes);
    if (source == SOURCE_OWN)
        authz_cache_keep_source(&shard->quota, identity_of(message->peer), &shard->agents,
                                message->body + value.at, value.bytes);
    if (source == SOURCE_FOREIGN)
        refuse_right(shard, message, RULE_SOURCE_AGENT);
    return source == SOURCE_FOREIGN;
}

static inline bool refuse_foreign_source(struct shard *shard, const struct message *message) {
    struct span value = message->lookup.value[KEY_SOURCE_AGENT];
    return lookup_has(&message->lookup, KEY_SOURCE_AGENT) && !message->origin &&
           !authz_cache_source(identity_of(message->peer), &shard->agents, message->body + value.at) &&
           refuse_source_named(shard, message);
}

bool authn_refuse_source(struct shard *shard, const struct message *message) {
    assert(message->approved);
    return refuse_foreign_source(shard, message);
}

bool authn_refuse_slow(struct shard *shard, const struct message *message) {
    assert(shard->settings->users && message->peer->state == PEER_OPEN);
    return !is_known(shard, message) || refuse_rate(shard, message) || refuse_foreign_source(shard, message);
}

void authn_meter(struct shard *shard, struct peer *peer, size_t bytes) {
    const struct user *user = identity_user(peer);
    enum account_limit limit;
    assert(bytes <= UINT32_MAX);
    if (user && authn_is_metered(user) &&
        account_lease_message(&shard->account_leases, user->account, &users_rights(user)->limits,
                              io_now(shard->io), bytes, &limit) > 0)
        identity_note_over(shard, peer);
}

void authn_charge_slow(struct shard *shard, const struct peer *peer, size_t bytes) {
    const struct identity *identity = identity_of(peer);
    const struct user *user = identity_user(peer);
    enum credential_kind kind;
    if (!user && identity && !is_child(identity)) // which may be known by what it has not been asked for yet
        user = peer_credential_user(shard, peer, &kind);
    if (user && authn_is_metered(user))
        account_lease_charge(&shard->account_leases, user->account, &users_rights(user)->limits,
                             io_now(shard->io), bytes);
}

const char *authn_fault(struct shard *shard, struct peer *peer, size_t bytes) {
    struct identity *identity = identity_of(peer);
    const struct user *user = identity->user;
    enum account_limit limit;
    assert(!identity->pending_refusal);
    if (!user && !is_child(identity)) {
        enum credential_kind kind;
        user = peer_credential_user(shard, peer, &kind);
        if (!user)
            return "not initialized: there is no credential";
        if (!settle(identity, user, kind))
            return "overloaded: this user has too many connections";
    }
    if (user && account_lease_message(&shard->account_leases, user->account, &users_rights(user)->limits,
                                      io_now(shard->io), bytes, &limit)) {
        stats_count(&shard->stats, COUNT_OVER_LIMIT);
        return limit == LIMIT_RATE ? "overloaded: over this user's rate"
                                   : "overloaded: over this user's bytes";
    }
    return NULL;
}

// --- The credential of a connection

struct search {
    const struct users *users;
    const struct user *found;
};

static bool is_users(void *context, const char *name, size_t bytes) {
    struct search *search = context;
    search->found = users_by_certificate(search->users, name, bytes);
    return search->found != NULL;
}

static void find(const struct hub_settings *settings, const struct peer *peer,
                 struct peer_credential *found) {
    const struct users *users = settings->users;
    const struct identity *identity = identity_of(peer);
    struct search search = {.users = users};
    found->kind = CREDENTIAL_CERTIFICATE;
    found->users = users;
    if (connection_certificate(&peer->connection, settings->secure, is_users, &search)) {
        found->user = search.found;
        return;
    }
    found->kind = CREDENTIAL_UID;
    found->user = identity->has_uid ? users_by_uid(users, identity->uid) : NULL;
}

const struct user *peer_credential_user(const struct shard *shard, const struct peer *peer,
                                        enum credential_kind *kind) {
    struct identity *identity = identity_of(peer);
    assert(shard->settings->users && identity);
    *kind = CREDENTIAL_NONE;
    if (!connection_established(&peer->connection) ||
        identity->kind == CREDENTIAL_HUB) // the NATS server of the link is no user
        return NULL;
    if (identity->peer_credential.users != shard->settings->users)
        find(shard->settings, peer, &identity->peer_credential);
    *kind = identity->peer_credential.kind;
    return identity->peer_credential.user;
}

const struct user *peer_credential_lookup(const struct shard *shard, const struct peer *peer,
                                          const struct user *user, enum credential_kind kind,
                                          const struct digest *digest) {
    const struct users *users = shard->settings->users;
    assert(users && user);
    switch (kind) {
    case CREDENTIAL_TOKEN:
        return users_by_digest(users, digest);
    case CREDENTIAL_UID:
    case CREDENTIAL_CERTIFICATE: {
        enum credential_kind found;
        const struct user *owner = peer_credential_user(shard, peer, &found);
        return found == kind ? owner : NULL;
    }
    case CREDENTIAL_CHILD:
    case CREDENTIAL_HUB:
        return users_by_name(users, user->name, strlen(user->name));
    case CREDENTIAL_NONE:
        break;
    }
    return NULL;
}

bool peer_credential_is_gone(const struct shard *shard, const struct peer *peer, const struct user *user,
                             enum credential_kind kind, const struct digest *digest) {
    assert(!user || identity_of(peer));
    return user && shard->settings->users && kind != CREDENTIAL_CHILD && !identity_required(peer)->revoked &&
           !identity_same(peer_credential_lookup(shard, peer, user, kind, digest), user);
}

// A connection that is too many for its user is treated as one without a credential, until its first message
// is refused for that.
static void compare(struct shard *shard, struct identity *identity, const struct user *user) {
    bool is_owner = user && identity_count_for(identity, user);
    assert(!identity->user && !identity->pending_refusal);
    if (!is_owner)
        identity_uncount(identity);
    if (is_owner == identity->has_peer_credential)
        return;
    identity->has_peer_credential = is_owner;
    list_remove(&identity->unauthenticated);
    wheel_disarm(&identity->timer);
    if (!is_owner)
        identity_wait(shard, identity);
}

void peer_credential_attach(struct shard *shard, struct peer *peer) {
    struct identity *identity = identity_of(peer);
    enum credential_kind kind;
    if (identity->is_peer_credential_checked || identity->kind == CREDENTIAL_CHILD ||
        peer->state != PEER_OPEN || !connection_established(&peer->connection))
        return;
    bool is_settled = identity->user || identity->was_known || identity->pending_refusal;
    const struct user *user = is_settled ? NULL : peer_credential_user(shard, peer, &kind);
    if (user)
        compare(shard, identity, user);
    identity->is_peer_credential_checked = !user || identity->has_peer_credential;
}

void peer_credential_review(struct shard *shard, struct peer *peer) {
    struct identity *identity = identity_of(peer);
    enum credential_kind kind;
    assert(!identity->user);
    if (identity->kind == CREDENTIAL_CHILD || identity->pending_refusal || identity->was_known ||
        !connection_established(&peer->connection))
        return;
    compare(shard, identity, peer_credential_user(shard, peer, &kind));
}
