// A hub whose wall around files isn't there: in the place of io/walls_files.c.
#include "io/walls.h"

int walls_files(const struct folder *folders, unsigned count, bool dials, const char **why) {
    (void)dials;
    (void)folders;
    (void)count;
    (void)why;
    return 0;
}
