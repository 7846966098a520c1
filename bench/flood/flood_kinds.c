// The floods. Success: each goes round after round. Failure: see flood.c.
#include "bench/flood/flood_kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUBSCRIBERS = 5000,
    EVENTS_A_ROUND = 2000,
    REGISTRARS = 8,
    AGENTS_EACH = 60,
    METHODS_EACH = 1000,
    BODY_SIDES = 4,
    BODY_BYTES = 16 * 1000 * 1000,
    LEFT_PENDING = 60000,
    RECORDERS = 4,
    ENTRIES_A_ROUND = 8,
    ENTRY_BYTES = 1000 * 1000,
    TEXT_BYTES_MAX = 64 * 1024,
};

static bool add_text(struct flood *flood, uint32_t script, const char *text) {
    return flood_script_add(flood, script, text, strlen(text));
}

// --- Nobody

static bool open_none(struct flood *flood) {
    return flood->fault == NULL;
}

static void begin_none(struct flood *flood) {
    (void)flood;
}

static void hear_none(struct flood *flood, struct flood_side *side, uint64_t frames) {
    (void)side;
    flood->done += frames;
}

static const struct flood_kind none = {"none", "nothing", open_none, begin_none, hear_none};

// --- Tiny events to many. The last side publishes.

static bool open_events(struct flood *flood) {
    static const char event[] = "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"event\":\"flood\"}}";
    if (!flood_sides(flood, SUBSCRIBERS + 1) || !flood_scripts(flood, 1)) {
        return false;
    }
    for (uint32_t n = 0; n < EVENTS_A_ROUND; n++) {
        add_text(flood, 0, event);
    }
    for (uint32_t index = 0; index < SUBSCRIBERS && flood->fault == NULL; index++) {
        flood->sides[index].frame_bytes = (uint32_t)(flood->script_bytes[0] / EVENTS_A_ROUND);
        flood_dial(flood, &flood->sides[index], "hub/subscribe", "{\"events\":[\"flood\"]}");
    }
    return flood->fault == NULL && flood_dial(flood, &flood->sides[SUBSCRIBERS], NULL, NULL);
}

static void begin_events(struct flood *flood) {
    flood->owed = (uint64_t)SUBSCRIBERS * EVENTS_A_ROUND;
    flood_say(flood, &flood->sides[SUBSCRIBERS], 0);
}

static void hear_events(struct flood *flood, struct flood_side *side, uint64_t frames) {
    (void)side;
    flood->done += frames;
    flood->owed -= frames;
    if (flood->owed == 0) {
        begin_events(flood);
    }
}

static const struct flood_kind events = {"events", "events delivered", open_events, begin_events,
                                         hear_events};

// --- Agents with many methods, over and over: what each connection sends is a script of its own.

static void write_registration(char *text, uint32_t side, uint32_t agent) {
    size_t at = (size_t)snprintf(text, TEXT_BYTES_MAX,
                                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/register\",\"params\":{"
                                 "\"agentId\":\"flood-%u-%u\",\"capabilities\":{\"methods\":[",
                                 agent, side, agent);
    for (uint32_t method = 0; method < METHODS_EACH; method++) {
        at += (size_t)snprintf(text + at, TEXT_BYTES_MAX - at, "%s\"flood-%u-%u/method-%u\"",
                               method ? "," : "", side, agent, method);
    }
    snprintf(text + at, TEXT_BYTES_MAX - at, "]}}}");
}

static bool open_registrations(struct flood *flood) {
    char *text = malloc(TEXT_BYTES_MAX);
    bool good = text != NULL && flood_sides(flood, REGISTRARS) && flood_scripts(flood, REGISTRARS);
    for (uint32_t index = 0; good && index < REGISTRARS; index++) {
        for (uint32_t agent = 0; good && agent < AGENTS_EACH; agent++) {
            write_registration(text, index, agent);
            good = add_text(flood, index, text);
        }
        good = good && flood_dial(flood, &flood->sides[index], NULL, NULL);
    }
    free(text);
    return good;
}

static void say_and_wait(struct flood *flood, struct flood_side *side, uint64_t answers) {
    side->owed = answers;
    flood_say(flood, side, side->index);
}

static void begin_registrations(struct flood *flood) {
    for (uint32_t index = 0; index < REGISTRARS; index++) {
        say_and_wait(flood, &flood->sides[index], AGENTS_EACH);
    }
}

static void hear_registered(struct flood *flood, struct flood_side *side, uint64_t frames) {
    flood->done += frames;
    side->owed -= frames;
    if (side->owed == 0) {
        say_and_wait(flood, side, AGENTS_EACH);
    }
}

static const struct flood_kind registrations = {"registrations", "agents registered", open_registrations,
                                                begin_registrations, hear_registered};

// --- Bodies as large as they may be: side 2n sends to side 2n + 1, the next one when that has all of it.

static bool open_bodies(struct flood *flood) {
    char *text = malloc(BODY_BYTES + 1), params[64];
    bool good = text != NULL && flood_sides(flood, 2 * BODY_SIDES) && flood_scripts(flood, 2 * BODY_SIDES);
    for (uint32_t index = 0; good && index < 2 * BODY_SIDES; index += 2) {
        size_t at = (size_t)snprintf(text, BODY_BYTES,
                                     "{\"jsonrpc\":\"2.0\",\"method\":\"agent/request\",\"params\":{"
                                     "\"targetAgent\":\"flood-body-%u\",\"fill\":\"",
                                     index);
        memset(text + at, 'x', BODY_BYTES - at - 3);
        memcpy(text + BODY_BYTES - 3, "\"}}", 3);
        snprintf(params, sizeof params, "{\"agentId\":\"flood-body-%u\",\"capabilities\":{}}", index);
        good = flood_script_add(flood, index, text, BODY_BYTES) &&
               flood_dial(flood, &flood->sides[index], NULL, NULL) &&
               flood_dial(flood, &flood->sides[index + 1], "agent/register", params);
    }
    free(text);
    return good;
}

