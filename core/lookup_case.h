// Keys that differ from a guarded one in case alone. Strict validation refuses them: a reader that matches
// names without regard to case (several JSON libraries do) would take them for the guarded key.
#pragma once

#include "core/lookup.h"

// The guarded key of the level that `string`, a valid JSON string that isn't that key, means but for its
// case; LOOKUP_KEYS_COUNT when there is none. Escapes count as what they mean. Case is that of ASCII, and of
// the two characters beyond it that Unicode folds into ASCII letters: U+017F to s, U+212A to k.
enum lookup_key lookup_key_but_case(unsigned level, const uint8_t *text, struct span string);
