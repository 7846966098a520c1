// The targets of a recording as a replay plays them: what they offer, and how each request was answered.
#pragma once

#include "core/base/text.h"
#include "tools/recording.h"

// Requests by their bodies and by their methods, each in the order in which they were sent.
struct replay_answers;

// NULL without memory.
struct replay_answers *replay_answers_create(const struct recording *recording);
void replay_answers_destroy(struct replay_answers *answers);
// Returns the first request of the recording that is the same but for its id, or else has the same method, and was returned
// for no other. NULL: there is none.
const struct recorded_message *replay_answers_take(struct replay_answers *answers, const uint8_t *body,
                                                   uint32_t bytes, const struct lookup *found);

// Puts the params of agent/register of a target: with all that it was found by.
void replay_put_offer(struct text *params, const struct recording *recording, int32_t peer);
// Puts the answer to a request with this id, JSON: as many bytes as were recorded, or as few as an answer has.
void replay_put_answer(struct text *body, const struct recorded_message *request, const char *id,
                       size_t id_bytes);
