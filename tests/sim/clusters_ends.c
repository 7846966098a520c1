// Requests and notifications from one connection to one agent. The order in which they come, the end of cancelled ones,
// and the time when all have ended.
#include "tests/sim/clusters.h"

#include "tests/sim/kernel.h"

// Letters from one connection to one agent come in the order in which they were sent, but for letters that were held.
static void check_order(unsigned by, const struct letter *letter) {
    unsigned tag = (unsigned)(letter - stage.letters);
    int *last = &stage.guests[by].worked[letter->source];
    if (letter->address != TO_AGENT || letter->by_call || letter->checkpoint[0] || gate_may_hold(letter))
        return;
    const struct letter *before = *last >= 0 ? &stage.letters[*last] : NULL;
    if (*last > (int)tag && stage_still(letter->epoch) && before->epoch == letter->epoch)
        letter_fails("a message came behind one that was said later", tag);
    if (*last < (int)tag)
        *last = (int)tag;
}

void letter_comes(unsigned by, const struct letter *letter) {
    if (letter->ended && letter->code == -32800)
        letter_fails("a request came that had been taken back", (unsigned)(letter - stage.letters));
    check_order(by, letter);
}

bool letter_waits(unsigned tag) {
    const struct letter *letter = &stage.letters[tag];
    const struct guest *source = &stage.guests[letter->source];
    bool there = source->http_owner.cable && source->life == letter->life;
    return letter->kind == KIND_REQUEST && there && letter->ended != 1;
}

void letter_check(unsigned tag) {
    if (letter_waits(tag))
        letter_fails("a request has not ended", tag);
}

void letter_check_known(unsigned tag) {
    const struct letter *letter = &stage.letters[tag];
    const struct guest *source = &stage.guests[letter->source];
    bool waits = letter->kind == KIND_REQUEST && !letter->ended && source->life == letter->life;
    if (waits && letter->address == TO_NOBODY && source->http_owner.cable && letter->sure &&
        !letter->by_call && stage_still(letter->epoch) && !gate_may_hold(letter))
        letter_fails("a request isn't told that nobody is there", tag);
}
