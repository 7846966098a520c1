// What the audit journals of hubs must say in the end: each hub's has a line of whatever it has refused, whoever asked, and of what
// it held; nobody else's has that.
#include "tests/sim/clusters.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

static unsigned site_of(const struct letter *letter) {
    return stage.guests[letter->source].site;
}

static bool says(struct bit text, const char *what) {
    return text.bytes && memmem(text.bytes, text.count, what, strlen(what));
}

// Lines of refusals with this code; a line for many says how many.
static uint64_t count_refusals(struct bit text, const char *code) {
    uint64_t count = 0;
    for (const uint8_t *end; text.count && (end = memchr(text.bytes, '\n', text.count));) {
        struct bit line = {text.bytes, (size_t)(end - text.bytes)};
        struct bit kind = naive_find(line, "kind");
        if (bit_is(kind, "\"refusals\""))
            count += bit_number(naive_find(line, "count")) < 100000 ? bit_number(naive_find(line, "count"))
                                                                    : 100000;
        count += bit_is(kind, "\"refusal\"") && bit_is(naive_find(line, "code"), code);
        text.count -= line.count + 1;
        text.bytes = end + 1;
    }
    return count;
}

// That this hub has refused it is sure.
static bool was_refused_at(const struct letter *letter, unsigned site) {
    unsigned from = site_of(letter);
    if (letter->code != -32001 || letter->site_life[site] != stage.fleet.sites[site].lives)
        return false;
    if (from == site)
        return !rights_may_be(letter, from, JUDGED_ALLOWED);
    for (unsigned other = 0; other < stage.fleet.options.site_count; other++)
        if (other != site && rights_may_be(letter, other, JUDGED_REFUSED))
            return false;
    return rights_may_be(letter, site, JUDGED_REFUSED);
}

static void check_held(const struct letter *letter, unsigned tag, unsigned site, struct bit text) {
    bool is_there = says(text, letter->checkpoint);
    if (letter->site_life[site] != stage.fleet.sites[site].lives)
        return;
    if (is_there != (site_of(letter) == site) && !(is_there && letter->strange))
        letter_fails(is_there ? "another hub's journal tells of what is held"
                              : "a journal doesn't tell of what is held",
                     tag);
}

void journals_check(void) {
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++) {
        const struct site *place = &stage.fleet.sites[site];
        struct bit text = {0};
        size_t synced;
        uint64_t known = 0;
        if (!stage.journaled[site] || !place->runs || stage.had_scarce)
            continue;
        text.bytes = disk_file(place->world.kernel, 0, &text.count, &synced);
        for (unsigned tag = 0; tag < stage.letter_count; tag++) {
            const struct letter *letter = &stage.letters[tag];
            known += was_refused_at(letter, site);
            if (letter->checkpoint[0])
                check_held(letter, tag, site, text);
        }
        uint64_t told = count_refusals(text, "-32001");
        if (told < known)
            kernel_fail("the journal of hub %u tells of %u refusals, and there were %u", site, (unsigned)told,
                        (unsigned)known);
        sums.journaled += told;
    }
}
