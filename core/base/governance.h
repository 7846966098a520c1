// Governance levels, from loose to strict (HugAI v2 headers, table of section 2). Levels compare with < and >.
#pragma once

#include <stddef.h>

enum governance {
    GOVERNANCE_AUTONOMOUS,
    GOVERNANCE_SUPERVISED,
    GOVERNANCE_HUMAN,
    GOVERNANCE_MANUAL,
    GOVERNANCE_COUNT
};

// Returns the level that `text` names exactly, or GOVERNANCE_COUNT.
enum governance governance_parse(const char *text, size_t bytes);
// Returns the level's name; static.
const char *governance_text(enum governance level);
