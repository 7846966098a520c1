#include "tests/sim/clusters.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

enum { BIG_BYTES = 40000, FIELDS_BYTES = 512 };

const char *const cluster_patterns[PATTERNS] = {"e-*", "e-1", "e*", "*", "f", "e-2"};

static const char *const levels[] = {"autonomous", "supervised", "human-in-the-loop", "manual"};

static bool anybody_claims(unsigned name) {
    for (unsigned by = 0; by < stage.guest_count; by++)
        if (stage.guests[by].claims[name].open)
            return true;
    return false;
}

// --- Saying

void guest_say(struct guest *guest, const char *fields, const char *body) {
    if (guest->http_owner.cable)
        voice_write(&guest->http_owner, body, strlen(body), fields);
}

__attribute__((format(printf, 2, 3))) static void say(struct guest *guest, const char *format, ...) {
    char body[1024];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    if (count < 0 || (size_t)count >= sizeof body)
        abort();
    guest_say(guest, "", body);
}

// --- Coming and leaving

static void show_itself(struct guest *guest) {
    char token[MODEL_TOKEN_BYTES];
    if (guest->user == NOBODY)
        return;
    guest->generation = rights_generation(guest->site, guest->user);
    model_token((unsigned)guest->user, 0, guest->generation, token);
    say(guest, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"initialize\",\"params\":{\"token\":\"%s\"}}",
        ID_ENTER, token);
}

// Patterns overlap, so that one event may come by several.
static void subscribe(unsigned by) {
    struct guest *guest = &stage.guests[by];
    char list[128] = "";
    size_t count = 0;
    if (by % 2 == 0 || stage.no_events)
        return;
    guest->wanted = random_chance(&stage.random, 500) ? 7 : 1 + random_below(&stage.random, 63);
    for (unsigned at = 0; at < PATTERNS; at++)
        if (guest->wanted >> at & 1)
            count += (size_t)snprintf(list + count, sizeof list - count, "%s\"%s\"", count ? "," : "",
                                      cluster_patterns[at]);
    say(guest, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"hub/subscribe\",\"params\":{\"events\":[%s]}}",
        ID_SUBSCRIBE, list);
}

void guest_enter(unsigned by) {
    struct guest *guest = &stage.guests[by];
    struct site *site = &stage.fleet.sites[guest->site];
    if (guest->http_owner.cable || !site->runs)
        return;
    enum way way = random_chance(&stage.random, 600)   ? FRAMES
                   : random_chance(&stage.random, 500) ? LINES
                                                       : SOCKET;
    guest->life++;
    if (!voice_dial(&guest->http_owner, &site->world, way))
        return;
    voice_greet(&guest->http_owner);
    guest->user = rights_any_user(by);
    for (unsigned source = 0; source < GUESTS_MAX; source++)
        guest->last[source] = guest->worked[source] = -1;
    for (unsigned tag = 0; tag < stage.letter_count; tag++) {
        stage.letters[tag].got &= ~(UINT32_C(1) << by);
        stage.letters[tag].noticed &= ~(UINT32_C(1) << by);
        stage.letters[tag].asked_by &= ~(UINT32_C(1) << by);
    }
    show_itself(guest);
    subscribe(by);
    gate_watch(by);
    stage_disturb(false);
}

void guest_leave(unsigned by) {
    struct guest *guest = &stage.guests[by];
    if (!guest->http_owner.cable)
        return;
    call_leave(by);
    cable_reset(guest->http_owner.cable);
    cable_close(guest->http_owner.cable);
    guest->http_owner = (struct voice){0};
    guest->count = guest->late_count = guest->listening = guest->wanted = 0;
    guest->lists_asked = guest->lists_got = 0;
    guest->entered = guest->watching = guest->hears = false;
    for (unsigned name = 0; name < NAMES; name++)
        if (guest->holds[name] || guest->claims[name].open)
            stage.freed_ns[name] = stage.fleet.now_ns;
    memset(guest->holds, 0, sizeof guest->holds);
    memset(guest->claims, 0, sizeof guest->claims);
    stage_disturb(false);
}

void guest_list(unsigned by) {
    struct guest *guest = &stage.guests[by];
    guest->lists_asked += guest->http_owner.cable != NULL;
    say(guest, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"hub/agents\",\"params\":{\"cluster\":true}}",
        ID_LIST);
}

// --- Names

