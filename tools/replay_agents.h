// Plays the targets of a recording: their capabilities, and how each request was answered.
#pragma once

#include "core/base/text.h"
#include "tools/recording.h"

// The requests of a recording, by body and by method, in the order in which the requests were sent.
struct replay_answers;

// Returns NULL without memory.
struct replay_answers *replay_answers_create(const struct recording *recording);
void replay_answers_destroy(struct replay_answers *answers);
// Returns the first request of the recording with the same body but for its id, else with the same method. Each request
// is returned once. Returns NULL if there is none.
const struct recorded_message *replay_answers_take(struct replay_answers *answers, const uint8_t *body,
                                                   uint32_t bytes, const struct lookup *found);

// Writes the params of a target's agent/register, with all names by which its requests reach it.
void replay_put_offer(struct text *params, const struct recording *recording, int32_t peer);
// Writes the answer to a request with this id, JSON, in as many bytes as were recorded, if an answer can be that short.
void replay_put_answer(struct text *body, const struct recorded_message *request, const char *id,
                       size_t id_bytes);
