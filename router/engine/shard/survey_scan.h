// Scans all connections of a shard: which connections have most bytes waiting for them, and which have owed an answer
// longest. A scan runs about once a second, some connections at a time, while clients ask for the hub's state. The
// results are published (survey.h).
#pragma once

#include "router/engine/shard/shard.h"

// Requests surveys: they are made for ASKED_MS from now on.
void survey_request(struct shard *shard);
// Returns whether a survey must begin.
bool survey_due(const struct shard *shard);
// Begins a survey if one is due.
void survey_follow(struct shard *shard);
// Goes on with the survey when its timer has gone off. Returns true when all connections have been scanned. Then the
// caller must add the numbers of other modules to shard->survey.page, and call survey_finish.
bool survey_go_on(struct shard *shard);
// Publishes the results of the survey.
void survey_finish(struct shard *shard);
