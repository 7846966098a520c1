// What a hub says to its NATS server, and through it to other hubs, besides messages.
#pragma once

#include "router/features/cluster/link.h"
#include "router/registry/directory.h"

// Lines of the protocol, which are taken over.
void nats_write(struct link *link, struct text *lines);
void nats_write_text(struct link *link, const char *lines);
// PING, which is counted.
void nats_write_ping(struct link *link);

// --- To another hub, or to all. Each is a message without a body, unless it says so.

// Requests of that hub's were taken, as far as they have been noted.
void nats_publish_taken(struct link *link);
// One more was.
void nats_publish_note_taken(struct link *link, const struct cluster_member *hub, uint64_t number);
// A request that it took is cancelled: by its source, which still gets its answer, or because nobody waits for that any more.
void nats_publish_cancel(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t hub_id, bool is_nobodys);
// A request of its own isn't taken: who owes least here owes so much (0: there is none who might take it); or it is to be held there first.
void nats_publish_back(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number, uint32_t owed,
                       bool is_held);
// Of requests, as a list, under one of the keys of marks.
void nats_publish_list(struct link *link, const char hub[HUB_NAME_BYTES], const char *key,
                       const struct text *list);
// It is asked whether it still owes what it took; that it is gone altogether, the server says. The list is empty then.
void nats_publish_ask(struct link *link, const char hub[HUB_NAME_BYTES], struct text *list);
// All are told that this hub is there; that it goes, which is the last that it says; all are asked who took these, and the list is empty
// then.
void nats_publish_beat(struct link *link);
void nats_publish_farewell(struct link *link);
void nats_publish_seek(struct link *link, struct text *list);
// Writes a request's number at the end of a list.
void nats_publish_put_number(struct text *list, uint64_t number);

// All are asked whether they hold a name, escaped, which may be taken from them; that nobody else is there, the server says.
void nats_publish_holder(struct link *link, uint64_t number, const char *token, size_t bytes, bool takes_over,
                         const struct user *owner);
// One is told numbers of a mark, by their keys, NULL behind the last, with a body where there is one.
struct said_number {
    const char *key;
    uint64_t number;
};
void nats_publish_numbers(struct link *link, const char hub[HUB_NAME_BYTES],
                          const struct said_number *numbers, const struct text *body);

// One, or with NULL all, are told what agents here name for themselves, a token a line.
void nats_publish_names(struct link *link, const char *hub, const struct text *body);

// All are asked who is there, with this capability, escaped, or with any; and one is told, in parts, as a JSON array.
void nats_publish_inquiry(struct link *link, const struct directory_query *inquiry, const char *capability,
                          size_t bytes);
void nats_publish_part(struct link *link, const char hub[HUB_NAME_BYTES], uint64_t number, bool more,
                       bool cut, const struct text *body);
