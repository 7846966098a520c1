#include "router/route/settled.h"

#include <assert.h>

#include "router/request/refuse.h"
#include "router/request/sought.h"
#include "router/route/returned.h"
#include "router/route/routing.h"
#include "router/shard/drop.h"
#include "router/shard/post.h"

static void make(struct message *message, struct peer *peer, struct offered *offered,
                 const struct returned *returned) {
    message_begin(message, peer, NULL);
    message->frame = &offered->frame;
    message->body = frame_body(&offered->frame);
    message->approved = offered->approved;
    message->audit = offered->audit;
    message->returned = returned;
    lookup_body(&message->lookup, message->body, message->frame->body.bytes, 0);
    assert(message->lookup.verdict == LOOKUP_GOOD && !message_is_request(message));
}

static void go_on(struct shard *shard, struct peer *peer, struct offered *offered, bool asks) {
    struct returned returned = {.nobody = true, .sought = true, .probed = asks, .given = offered->given};
    struct message message;
    make(&message, peer, offered, &returned);
    returned_route(shard, &message, offered);
}

// Somebody is there whom it names, and whom its source may not ask.
static void refuse_asked(struct shard *shard, struct peer *peer, struct offered *offered) {
    struct returned returned = {.sought = true, .given = offered->given};
    struct message message;
    make(&message, peer, offered, &returned);
    routing_read_method(&message);
    refuse_right(shard, &message, RULE_CALL);
}

// `end` is what is known of it.
static void settle(struct shard *shard, struct sought *sought, enum sought_end end) {
    struct peer *peer = peer_find(shard, sought->source);
    struct offered *offered = sought->message;
    if (peer && end == SOUGHT_NOBODY)
        go_on(shard, peer, offered, sought->asks);
    else if (peer && end == SOUGHT_SOMEBODY && sought->asks)
        refuse_asked(shard, peer, offered);
    else if (end == SOUGHT_NOBODY || sought->asks)
        drop_one(shard, COUNT_DROP_NO_ROUTE, sought->source, offered->frame.body.bytes);
    sought_forget(shard, sought);
}

void settled_take(struct shard *shard, struct mail *mail) {
    struct sought *sought = sought_find(shard, mail->connection);
    enum sought_end end = (enum sought_end)mail->detail;
    assert(mail->kind == MAIL_SOUGHT && !shard->run.count);
    kept_give(&shard->kept, mail);
    if (sought)
        settle(shard, sought, end);
    else if (end == SOUGHT_NOBODY)
        drop_one(shard, COUNT_DROP_NO_ROUTE, 0, 0);
}

void settled_route(struct shard *shard) {
    for (struct mail *mail; (mail = shard->sought.settled);) {
        shard->sought.settled = mail->next;
        if (!shard->sought.settled)
            shard->sought.settled_last = NULL;
        settled_take(shard, mail);
    }
}
