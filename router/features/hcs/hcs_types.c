#include "router/features/hcs/hcs_types.h"

#include <assert.h>

const char *hcs_type_text(enum hcs_type type) {
    static const char *const texts[TYPES_COUNT] = {
#define X(name, text) text,
        STREAM_TYPES(X)
#undef X
    };
    assert(type < TYPES_COUNT);
    return texts[type];
}

enum { HCS_TYPE_SHIFT = 53, LOD_SHIFT = 56, ENDS_SHIFT = 58 };

uint64_t hcs_tag_pack(struct hcs_tag tag) {
    assert(tag.seq >> HCS_TYPE_SHIFT == 0 && tag.type < TYPES_COUNT && tag.lod <= LOD_ATOMIC);
    return tag.seq | (uint64_t)tag.type << HCS_TYPE_SHIFT | (uint64_t)tag.lod << LOD_SHIFT |
           (uint64_t)tag.ends << ENDS_SHIFT;
}

struct hcs_tag hcs_tag_unpack(uint64_t packed) {
    return (struct hcs_tag){
        .type = (enum hcs_type)(packed >> HCS_TYPE_SHIFT & 7),
        .lod = (enum stream_lod)(packed >> LOD_SHIFT & 3),
        .ends = packed >> ENDS_SHIFT & 1,
        .seq = packed & ((UINT64_C(1) << HCS_TYPE_SHIFT) - 1),
    };
}
