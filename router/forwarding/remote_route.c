#include "router/forwarding/remote_route.h"

#include <assert.h>

#include "router/engine/message/fallback.h"
#include "router/engine/message/message_copy.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/drop.h"
#include "router/forwarding/forward.h"
#include "router/forwarding/remote_target.h"

// What can't be kept, or is too large for the server, is for who is here, if anybody is.
static bool ask(struct shard *shard, const struct message *message, struct agent *link,
                struct remote_target *to, bool is_here) {
    if (forward_request(shard, message, link, to))
        return true;
    assert(to->returns);
    if (is_here)
        return false;
    to->returns = false;
    return forward_request(shard, message, link, to);
}

// Whom it names its source may not ask, but whoever offers the method where that is nobody anywhere: so whether it is is asked.
static bool settles_denied(struct shard *shard, const struct message *message,
                           const struct rules_message *asked, struct remote_target *to) {
    const struct spill_reason *returned = message->returned;
    if (!asked->by_method_only || !to->first || !remote_target_link(shard) || !message_is_request(message))
        return false;
    if (returned && returned->probed && returned->first)
        refuse_right(shard, message, RULE_CALL);
    else if (!remote_route_probe(shard, message, to, false))
        remote_target_refuse(shard, message, ERROR_OVERLOADED);
    return true;
}

// It goes to whom it names first, or, where its source may not ask that one, whether anybody is there is asked; it is back where nobody
// is. False: it can't be kept, or is too large for the server, and nothing has changed.
static bool seek(struct shard *shard, const struct message *message, const struct rules_message *asked,
                 struct agent *link, struct remote_target *to) {
    assert(!message_is_request(message) && to->first);
    to->probes = asked->by_method_only;
    to->sought = asked->by_name_only ? 0 : fallback_keep(shard, message, to->probes);
    to->returns = to->sought != 0;
    if (to->sought && forward_notification(shard, message, link, to))
        return true;
    if (to->sought)
        fallback_forget(shard, fallback_find(shard, to->sought));
    to->sought = 0;
    to->returns = to->probes = false;
    return false;
}

// What can't be back is for who is here, if anybody is.
static bool tell(struct shard *shard, const struct message *message, const struct rules_message *asked,
                 struct agent *link, struct remote_target *to, bool is_here) {
    if (to->first && seek(shard, message, asked, link, to))
        return true;
    if (to->first && asked->by_method_only)
        remote_target_refuse(shard, message, ERROR_OVERLOADED);
    else if (is_here)
        return false;
    else
        forward_notification(shard, message, link, to);
    return true;
}

bool remote_route_takes(struct shard *shard, const struct message *message, const struct rules_message *asked,
                        const struct rules_verdict *verdict) {
    struct remote_target to;
    assert(verdict->error != ERROR_NONE || verdict->stands_in);
    if (!remote_target_find(shard, message, asked, verdict, &to))
        return false;
    if (settles_denied(shard, message, asked, &to))
        return true;
    if (!remote_target_may_go(shard, message, &to)) {
        if (verdict->error != ERROR_GOVERNANCE_VIOLATION)
            refuse_right(shard, message, RULE_CALL);
        return verdict->error != ERROR_GOVERNANCE_VIOLATION;
    }
    struct agent *link = remote_target_link(shard);
    enum error fault =
        link ? forward_fault(shard, message, link->home->connection) : ERROR_TARGET_DISCONNECTED;
    bool is_here = !verdict->error; // who stands in
    if (fault && (verdict->error == ERROR_GOVERNANCE_VIOLATION || (is_here && !link)))
        return false; // which is known, whoever else there is; or those who are here are served as ever
    if (fault)
        remote_target_refuse(shard, message, fault);
    else if (message_is_request(message))
        return ask(shard, message, link, &to, is_here);
    else
        return tell(shard, message, asked, link, &to, is_here);
    return true;
}

bool remote_route_copy(struct shard *shard, const struct message *message, const struct agent *link,
                       struct parcel *parcel, const struct remote_target *to) {
    enum error error = parcel ? remote_target_address_copy(shard, message, parcel, to) : ERROR_OVERLOADED;
    assert(!message->peer->transport->is_link);
    if (!error) {
        forward_to(shard, link->home->connection, parcel);
        return true;
    }
    drop_one(shard, error == ERROR_FRAME_TOO_LARGE ? COUNT_DROP_REFUSED : COUNT_DROP_NO_MEMORY,
             link->home->connection, message->frame->body.bytes);
    if (parcel)
        parcel_drop(parcel);
    return false;
}

bool remote_route_probe(struct shard *shard, const struct message *message, struct remote_target *to,
                        bool judged) {
    struct agent *link = remote_target_link(shard);
    assert(message_is_request(message) && !to->hub && !to->offered);
    to->probes = to->returns = true;
    to->judged = judged;
    to->kept = judged;
    return link && !forward_fault(shard, message, link->home->connection) &&
           forward_request(shard, message, link, to);
}
