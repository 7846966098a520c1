#include "router/features/http/http_authn.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "core/rights/digest.h"
#include "router/audit/audit.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/reply.h"
#include "router/features/http/http_response.h"
#include "router/features/http/websocket_transport.h"
#include "router/rights/authn.h"
#include "router/rights/authz.h"

// --- Authorization (RFC 7235, 6750 and 7617)

struct secret {
    char text[TOKEN_BYTES_MAX];
    size_t bytes; // SIZE_MAX: no token can be like this
};

static int sextet_of(uint8_t letter) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = letter ? strchr(alphabet, letter) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

// Decodes base64. Returns the bytes, or SIZE_MAX if the text is no base64 or doesn't fit.
static size_t decode_base64(const uint8_t *text, size_t bytes, char *out, size_t capacity) {
    size_t count = 0;
    uint32_t bits = 0, bit_count = 0;
    while (bytes > 0 && text[bytes - 1] == '=')
        bytes--;
    for (size_t at = 0; at < bytes; at++) {
        int sextet = sextet_of(text[at]);
        if (sextet < 0 || (bit_count >= 2 && count == capacity))
            return SIZE_MAX;
        bits = (bits << 6 | (uint32_t)sextet) & 0xffff;
        bit_count += 6;
        if (bit_count < 8)
            continue;
        bit_count -= 8;
        out[count++] = (char)(bits >> bit_count & 0xff);
    }
    return count;
}

// Reads the password of Basic as the token, and ignores the user's name.
static void read_basic(const uint8_t *text, size_t bytes, struct secret *secret) {
    assert(bytes > 0 || text);
    size_t count = decode_base64(text, bytes, secret->text, sizeof secret->text);
    char *colon = count == SIZE_MAX ? NULL : memchr(secret->text, ':', count);
    secret->bytes = SIZE_MAX;
    if (!colon)
        return;
    secret->bytes = count - (size_t)(colon + 1 - secret->text);
    memmove(secret->text, colon + 1, secret->bytes);
}

static bool begins(const uint8_t *text, size_t bytes, const char *scheme) {
    size_t count = strlen(scheme);
    return bytes > count && strncasecmp((const char *)text, scheme, count) == 0;
}

static void read_secret(const struct http_call *call, struct secret *secret) {
    struct span value = call->request.fields[HTTP_AUTHORIZATION];
    const uint8_t *text = call->head + value.at;
    static const char bearer[] = "bearer ", basic[] = "basic ";
    secret->bytes = SIZE_MAX;
    if (http_repeated(&call->request, HTTP_AUTHORIZATION))
        return;
    size_t skipped = begins(text, value.bytes, bearer) ? sizeof bearer - 1 : sizeof basic - 1;
    bool is_basic = begins(text, value.bytes, basic);
    if (!is_basic && !begins(text, value.bytes, bearer))
        return;
    for (; skipped < value.bytes && text[skipped] == ' '; skipped++)
        continue;
    size_t bytes = value.bytes - skipped;
    if (is_basic) {
        read_basic(text + skipped, bytes, secret);
    } else if (bytes <= sizeof secret->text) {
        memcpy(secret->text, text + skipped, bytes);
        secret->bytes = bytes;
    }
}

// --- Effects

static const char challenge[] = "WWW-Authenticate: Basic realm=\"patchbay\", charset=\"UTF-8\"\r\n";
static const char bearer_challenge[] = "WWW-Authenticate: Bearer realm=\"patchbay\"\r\n";

static void answer_unauthenticated(struct shard *shard, struct exchange *exchange) {
    assert(exchange && !exchange->is_ended);
    exchange->http.fields = exchange->http.uses_bearer ? bearer_challenge : challenge;
    http_answer_fault(shard, exchange, 401, "this needs a credential");
}

static void refuse_rule(struct shard *shard, struct http_call *call, enum rule rule) {
    const struct http_route *route = http_route_find(call->head, call->request.line.path);
    audit_refused_request(shard, call->peer, !route ? NULL : route->path ? route->path : "/", rule);
    if (rule != RULE_CREDENTIAL)
        http_answer_fault(shard, call->exchange, 403, rule_text(rule));
}

// Refuses a wrong credential. The answer is delayed, and is the last of the connection.
static void refuse_credential(struct shard *shard, struct http_call *call) {
    refuse_rule(shard, call, RULE_CREDENTIAL);
    call->exchange->http.closes = true;
    authn_delay(shard, call->peer, call->exchange);
}

// Refuses a connection that is over its user's limit of connections.
static void refuse_connection(struct shard *shard, const struct http_call *call, const struct user *user) {
    struct exchange *exchange = call->exchange;
    struct text data;
    assert(exchange);
    text_init(&data);
    refuse_limit_put(shard, &data, user, LIMIT_CONNECTIONS);
    exchange->http.status = 429;
    exchange->http.closes = true;
    exchange_expect(exchange);
    reply_error(shard, call->peer, (struct reply_to){.exchange = exchange}, ERROR_OVERLOADED, &data);
    exchange_close(shard, exchange);
}

