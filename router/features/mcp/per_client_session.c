#include "router/features/mcp/per_client_session.h"

#include <assert.h>
#include <signal.h>

#include "core/mcp/mcp_message.h"
#include "io/keeper.h"
#include "router/engine/shard/annex.h"
#include "router/features/children/child_mux.h"
#include "router/features/mcp/mcp_client_state.h"
#include "router/features/mcp/mcp_server_state.h"

static void per_client_session_forget(struct shard *shard, struct child *child) {
    assert(child->of && shard->index == 0);
    capabilities_drop(&shard->quota, child->opening);
    child->opening = NULL;
    child->opening_id = 0;
    child->opened = child->reopens = false;
}

// Notes another opening than before. A request that is too long, or has no memory, isn't said again.
static void note_opening(struct shard *shard, struct child *child, const struct parcel *parcel) {
    struct lookup lookup;
    per_client_session_forget(shard, child);
    if (!parcel->buffer)
        return;
    const uint8_t *body = parcel->buffer->bytes + parcel->body.at;
    lookup_body(&lookup, body, parcel->body.bytes, shard_limits(shard)->id_bytes_max);
    struct span params = lookup.value[KEY_PARAMS];
    assert(parcel->hub_id);
    if (!lookup_has(&lookup, KEY_PARAMS) || lookup.type[KEY_PARAMS] != JSON_OBJECT ||
        params.bytes > CAPABILITIES_BYTES_MAX)
        return;
    child->opening = capabilities_create(&shard->quota, body + params.at, params.bytes);
    child->opening_id = child->opening ? parcel->hub_id : 0;
}

void per_client_session_note(struct shard *shard, struct child *child, struct mcp_users *sharing,
                             struct mcp_user *user, const struct parcel *parcel) {
    struct mcp *mcp = child->seat->annex->mcp;
    assert(child->of && child->settings->protocol == CHILD_MCP);
    // The hub has asked to open it anew, and is answered first: what comes now finds it open.
    bool is_opening = child->reopens && child->state == CHILD_GREETING;
    bool is_modern = child_mux_is_modern(parcel);
    if (!parcel->hub_id || (is_opening && (is_modern || child_mux_method(parcel) == MCP_INITIALIZE)))
        return;
    if (is_modern) { // which knows no sessions: the next process speaks that
        if (!child_is_up(child) && outbox_empty(&child->seat->connection.outbox))
            per_client_session_forget(shard, child);
        return;
    }
    if (child_mux_method(parcel) == MCP_INITIALIZE) {
        note_opening(shard, child, parcel);
        if (!child_is_up(child)) { // what it has told the one before goes with that
            mcp_unsubscribe_all(sharing, user);
            if (mcp)
                mcp->level[0] = 0;
        }
        return;
    }
    mcp = mcp_server_state(shard, child);
    if (mcp)
        mcp_client_state_note_own(shard, mcp, sharing, user, parcel);
}

void per_client_session_answered(struct shard *shard, struct child *child, const struct lookup *lookup,
                                 uint64_t hub_id) {
    assert(hub_id && child->of);
    if (!child->opening || hub_id != child->opening_id)
        return;
    bool good = lookup->verdict == LOOKUP_GOOD && lookup_has(lookup, KEY_RESULT);
    child->opening_id = 0;
    child->opened = good;
    if (!good)
        per_client_session_forget(shard, child);
}

// Requests that the instance hasn't answered have failed for its user, unless they wait for the next one.
void per_client_session_rest(struct shard *shard, struct child *child) {
    assert(child->of);
    if (child->opening && !child->opened && !outbox_has(&child->seat->connection.outbox, child->opening_id))
        per_client_session_forget(shard, child);
    child->reopens = child->opened;
}

void per_client_session_reopen(struct shard *shard, struct child *child, const struct mcp_user *user,
                               const struct lookup *answer) {
    assert(child->of && child->state == CHILD_GREETING);
    if (!user || !lookup_has(answer, KEY_RESULT)) {
        child_fail(shard, child, CHILD_FAULT_REFUSED, 0);
        (void)child_command(shard, child, KEEPER_KILL, SIGKILL);
        return;
    }
    struct text told;
    text_init(&told);
    mcp_put_initialized(&told);
    child_say(shard, child, &told);
    if (child->seat->state != PEER_OPEN) // it couldn't be told so
        return;
    child_ready(shard, child, NULL, NULL);
    if (child->state == CHILD_RUNNING)
        mcp_client_state_say_own(shard, child, child->seat->annex->mcp, user);
}
