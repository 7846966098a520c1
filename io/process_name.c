#include "io/process_name.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

static char *arguments;
static size_t arguments_bytes; // with the zero bytes between and behind them

// The kernel lays them out one behind the other; what doesn't lie so is not touched.
void process_name_begin(int argc, char **argv) {
    arguments = NULL;
    arguments_bytes = 0;
    for (int at = 0; at < argc && (at == 0 || argv[at] == arguments + arguments_bytes); at++) {
        if (at == 0)
            arguments = argv[0];
        arguments_bytes += strlen(argv[at]) + 1;
    }
}

void process_name_set(const char *name) {
    size_t bytes = strlen(name);
    assert(bytes > 0 && bytes < 32);
    prctl(PR_SET_NAME, name);
    if (arguments_bytes == 0)
        return;
    memset(arguments, 0, arguments_bytes);
    memcpy(arguments, name, bytes < arguments_bytes ? bytes : arguments_bytes - 1);
}
