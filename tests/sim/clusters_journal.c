// What the audit journals of hubs must say in the end. Each hub's journal has a line of each refusal, whoever asked,
// and of each held message. No other hub's journal has these lines.
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

// Returns whether a line is about somebody who has come to the hub himself, and said so.
static bool is_of_guest(struct bit line) {
    struct bit connection = naive_find(line, "source.connection");
    for (unsigned at = 0; at < stage.session_count; at++)
        if (bit_is(connection, stage.sessions[at]))
            return true;
    return false;
}

// Lines of refusals of who isn't allowed something: of guests, or of all others (what came from other hubs, and over
// HTTP). A line for many refusals says how many.
static uint64_t count_refusals(struct bit text, bool guests) {
    uint64_t count = 0;
    for (const uint8_t *end; text.count && (end = memchr(text.bytes, '\n', text.count));) {
        struct bit line = {text.bytes, (size_t)(end - text.bytes)}, kind = naive_find(line, "kind");
        if (bit_is(kind, "\"refusals\""))
            count += bit_number(naive_find(line, "count"));
        count += bit_is(kind, "\"refusal\"") && bit_is(naive_find(line, "code"), "-32001") &&
                 is_of_guest(line) == guests;
        text.count -= line.count + 1;
        text.bytes = end + 1;
    }
    return count;
}

static bool was_refused_at(const struct letter *letter, unsigned site) {
    return letter->code == -32001 && letter->refused_by == (int)site &&
           letter->site_life[site] == stage.fleet.sites[site].lives;
}

static void check_held(const struct letter *letter, unsigned tag, unsigned site, struct bit text) {
    bool is_there = says(text, letter->checkpoint);
    if (letter->site_life[site] != stage.fleet.sites[site].lives)
        return;
    if (!is_there && gate_site(letter) == site)
        letter_fails("a journal doesn't tell of what is held", tag);
}

static void check_refusals(unsigned site, struct bit text) {
    for (unsigned guests = 0; guests < 2; guests++) {
        uint64_t known = 0, told = count_refusals(text, guests);
        for (unsigned tag = 0; tag < stage.letter_count; tag++) {
            const struct letter *letter = &stage.letters[tag];
            bool is_own = site_of(letter) == site && !letter->by_call;
            known += is_own == guests && was_refused_at(letter, site);
        }
        if (told < known)
            kernel_fail("the journal of hub %u tells of %u refusals of %s, and there were %u", site,
                        (unsigned)told, guests ? "its guests" : "others", (unsigned)known);
        sums.journaled += told;
    }
}

void journals_check(void) {
    for (unsigned site = 0; site < stage.fleet.options.site_count; site++) {
        const struct site *place = &stage.fleet.sites[site];
        struct bit text = {0};
        size_t synced;
        if (!stage.journaled[site] || !place->runs || stage.had_scarce)
            continue;
        text.bytes = disk_file(place->world.kernel, 0, &text.count, &synced);
        check_refusals(site, text);
        for (unsigned tag = 0; tag < stage.letter_count; tag++)
            if (stage.letters[tag].checkpoint[0])
                check_held(&stage.letters[tag], tag, site, text);
    }
}
