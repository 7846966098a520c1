// Questions about a user's rights in words, as `call review-1`: for people who want to know why.
#pragma once

#include "core/rights/rights.h"

struct rights_explain_answer {
    struct verdict verdict; // allowed where only `hold` was asked
    uint32_t held;          // the line whose `hold` names it, where it is allowed; 0: none does
};

// Answers VERB and its arguments, separated by blanks:
//
//     register AGENT     offer @NAME|tool:NAME|method:NAME     publish EVENT     subscribe PATTERN
//     call ADDRESS [NAME...]     the address that decides, and what else the message names, spelled as in `call`
//     hold NAME...     whether a message that names these is held, whoever may send it; event:NAME too
//     level LEVEL     admin
//
// Returns NULL, or the expected text: static.
const char *rights_explain(const struct user *user, const char *text, struct rights_explain_answer *answer);
