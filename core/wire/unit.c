#include "core/wire/unit.h"

#include <assert.h>

const char *unit_fault_text(enum unit_fault fault) {
    static const char *const texts[UNIT_FAULTS_COUNT] = {
#define X(name, text) [name] = (text),
        UNIT_FAULTS(X)
#undef X
    };
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT);
    return texts[fault];
}

bool unit_fault_is_limit(enum unit_fault fault) {
    assert(fault > UNIT_FAULT_NONE && fault < UNIT_FAULTS_COUNT);
    return fault == UNIT_FAULT_HEADER_TOO_LARGE || fault == UNIT_FAULT_BODY_TOO_LARGE;
}
