#include "router/route/across.h"

#include <assert.h>

#include "router/route/elsewhere.h"
#include "router/route/forward.h"
#include "router/shard/drop.h"

bool across_takes(struct shard *shard, const struct message *message, const struct rules_message *asked,
                  const struct rules_verdict *verdict) {
    struct elsewhere to;
    assert(verdict->error != ERROR_NONE);
    if (!elsewhere_find(shard, message, asked, verdict->error, &to))
        return false;
    struct agent *link = elsewhere_link(shard);
    enum error fault =
        link ? forward_fault(shard, message, link->home->connection) : ERROR_TARGET_DISCONNECTED;
    if (fault && verdict->error == ERROR_GOVERNANCE_VIOLATION)
        return false; // which is known, whoever else there is
    if (fault)
        elsewhere_refuse(shard, message, fault);
    else if (message_is_request(message))
        forward_request(shard, message, link, &to);
    else
        forward_notification(shard, message, link, &to);
    return true;
}

bool across_copy(struct shard *shard, const struct message *message, const struct agent *link,
                 struct parcel *parcel, const struct elsewhere *to) {
    enum error error = parcel ? elsewhere_address_copy(shard, message, parcel, to) : ERROR_OVERLOADED;
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
