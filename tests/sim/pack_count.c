#include "tests/sim/pack_count.h"

#include "core/send/outbox.h"

uint64_t pack_count;

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
    return is_packed;
}
