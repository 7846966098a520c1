#include "router/transport/waiting.h"

#include <assert.h>

#include "router/transport/confirming.h"
#include "router/transport/holders.h"
#include "router/transport/inquiring.h"

// In this order: what nobody holds may have waited for the server long enough, too.
static const struct {
    void (*expire)(struct link *link);
    uint64_t (*due_ms)(const struct link *link);
} waits[] = {
    {holders_expire, holders_due_ms},
    {confirming_expire, confirming_due_ms},
    {inquiring_expire, inquiring_due_ms},
};
enum { WAITS = sizeof waits / sizeof *waits };

void waiting_expire(struct link *link) {
    for (unsigned which = 0; which < WAITS && link_is_current(link); which++)
        waits[which].expire(link);
}

uint64_t waiting_due_ms(const struct link *link) {
    uint64_t due_ms = UINT64_MAX;
    for (unsigned which = 0; which < WAITS && link_is_current(link); which++) {
        uint64_t own_ms = waits[which].due_ms(link);
        due_ms = own_ms < due_ms ? own_ms : due_ms;
    }
    assert(due_ms > shard_now_ms(link->shard)); // what was due has been dealt with
    return due_ms;
}
