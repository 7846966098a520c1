// Children of hubs: each hub has one, of its own name, that runs from the start or once somebody asks it, at whichever hub. What it is asked
// it answers.
#include "tests/sim/clusters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/child/settings.h"
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
    set(settings, "protocol", "plain");
    set(settings, "framing", "lines");
    set(settings, "start", stage.kids_wait ? "on-demand" : "at-once");
    if (child_settings_finish(settings))
        kernel_fail("the section of %s lacks something", name);
    return settings;
}

static void write_line(struct program *program, const char *line) {
    cable_write(program->out, line, strlen(line));
}

static void take(unsigned site, struct program *program, struct bit body) {
    char line[256];
    struct bit id = naive_find(body, "id"), token = naive_find(body, "params.workDoneToken");
    unsigned tag = (unsigned)bit_number(naive_find(body, "params.tag"));
    if (!bit_is(naive_find(body, "method"), "\"m/1\""))
        return; // a cancel
    kid_is_asked(site, tag, id.bytes != NULL);
    sums.kids++;
    if (!id.bytes)
        return;
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

static bool hear(unsigned site, struct program *program) {
    struct kid *kid = &stage.kid[site];
    if (program->state != PROGRAM_RUNS || !program->in || !program->out)
        return false;
    if (kid->number != program->number || kid->life != stage.fleet.sites[site].lives)
        kid->count = 0;
    kid->number = program->number;
    kid->life = stage.fleet.sites[site].lives;
    size_t more = cable_readable(program->in), at = 0;
    if (!more)
        return false;
    kid->in = realloc(kid->in, kid->count + more);
    if (!kid->in)
        abort();
    kid->count += cable_read(program->in, kid->in + kid->count, more);
    for (struct naive_frame frame; naive_line(&frame, kid->in + at, kid->count - at) == NAIVE_WHOLE;
         at += frame.bytes)
        take(site, program, frame.body);
    memmove(kid->in, kid->in + at, kid->count - at);
    kid->count -= at;
    return true;
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
