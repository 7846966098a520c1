#include "tests/sim/pack_count.h"

#include "core/send/outbox.h"

uint64_t pack_count, pack_count_requests, pack_count_answers, pack_count_taken_out;

// The last requests that were packed for a link.
enum { LAST = 512 };
static struct {
    const struct outbox *outbox;
    uint64_t hub_id;
} last[LAST];

static bool was_for_link(const struct outbox *outbox, uint64_t hub_id) {
    for (unsigned at = 0; at < LAST; at++)
        if (last[at].outbox == outbox && last[at].hub_id == hub_id)
            return true;
    return false;
}

bool __real_outbox_pack(struct outbox *outbox, struct parcel_pool *parcels, struct buffer_pool *buffers,
                        const struct frame *frame, struct span value, struct piece text, uint64_t hub_id,
                        const struct pack_envelope *envelope);
bool __wrap_outbox_pack(struct outbox *outbox, struct parcel_pool *parcels, struct buffer_pool *buffers,
                        const struct frame *frame, struct span value, struct piece text, uint64_t hub_id,
                        const struct pack_envelope *envelope);
bool __wrap_outbox_pack(struct outbox *outbox, struct parcel_pool *parcels, struct buffer_pool *buffers,
                        const struct frame *frame, struct span value, struct piece text, uint64_t hub_id,
                        const struct pack_envelope *envelope) {
    bool is_packed = __real_outbox_pack(outbox, parcels, buffers, frame, value, text, hub_id, envelope);
    pack_count += is_packed;
    bool is_request = is_packed && envelope && hub_id;
    if (is_request) {
        last[pack_count_requests % LAST].outbox = outbox;
        last[pack_count_requests % LAST].hub_id = hub_id;
    }
    pack_count_requests += is_request;
    pack_count_answers += is_packed && envelope && !hub_id;
    return is_packed;
}

bool __real_outbox_unpack(struct outbox *outbox, uint64_t hub_id);
bool __wrap_outbox_unpack(struct outbox *outbox, uint64_t hub_id);
bool __wrap_outbox_unpack(struct outbox *outbox, uint64_t hub_id) {
    bool is_taken_out = __real_outbox_unpack(outbox, hub_id);
    pack_count_taken_out += is_taken_out && was_for_link(outbox, hub_id);
    return is_taken_out;
}
