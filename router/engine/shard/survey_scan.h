// Looks at all connections of a shard: for which most waits, and which owe an answer for longest. A look is
// taken about once a second while somebody asks how the hub is, some connections at a time. The results are
// published (survey.h). While nobody asks no look is taken.
#pragma once

#include "router/engine/shard/shard.h"

// Somebody wants to know: surveys are taken for some time from now on.
void survey_ask(struct shard *shard);
// Whether one should be begun.
bool survey_due(const struct shard *shard);
// Begins one that is due.
void survey_follow(struct shard *shard);
// The timer went off. True when all connections have been looked at: then survey_finish is to be called, when
// what others have to add is in shard->survey.page.
bool survey_go_on(struct shard *shard);
// Publishes what was found.
void survey_finish(struct shard *shard);