void guest_claim(unsigned by, unsigned name) {
    struct guest *guest = &stage.guests[by];
    struct claim *claim = &guest->claims[name];
    if (!guest->http_owner.cable || claim->open || guest->holds[name] || guest->site == stage.apart)
        return;
    unsigned holder = stage_holder(name);
    if (stage.no_names && (holder < stage.guest_count || anybody_claims(name)))
        return;
    bool sure = stage_is_well() && !anybody_claims(name);
    stage_disturb(false);
    *claim = (struct claim){true,
                            stage.epoch,
                            sure && holder < stage.guest_count,
                            sure && holder == stage.guest_count,
                            stage.fleet.now_ns,
                            .edition = stage.edition[guest->site]};
    claim->offers = random_chance(&stage.random, 700) ? OFFERS_ALL : random_below(&stage.random, 16);
    claim->level = random_chance(&stage.random, 600) ? 0 : (int)random_below(&stage.random, 4);
    bool orders = orders_are_offered(name, claim->offers);
    say(guest,
        "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/register\",\"params\":{\"agentId\":\"%s\","
        "\"governanceLevel\":\"%s\",\"capabilities\":{%s%s\"tasks\":[%s],\"methods\":[%s%s],\"events\":[%s]}}"
        "}",
        NAME_IDS + name, model_agents[name], levels[claim->level],
        claim->offers & OFFERS_STREAMS ? "\"hcs\":true," : "",
        orders && name == NAME_COMMAND ? "\"commands\":[\"known\"]," : "",
        claim->offers & OFFERS_TEAM ? "\"c1\"" : "", claim->offers & OFFERS_METHODS ? "\"m/1\",\"m/2\"" : "",
        orders && name == NAME_ORDERS ? ",\"command/execute\"" : "",
        claim->offers & OFFERS_TELLING ? "{\"name\":\"m/2\"}" : "");
}

void guest_unclaim(unsigned by, unsigned name) {
    struct guest *guest = &stage.guests[by];
    if (!guest->http_owner.cable || !guest->holds[name])
        return;
    guest->holds[name] = false;
    stage.freed_ns[name] = stage.fleet.now_ns;
    stage_disturb(false);
    say(guest,
        "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"agent/unregister\",\"params\":{\"agentId\":\"%s\"}}",
        ID_UNREGISTER, model_agents[name]);
}

// --- Messages

const char *letter_method(const struct letter *letter) {
    return letter->kind == KIND_NEWS ? "event" : letter->address == TO_ALL ? "m/2" : "m/1";
}

const char *letter_event(const struct letter *letter) {
    return model_events[(unsigned)(letter - stage.letters) % 3];
}

// Returns whether this name of a guest's may be among those that a message is for.
static bool is_meant(const struct letter *letter, unsigned by, unsigned name) {
    const struct guest *guest = &stage.guests[by];
    if (!guest->holds[name])
        return false;
    switch (letter->address) {
    case TO_AGENT:
        return name == letter->name;
    case TO_TEAM:
        return by != letter->source && guest->offers[name] & OFFERS_TEAM;
    case TO_METHOD:
        return by != letter->source && guest->offers[name] & OFFERS_METHODS;
    default:
        return by != letter->source && guest->offers[name] & OFFERS_TELLING;
    }
}

bool letter_is_peopled(const struct letter *letter) {
    unsigned meant = 0;
    if (letter->address == TO_KID)
        return stage.fleet.sites[letter->name].runs && !letter->level &&
               kids_serve(letter->name, stage.guests[letter->source].site);
    unsigned from = stage.guests[letter->source].site;
    for (unsigned by = 0; by < stage.guest_count; by++)
        for (unsigned name = 0; name < NAMES; name++) {
            const struct guest *guest = &stage.guests[by];
            if (!is_meant(letter, by, name) || !stage_together(guest->site, from))
                continue;
            bool is_group = letter->address != TO_AGENT;
            bool reached = !is_group || (rights_may_reach(letter, guest->site, name) &&
                                         rights_may_reach(letter, from, name));
            if (!reached || letter->level > guest->levels[name])
                return false;
            meant++;
        }
    return meant > 0;
}

bool guest_wants(unsigned by, const struct letter *letter) {
    const struct guest *guest = &stage.guests[by];
    for (unsigned at = 0; letter->kind == KIND_NEWS && at < PATTERNS; at++)
        if (guest->listening >> at & 1 && model_matches(cluster_patterns[at], letter_event(letter)))
            return true;
    for (unsigned name = 0; letter->kind == KIND_NOTE && letter->address == TO_ALL && name < NAMES; name++)
        if (is_meant(letter, by, name) && rights_may_reach(letter, guest->site, name) &&
            rights_may_reach(letter, stage.guests[letter->source].site, name))
            return true;
    return false;
}

static void compose(char *body, size_t room, const struct letter *letter, unsigned tag) {
    static char filler[BIG_BYTES];
    char id[32] = "", where[64] = "";
    const char *token = letter->bare ? "" : "\"workDoneToken\":\"t\",";
    size_t count = letter->big ? BIG_BYTES - 1 : random_below(&stage.random, 200);
    memset(filler, 'x', count);
    filler[count] = '\0';
    if (letter->kind == KIND_REQUEST)
        snprintf(id, sizeof id, "\"id\":%u,", tag);
    if (letter->kind == KIND_NEWS)
        snprintf(where, sizeof where, "\"event\":\"%s\",", letter_event(letter));
    else if (letter->address == TO_AGENT)
        snprintf(where, sizeof where, "\"targetAgent\":\"%s\",", model_agents[letter->name]);
    else if (letter->address == TO_TEAM)
        snprintf(where, sizeof where, "\"targetAgent\":\"@c1\",");
    else if (letter->address == TO_NOBODY)
        snprintf(where, sizeof where, "\"targetAgent\":\"nobody\",");
    else if (letter->address == TO_KID)
        snprintf(where, sizeof where, "\"targetAgent\":\"kid-%u\",", letter->name);
    snprintf(body, room, "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\",\"params\":{\"tag\":%u,%s%s\"x\":\"%s\"}}",
             id, letter_method(letter), tag, where, token, filler);
}

