// The sections of patchbay_mcp: the server, and where SIGHUP changes them another one beside it.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/child/child_settings.h"
#include "tests/sim/kernel.h"
#include "tests/sim/mcp_stage.h"

static struct child_settings *read_one(unsigned number) {
    char command[64];
    bool is_server = number == 0;
    snprintf(command, sizeof command, "program lines %u", stage.sections[number].version);
    const char *const rows[][2] = {
        {"command", command},  {"protocol", "mcp"},
        {"framing", "lines"},  {"restart-delay-max", "1s"},
        {"data", "/data"},     {"instances", is_server && stage.is_each ? "each" : "shared"},
        {"ask-clients", "yes"}};
    struct child_settings *settings = child_settings_create(is_server ? "server" : "other");
    if (!settings)
        abort();
    for (unsigned at = 0; at < sizeof rows / sizeof *rows; at++)
        if (child_settings_set(settings, rows[at][0], rows[at][1]))
            kernel_fail("%s isn't a child's", rows[at][0]);
    if (child_settings_finish(settings))
        kernel_fail("the section lacks something");
    return settings;
}

struct child_settings *sections_now(void) {
    struct child_settings *first = NULL;
    for (unsigned number = stage.is_turbulent ? SECTIONS : 1; number-- > 0;) {
        if (stage.sections[number].is_absent)
            continue;
        struct child_settings *one = read_one(number);
        one->next = first;
        first = one;
    }
    return first;
}

void sections_reload(void) {
    unsigned number = random_below(&stage.random, SECTIONS);
    if (stage.sections[number].is_absent || random_chance(&stage.random, 500))
        stage.sections[number].is_absent = !stage.sections[number].is_absent;
    else
        stage.sections[number].version++;
    for (unsigned call = 0; call < stage.call_count; call++)
        stage.calls[call].may_fail = true;
    stage.reloads++;
    sums.reloads++;
    kernel_signal(stage.world.kernel, SIGHUP);
}
