// Answers questions about a user's rights in words, such as `call review-1`, for people who want to know the reason.
#pragma once

#include "core/rights/rights.h"

struct rights_explain_answer {
    struct verdict verdict; // always allowed for a question of `hold`
    uint32_t held;          // the line of the matching `hold`, if the message is allowed; 0: none
};

// Answers a question: a verb and its arguments, separated by blanks.
//
//     register AGENT     offer @NAME|tool:NAME|method:NAME     publish EVENT     subscribe PATTERN
//     call ADDRESS [NAME...]     the address and the message's other names, spelled as in `call`
//     hold NAME...     whether a message with these names is held, from any sender; event:NAME too
//     level LEVEL     admin
//
// Returns NULL, or the expected text: static.
const char *rights_explain(const struct user *user, const char *text, struct rights_explain_answer *answer);