// Some letters bear fields that hubs alone may write.
static void compose_fields(char fields[FIELDS_BYTES], const struct letter *letter) {
    size_t count = 0;
    fields[0] = '\0';
    if (letter->timed)
        count += (size_t)snprintf(fields + count, FIELDS_BYTES - count, "Custom-Timeout-Ms: 3000\r\n");
    if (letter->level)
        count += (size_t)snprintf(fields + count, FIELDS_BYTES - count, "Governance-Level: %s\r\n",
                                  levels[letter->level]);
    if (random_chance(&stage.random, 50))
        count += (size_t)snprintf(fields + count, FIELDS_BYTES - count, "Patchbay-User: user-x\r\n");
    if (random_chance(&stage.random, 30))
        snprintf(fields + count, FIELDS_BYTES - count,
                 "Patchbay: 00112233445566778899aabbccddeeff-1 time=1 user=user-x agent=a-1\r\n");
}

static void send_letter(unsigned by, enum kind kind, enum recipient address, unsigned name, bool bare) {
    static char body[BIG_BYTES + 1024];
    char fields[FIELDS_BYTES];
    struct guest *guest = &stage.guests[by];
    if (!guest->http_owner.cable || stage.letter_count == LETTERS_MAX)
        return;
    unsigned tag = stage.letter_count++;
    struct letter *letter = &stage.letters[tag];
    *letter = (struct letter){kind, address, by, guest->life, name, stage.epoch, .by = GUESTS_MAX};
    letter->user = guest->user;
    letter->sent_ns = stage.fleet.now_ns;
    memcpy(letter->editions, stage.edition, sizeof letter->editions);
    for (unsigned site = 0; site < SITES_MAX; site++)
        letter->site_life[site] = stage.fleet.sites[site].lives;
    letter->bare = bare;
    letter->big = !bare && random_chance(&stage.random, 20);
    letter->by_call =
        !bare && kind == KIND_REQUEST && !stage.probes && call_may() && random_chance(&stage.random, 60);
    if (guest->http_owner.way == FRAMES && !stage.probes && !letter->by_call && !bare) {
        letter->timed = kind == KIND_REQUEST && random_chance(&stage.random, 100);
        letter->level = kind != KIND_NEWS && address != TO_ALL && random_chance(&stage.random, 150)
                            ? 1 + (int)random_below(&stage.random, 3)
                            : 0;
    }
    letter->sure = stage_is_well() && !letter->big;
    letter->peopled = kind == KIND_NEWS || address == TO_NOBODY || letter_is_peopled(letter);
    compose(body, sizeof body, letter, tag);
    compose_fields(fields, letter);
    if (bare)
        fields[0] = '\0';
    if (letter->by_call)
        call_send(tag, body);
    else
        guest_say(guest, fields, body);
    sums.letters++;
}

void guest_send(unsigned by, enum kind kind, enum recipient address, unsigned name) {
    send_letter(by, kind, address, name, false);
}

static void cancel(unsigned tag) {
    struct letter *letter = &stage.letters[tag];
    struct guest *guest = &stage.guests[letter->source];
    if (letter->kind != KIND_REQUEST || letter->ended || guest->life != letter->life || letter->by_call)
        return;
    letter->cancelled = true;
    letter->cancels++;
    say(guest, "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":%u}}", tag);
    sums.cancels++;
}

void guest_cancel(void) {
    if (stage.letter_count)
        cancel(random_below(&stage.random, stage.letter_count));
}

void guest_send_several(unsigned by, enum recipient address, unsigned name) {
    bool is_burst = random_chance(&stage.random, 500);
    unsigned first = stage.letter_count;
    unsigned count = is_burst ? random_between(&stage.random, 8, 24) : random_between(&stage.random, 2, 6);
    sums.bursts += is_burst;
    while (count-- > 0)
        send_letter(by, KIND_REQUEST, address, name, is_burst);
    for (unsigned tag = first; tag < stage.letter_count; tag++)
        if (random_chance(&stage.random, 200))
            cancel(tag);
}

void guest_answer_one(unsigned by, const char *id, unsigned tag) {
    say(&stage.guests[by], "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tag\":%u,\"by\":%u}}", id, tag, by);
}

void guest_answer(unsigned by, bool all) {
    struct guest *guest = &stage.guests[by];
    while (guest->late_count) {
        unsigned at = random_below(&stage.random, guest->late_count);
        unsigned tag = guest->late[at];
        guest->late[at] = guest->late[--guest->late_count];
        guest_answer_one(by, stage.letters[tag].id, tag);
        if (!all)
            return;
    }
}
