#include "router/engine/shard/feature_call.h"

#include <assert.h>

#include "core/base/list.h"

static const struct feature *feature_of(const struct shard *shard, unsigned kind) {
    assert(kind >= FEATURE_KINDS_FROM);
    unsigned number = (kind - FEATURE_KINDS_FROM) / FEATURE_KINDS_MAX;
    assert(feature_is_on(shard, number));
    return shard->features->by_number[number];
}

static unsigned own_kind(unsigned kind) {
    assert(kind >= FEATURE_KINDS_FROM);
    return (kind - FEATURE_KINDS_FROM) % FEATURE_KINDS_MAX;
}

void feature_take_mail(struct shard *shard, struct mail *mail) {
    feature_of(shard, mail->kind)->mail(shard, mail, own_kind(mail->kind));
}

void feature_take_timer(struct shard *shard, struct timer *timer) {
    feature_of(shard, timer->kind)->timer(shard, timer, own_kind(timer->kind));
}

void feature_take_event(struct shard *shard, const struct io_event *event) {
    unsigned kind = (unsigned)(event->token - FEATURE_TOKENS_FROM), number = kind / FEATURE_KINDS_MAX;
    assert(feature_is_on(shard, number));
    shard->features->by_number[number]->event(shard, event, kind % FEATURE_KINDS_MAX);
}

const char *feature_start(struct shard *shard) {
    const char *lack = NULL;
    assert(shard->index == 0);
    for (unsigned number = 0; number < FEATURES_MAX; number++) {
        const struct feature *feature = shard->features->by_number[number];
        const char *own = feature && feature->start ? feature->start(shard) : NULL;
        lack = lack ? lack : own;
    }
    return lack;
}