static void begin_bodies(struct flood *flood) {
    for (uint32_t index = 0; index < 2 * BODY_SIDES; index += 2) {
        flood_say(flood, &flood->sides[index], index);
    }
}

static void hear_body(struct flood *flood, struct flood_side *side, uint64_t frames) {
    flood->done += frames;
    flood_say(flood, &flood->sides[side->index - 1], side->index - 1);
}

static const struct flood_kind bodies = {"bodies", "bodies of 16 MB", open_bodies, begin_bodies, hear_body};

// --- A source that leaves with much under way: side 0 is asked and never answers, side 1 asks and goes.

static bool write_requests(struct flood *flood) {
    char text[256];
    if (!flood_sides(flood, 2) || !flood_scripts(flood, 1)) {
        return false;
    }
    for (uint32_t id = 0; id < LEFT_PENDING; id++) {
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/request\",\"params\":{"
                 "\"targetAgent\":\"flood-asked\"}}",
                 id);
        add_text(flood, 0, text);
    }
    return flood->fault == NULL;
}

static bool dial_asked(struct flood *flood) {
    return flood_dial(flood, &flood->sides[0], "agent/register",
                      "{\"agentId\":\"flood-asked\",\"capabilities\":{}}");
}

static bool open_leaving(struct flood *flood) {
    return write_requests(flood) && dial_asked(flood);
}

static void begin_leaving(struct flood *flood) {
    flood->owed = LEFT_PENDING;
    flood->leaves = true;
    if (flood_dial(flood, &flood->sides[1], NULL, NULL)) {
        flood_say(flood, &flood->sides[1], 0);
    }
}

// First what was asked, then as many cancels.
static void hear_asked(struct flood *flood, struct flood_side *side, uint64_t frames) {
    if (side->index == 1) {
        flood_fail(flood, "a request was refused");
        return;
    }
    flood->owed -= frames;
    flood->done += flood->leaves ? frames : 0;
    if (flood->owed == 0 && flood->leaves) {
        flood_hang_up(flood, &flood->sides[1]);
        flood->owed = LEFT_PENDING;
        flood->leaves = false;
    } else if (flood->owed == 0) {
        begin_leaving(flood);
    }
}

static const struct flood_kind leaving = {"leaving", "requests asked and abandoned", open_leaving,
                                          begin_leaving, hear_asked};

// --- An agent that leaves with much under way: side 0, again, side 1 asks.

static bool open_deserting(struct flood *flood) {
    return write_requests(flood) && flood_dial(flood, &flood->sides[1], NULL, NULL);
}

static void begin_deserting(struct flood *flood) {
    flood->owed = LEFT_PENDING;
    if (dial_asked(flood)) {
        flood_say(flood, &flood->sides[1], 0);
    }
}

// Side 0 hears what is asked, then side 1 as many errors.
static void hear_deserted(struct flood *flood, struct flood_side *side, uint64_t frames) {
    flood->done += side->index == 1 ? frames : 0;
    flood->owed -= frames;
    if (flood->owed == 0 && side->index == 0) {
        flood_hang_up(flood, side);
        flood->owed = LEFT_PENDING;
    } else if (flood->owed == 0) {
        begin_deserting(flood);
    }
}

static const struct flood_kind deserting = {"deserting", "requests asked and deserted", open_deserting,
                                            begin_deserting, hear_deserted};

// --- Large entries for the journal

static bool open_journal(struct flood *flood) {
    char *text = malloc(ENTRY_BYTES + 1);
    bool good = text != NULL && flood_sides(flood, RECORDERS) && flood_scripts(flood, RECORDERS);
    for (uint32_t index = 0; good && index < RECORDERS; index++) {
        size_t at = (size_t)snprintf(
            text, ENTRY_BYTES,
            "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"audit/log\",\"params\":{\"action\":\"flood\","
            "\"actor\":\"flood\",\"timestamp\":\"2000-01-01T00:00:00Z\",\"context\":\"",
            index);
        memset(text + at, 'x', ENTRY_BYTES - at - 3);
        memcpy(text + ENTRY_BYTES - 3, "\"}}", 3);
        for (uint32_t n = 0; good && n < ENTRIES_A_ROUND; n++) {
            good = flood_script_add(flood, index, text, ENTRY_BYTES);
        }
        good = good && flood_dial(flood, &flood->sides[index], NULL, NULL);
    }
    free(text);
    return good;
}

static void begin_journal(struct flood *flood) {
    for (uint32_t index = 0; index < RECORDERS; index++) {
        say_and_wait(flood, &flood->sides[index], ENTRIES_A_ROUND);
    }
}

static void hear_logged(struct flood *flood, struct flood_side *side, uint64_t frames) {
    flood->done += frames;
    side->owed -= frames;
    if (side->owed == 0) {
        say_and_wait(flood, side, ENTRIES_A_ROUND);
    }
}

static const struct flood_kind journal = {"journal", "entries logged", open_journal, begin_journal,
                                          hear_logged};

const struct flood_kind *const flood_kinds[] = {&none,    &events,    &registrations, &bodies,
                                                &leaving, &deserting, &journal,       NULL};

const struct flood_kind *flood_named(const char *name) {
    const struct flood_kind *const *kind = flood_kinds;
    while (*kind != NULL && strcmp((*kind)->name, name) != 0) {
        kind++;
    }
    return *kind;
}
