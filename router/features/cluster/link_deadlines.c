#include "router/features/cluster/link_deadlines.h"

#include <assert.h>

#include "router/features/cluster/name_claim.h"
#include "router/features/cluster/register_barrier.h"
#include "router/features/cluster/remote_directory.h"

// In this order: what nobody holds may have waited for the server long enough, too.
static const struct {
    void (*expire)(struct link *link);
    uint64_t (*due_ms)(const struct link *link);
} waits[] = {
    {name_claim_expire, name_claim_due_ms},
    {register_barrier_expire, register_barrier_due_ms},
    {remote_directory_expire, remote_directory_due_ms},
};
enum { WAITS = sizeof waits / sizeof *waits };

void link_deadlines_expire(struct link *link) {
    for (unsigned which = 0; which < WAITS; which++)
        waits[which].expire(link);
}

uint64_t link_deadlines_due_ms(const struct link *link) {
    uint64_t due_ms = UINT64_MAX;
    for (unsigned which = 0; which < WAITS; which++) {
        uint64_t own_ms = waits[which].due_ms(link);
        due_ms = own_ms < due_ms ? own_ms : due_ms;
    }
    assert(due_ms > shard_now_ms(link->shard)); // what was due has been dealt with
    return due_ms;
}
