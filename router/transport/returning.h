// Requests that this hub has offered to others: its link says that one has been taken, or is handed back, to the shard of its
// source.
#pragma once

#include "router/engine/message/message_copy.h"
#include "router/transport/link.h"

// Nobody takes it there.
void returning_back(struct link *link, struct crossing *crossing, const struct spill_reason *returned);
// Somebody has taken it: it won't be back.
void returning_taken(struct link *link, const struct crossing *crossing);
// It was refused, and a copy is to go to that hub. False: without memory for that it isn't.
bool returning_again(struct link *link, struct crossing *crossing, const char hub[HUB_NAME_BYTES]);
// MAIL_OFFER_BACK, MAIL_OFFER_TAKEN, MAIL_OFFER_AGAIN.
void returning_arrived(struct shard *shard, struct mail *mail);
