// Requests that this hub has offered to others: its link says that one has been taken, or is handed back, to the shard of its
// source.
#pragma once

#include "router/engine/message/message_copy.h"
#include "router/features/cluster/link.h"

// Nobody takes it there.
void spill_report_back(struct link *link, struct outbound_request *outbound,
                       const struct spill_reason *returned);
// Somebody has taken it: it won't be back.
void spill_report_taken(struct link *link, const struct outbound_request *outbound);
// It was refused, and a copy is to go to that hub. False: without memory for that it isn't.
bool spill_report_again(struct link *link, struct outbound_request *outbound, const char hub[HUB_NAME_BYTES]);
// MAIL_OFFER_BACK, MAIL_OFFER_TAKEN, MAIL_OFFER_AGAIN.
void spill_report_arrived(struct shard *shard, struct mail *mail);
