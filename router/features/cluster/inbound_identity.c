#include "router/features/cluster/inbound_identity.h"

#include <assert.h>

#include "router/engine/shard/identity.h"
#include "router/events/events.h"
#include "router/rights/authn.h"

const struct user *inbound_identity_user(const struct shard *shard, const uint8_t *bytes,
                                         const struct hub_header *header, bool *known) {
    const struct users *users = shard->settings->users;
    const struct user *user =
        users && header->given && header->has_hub && header->user.bytes
            ? users_by_name(users, (const char *)bytes + header->user.at, header->user.bytes)
            : NULL;
    *known = !users || user;
    return user;
}

void inbound_identity_enter(struct link *link) {
    struct identity *identity = identity_of(link->peer);
    if (!identity)
        return;
    authn_shown(identity);
    identity->kind = CREDENTIAL_HUB;
    identity->looked = true;
}

void inbound_identity_begin(struct link *link, const uint8_t *bytes, const struct hub_header *header) {
    struct identity *identity = identity_of(link->peer);
    bool known;
    const struct user *user = inbound_identity_user(link->shard, bytes, header, &known);
    if (identity && user)
        authn_speaks(identity, user, CREDENTIAL_HUB);
}

// As a child that acts for nobody may only answer, so it may.
void inbound_identity_report(struct link *link) {
    struct identity *identity = identity_of(link->peer);
    assert(!identity || !identity->user);
    if (identity)
        identity->kind = CREDENTIAL_CHILD;
}

void inbound_identity_end(struct link *link) {
    struct identity *identity = identity_of(link->peer);
    if (!identity)
        return;
    events_flush(link->shard); // what is one's isn't put together with what is another's
    authn_forget(identity);
    identity->kind = CREDENTIAL_HUB;
}
