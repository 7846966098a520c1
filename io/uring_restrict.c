// Restricts a ring, which is possible once and only while the ring is disabled. After the ring is enabled, no one can
// widen the restrictions.
//
// Success: operations, flags and registrations that aren't listed fail with -EACCES. Failure: a kernel without
// restrictions leaves the ring as it is, and io_is_restricted returns false.
#include "io/uring_restrict.h"

#include <assert.h>

// Registrations that stay allowed: of the buffers, when their number changes, and of the descriptor, at its end.
static const unsigned char REGISTRATIONS[] = {IORING_REGISTER_PBUF_RING, IORING_UNREGISTER_PBUF_RING,
                                              IORING_UNREGISTER_RING_FDS};

enum { OPERATIONS_MAX = 32, RULES_MAX = sizeof REGISTRATIONS + OPERATIONS_MAX + 1 };

static unsigned list_rules(struct io_uring_restriction *rules, const unsigned char *operations,
                           unsigned operations_count) {
    unsigned count = 0;
    for (unsigned at = 0; at < sizeof REGISTRATIONS; at++)
        rules[count++] = (struct io_uring_restriction){.opcode = IORING_RESTRICTION_REGISTER_OP,
                                                       .register_op = REGISTRATIONS[at]};
    for (unsigned at = 0; at < operations_count; at++)
        rules[count++] =
            (struct io_uring_restriction){.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = operations[at]};
    rules[count++] = (struct io_uring_restriction){.opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED,
                                                   .sqe_flags = IOSQE_BUFFER_SELECT | IOSQE_CQE_SKIP_SUCCESS};
    return count;
}

// Uses io_uring_register: not every version of liburing exports its own functions for both.
int uring_restrict(struct io_uring *uring, const unsigned char *operations, unsigned count) {
    struct io_uring_restriction rules[RULES_MAX];
    unsigned descriptor = (unsigned)uring->ring_fd;
    assert(count <= OPERATIONS_MAX);
    bool restricted = io_uring_register(descriptor, IORING_REGISTER_RESTRICTIONS, rules,
                                        list_rules(rules, operations, count)) == 0;
    int result = io_uring_register(descriptor, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
    return result < 0 ? result : restricted;
}
