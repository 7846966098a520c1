#include "router/features/observe/observe_types.h"

#include <assert.h>

#include "router/engine/shard/feature.h"
#include "router/engine/shard/shard.h"
#include "router/features/feature_list.h"
#include "router/features/observe/pending_list.h"

static bool observe_open(struct shard *shard) {
    list_init(&shard->observe.queries);
    return true;
}

static void observe_mail(struct shard *shard, struct mail *mail, unsigned kind) {
    assert(kind == OBSERVE_MAIL_PENDING);
    (void)kind;
    pending_list_arrived(shard, mail);
}

static bool observe_has_news(const struct shard *shard) {
    return !list_empty(&shard->observe.queries);
}

static const struct feature_method observe_methods[] = {
    {.name = "hub/pending", .answer = pending_list_ask, .result_grows = true},
    {.name = NULL},
};

const struct feature observe_feature = {
    .name = "observe",
    .methods = observe_methods,
    .open = observe_open,
    .mail = observe_mail,
    .turn = pending_list_go_on,
    .has_news = observe_has_news,
};
