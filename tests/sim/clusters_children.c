// Children of hubs. Each hub has a child under a name of the hub's own. The child runs from the start, or once a guest
// of any hub asks it. In some runs each guest who asks has a child for itself, at its own hub alone. A child answers
// each request. A server of MCP asks, too. Guests of its own hub hear the question, which is answered whether it is for
// a guest or for none.
#include "tests/sim/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/child/child_settings.h"
#include "tests/sim/kernel.h"
#include "tests/sim/programs.h"

static void set(struct child_settings *settings, const char *key, const char *value) {
    if (child_settings_set(settings, key, value))
        kernel_fail("%s = %s isn't a child's", key, value);
}

struct child_settings *kids_read(unsigned site) {
    char name[16];
    if (!stage.kids)
        return NULL;
    snprintf(name, sizeof name, "kid-%u", site);
    struct child_settings *settings = child_settings_create(name);
    if (!settings)
        abort();
    set(settings, "command", "program lines");
    set(settings, "protocol", stage.kid_kinds[site] == KID_MCP ? "mcp" : "plain");
    set(settings, "framing", "lines");
    set(settings, "instances", stage.kid_kinds[site] == KID_EACH ? "each" : "shared");
    set(settings, "start", stage.kids_wait ? "on-demand" : "at-once");
    if (child_settings_finish(settings))
        kernel_fail("the section of %s lacks something", name);
    return settings;
}

static void write_line(struct program *program, const char *line) {
    cable_write(program->out, line, strlen(line));
}

static bool is_asked_of_itself(struct program *program, struct bit id, struct bit body) {
    char line[256];
    if (!bit_is(naive_find(body, "method"), "\"initialize\""))
        return false;
    snprintf(
        line, sizeof line,
        "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"serverInfo\":{\"name\":\"kid\",\"version\":\"1\"}}}\n",
        (int)id.count, (const char *)id.bytes);
    write_line(program, line);
    return true;
}

// Whoever has something in progress there, of that hub's guests alone; and tells them all something.
static void ask(struct kid *kid, struct program *program) {
    char line[256];
    if (stage.kid_kinds[kid->site] != KID_MCP || !random_chance(&stage.random, 500))
        return;
    snprintf(line, sizeof line,
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"kid/asks\",\"params\":{\"kid\":%u}}\n",
             kid->asked++, kid->site);
    write_line(program, line);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"method\":\"kid/asks\",\"params\":{\"kid\":%u}}\n",
             kid->site);
    write_line(program, line);
    sums.kids_ask++;
}

static void take(struct kid *kid, struct program *program, struct bit body) {
    char line[256];
    unsigned site = kid->site;
    struct bit id = naive_find(body, "id"), token = naive_find(body, "params.workDoneToken");
    unsigned tag = (unsigned)bit_number(naive_find(body, "params.tag"));
    if (!naive_find(body, "method").bytes && (bit_number(id) >= kid->asked || kid->answered++ >= kid->asked))
        kernel_fail("a child is answered what it hasn't asked");
    if (is_asked_of_itself(program, id, body) || !bit_is(naive_find(body, "method"), "\"m/1\""))
        return; // or a cancel
    kid_is_asked(site, tag, id.bytes != NULL);
    sums.kids++;
    if (!id.bytes)
        return;
    ask(kid, program);
    if (token.bytes && random_chance(&stage.random, 300)) {
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"$/progress\",\"params\":{\"token\":%.*s,\"value\":1}}\n",
                 (int)token.count, (const char *)token.bytes);
        write_line(program, line);
    }
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"tag\":%u,\"by\":%u}}\n",
             (int)id.count, (const char *)id.bytes, tag, GUESTS_MAX + site);
    write_line(program, line);
}

bool kids_serve(unsigned site, unsigned from) {
    return site == from || (stage_together(site, from) && stage.kid_kinds[site] != KID_EACH);
}

static bool has_asked(unsigned by, unsigned site) {
    for (unsigned tag = 0; tag < stage.letter_count; tag++)
        if (stage.letters[tag].source == by && stage.letters[tag].address == TO_KID &&
            stage.letters[tag].name == site)
            return true;
    return false;
}

void kid_asks(unsigned by, struct bit body) {
    char line[128];
    struct bit id = naive_find(body, "id");
    unsigned site = (unsigned)bit_number(naive_find(body, "params.kid"));
    if (site != stage.guests[by].site || stage.kid_kinds[site] != KID_MCP || !has_asked(by, site))
        kernel_fail("guest %u is told something by a child that is none of its", by);
    if (!id.bytes)
        return;
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}", (int)id.count,
             (const char *)id.bytes);
    guest_say(&stage.guests[by], "", line);
}

// Of a process, made when it is first heard of.
static struct kid *kid_of(unsigned site, const struct program *program) {
    uint32_t life = stage.fleet.sites[site].lives;
    struct kid *kid = stage.kid;
    while (kid && (kid->site != site || kid->number != program->number || kid->life != life))
        kid = kid->next;
    if (kid)
        return kid;
    kid = calloc(1, sizeof *kid);
    if (!kid)
        abort();
    *kid = (struct kid){.next = stage.kid, .site = site, .number = program->number, .life = life};
    stage.kid = kid;
    return kid;
}

static bool hear(unsigned site, struct program *program) {
    if (program->state != PROGRAM_RUNS || !program->in || !program->out)
        return false;
    size_t more = cable_readable(program->in), at = 0;
    if (!more)
        return false;
    struct kid *kid = kid_of(site, program);
    kid->in = realloc(kid->in, kid->count + more);
    if (!kid->in)
        abort();
    kid->count += cable_read(program->in, kid->in + kid->count, more);
    for (struct naive_frame frame; naive_line(&frame, kid->in + at, kid->count - at) == NAIVE_WHOLE;
         at += frame.bytes)
        take(kid, program, frame.body);
    memmove(kid->in, kid->in + at, kid->count - at);
    kid->count -= at;
    return true;
}

void kids_check(void) {
    for (unsigned site = 0; stage.kids && site < stage.fleet.options.site_count; site++) {
        struct kernel *kernel = stage.fleet.sites[site].world.kernel;
        for (struct program *program = programs_first(kernel); program; program = program->next) {
            if (program->state != PROGRAM_RUNS)
                continue;
            const struct kid *kid = kid_of(site, program);
            if (kid->answered != kid->asked)
                kernel_fail("a child of hub %u has asked %u times and is answered %u times", site, kid->asked,
                            kid->answered);
        }
    }
}

void kids_forget(void) {
    for (struct kid *kid = stage.kid, *next; kid; kid = next) {
        next = kid->next;
        free(kid->in);
        free(kid);
    }
    stage.kid = NULL;
}

bool kids_hear(void) {
    bool any = false;
    for (unsigned site = 0; stage.kids && site < stage.fleet.options.site_count; site++) {
        if (!stage.fleet.sites[site].runs)
            continue;
        struct kernel *kernel = stage.fleet.sites[site].world.kernel;
        for (struct program *program = programs_first(kernel), *next; program; program = next) {
            next = program->next;
            any |= hear(site, program);
        }
    }
    return any;
}
