#include "router/stream/parts.h"

#include <assert.h>

const char *stream_type_text(enum stream_type type) {
    static const char *const texts[TYPES_COUNT] = {
#define X(name, text) text,
        STREAM_TYPES(X)
#undef X
    };
    assert(type < TYPES_COUNT);
    return texts[type];
}

enum { TYPE_SHIFT = 53, LOD_SHIFT = 56, ENDS_SHIFT = 58 };

uint64_t given_pack(struct given given) {
    assert(given.seq >> TYPE_SHIFT == 0 && given.type < TYPES_COUNT && given.lod <= LOD_ATOMIC);
    return given.seq | (uint64_t)given.type << TYPE_SHIFT | (uint64_t)given.lod << LOD_SHIFT |
           (uint64_t)given.ends << ENDS_SHIFT;
}

struct given given_unpack(uint64_t packed) {
    return (struct given){
        .type = (enum stream_type)(packed >> TYPE_SHIFT & 7),
        .lod = (enum stream_lod)(packed >> LOD_SHIFT & 3),
        .ends = packed >> ENDS_SHIFT & 1,
        .seq = packed & ((UINT64_C(1) << TYPE_SHIFT) - 1),
    };
}
