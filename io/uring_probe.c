#include <errno.h>

#include "io/sandbox_layer.h"
#include "io/uring_ring.h"

bool sandbox_ring_holds(void) {
    struct ring ring;
    const char *why;
    if (ring_open(&ring, true, &why) < 0)
        return false;
    struct io_uring_cqe *completion = NULL;
    io_uring_prep_nop(ring_note(&ring));
    ring_enter(&ring, 0, 0);
    bool refused = io_uring_peek_cqe(&ring.uring, &completion) == 0 && completion->res == -EACCES;
    ring_close(&ring);
    return refused;
}
