// A hub whose wall around files isn't there: in the place of io/sandbox_files.c.
#include "io/sandbox_layer.h"

int sandbox_layer_files(const struct folder *folders, unsigned count, bool dials, const char **why) {
    (void)dials;
    (void)folders;
    (void)count;
    (void)why;
    return 0;
}