static bool identify(struct shard *shard, const struct http_call *call, const struct user *user,
                     enum credential_kind kind) {
    struct identity *identity = identity_of(call->peer);
    if (!identity_count_for(identity, user)) {
        refuse_connection(shard, call, user);
        return false;
    }
    authn_identify(identity, user, kind);
    return true;
}

static bool take_secret(struct shard *shard, struct http_call *call, const struct secret *secret) {
    struct identity *identity = identity_of(call->peer);
    assert(identity && !identity->pending_refusal);
    const struct user *user =
        secret->bytes == SIZE_MAX ? NULL : authn_token(shard, secret->text, secret->bytes);
    if (user && digest_make(secret->text, secret->bytes, &identity->digest))
        return identify(shard, call, user, CREDENTIAL_TOKEN);
    refuse_credential(shard, call);
    return false;
}

bool http_admit(struct shard *shard, struct http_call *call, const struct http_route *route) {
    struct secret secret;
    if (!shard->settings->users || (route && route->is_open))
        return true;
    assert(identity_of(call->peer) && !identity_of(call->peer)->user);
    if (!http_has_field(&call->request, HTTP_AUTHORIZATION)) {
        enum credential_kind kind;
        const struct user *user = peer_credential_user(shard, call->peer, &kind);
        if (user)
            return identify(shard, call, user, kind);
        bool may_come_later = route && route->knows_later && websocket_is_upgrade(call);
        if (!may_come_later)
            answer_unauthenticated(shard, call->exchange);
        return may_come_later;
    }
    read_secret(call, &secret);
    bool ok = take_secret(shard, call, &secret);
    digest_wipe(&secret, sizeof secret);
    return ok;
}

bool http_admit_to(struct shard *shard, struct http_call *call, const struct http_route *route) {
    const struct user *user = shard->settings->users ? identity_user(call->peer) : NULL;
    if (!user)
        return true;
    if (route->is_admins && !rights_admin(user).allowed) {
        refuse_rule(shard, call, RULE_ADMIN);
        return false;
    }
    return true;
}

void http_forget_user(struct peer *peer) {
    struct identity *identity = identity_of(peer);
    if (identity && peer->transport->answers_only)
        authn_forget(identity);
}

// Erases now, since the buffer may stay unused for long, and serving moves the head's bytes.
void http_erase_credential(const struct http_call *call) {
    uint8_t *head = call->frame->buffer->bytes + call->frame->at;
    assert(head == call->head);
    if (http_has_field(&call->request, HTTP_AUTHORIZATION))
        http_erase(head, call->frame->unit, HTTP_AUTHORIZATION);
}

bool http_end(struct shard *shard, struct peer *peer, enum peer_end_reason why) {
    struct exchange *exchange = why == PEER_END_UNAUTHENTICATED ? identity_of(peer)->exchange : NULL;
    if (!exchange)
        return false;
    identity_of(peer)->exchange = NULL;
    answer_unauthenticated(shard, exchange);
    return true;
}

static void refuse_head(struct shard *shard, struct http_call *call, const struct user *user) {
    const struct http_route *route = http_route_find(call->head, call->request.line.path);
    call->exchange = http_open(shard, call->peer);
    if (!call->exchange)
        return;
    call->exchange->http.uses_bearer = route && route->uses_bearer;
    if (user) {
        refuse_connection(shard, call, user);
    } else if (http_has_field(&call->request, HTTP_AUTHORIZATION)) {
        refuse_credential(shard, call);
    } else {
        call->exchange->http.closes = true;
        answer_unauthenticated(shard, call->exchange);
    }
    if (call->peer->state == PEER_OPEN)
        peer_ended(shard, call->peer);
}

static const struct user *user_of(struct shard *shard, const struct http_call *call) {
    struct secret secret;
    read_secret(call, &secret);
    const struct user *user = secret.bytes == SIZE_MAX ? NULL : authn_token(shard, secret.text, secret.bytes);
    digest_wipe(&secret, sizeof secret);
    return user;
}

// Returns whether a body must not come in without a user. A small body is read and answered when it is whole. An open
// path needs no credential. A chunked body has no known size, and doesn't count as small.
static bool has_no_user(const struct http_call *call) {
    const struct http_route *route = http_route_find(call->head, call->request.line.path);
    const struct unit *unit = &call->peer->unit;
    return (!unit->length_known || unit->body_bytes > UNAUTHENTICATED_FRAME_BYTES_MAX) &&
           !(route && route->is_open);
}

// Judges a large body by the credential in its head. A good credential lifts the limits of unknown peers from this
// connection.
bool http_admits(struct shard *shard, struct peer *peer, const uint8_t *bytes) {
    struct http_call call = {.peer = peer, .head = bytes};
    enum credential_kind kind;
    assert(peer->state == PEER_OPEN && peer->unit.body_at > 0);
    http_read(bytes, &peer->unit, &call.request);
    bool has_credential = http_has_field(&call.request, HTTP_AUTHORIZATION);
    const struct user *user =
        has_credential ? user_of(shard, &call) : peer_credential_user(shard, peer, &kind);
    if (!user && !has_credential && !has_no_user(&call))
        return false;
    bool ok = user && identity_count_for(identity_of(peer), user);
    if (ok)
        authn_credential_accepted(identity_of(peer));
    else
        refuse_head(shard, &call, user);
    return ok;
}
