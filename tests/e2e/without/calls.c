// A hub whose wall around system calls isn't there: in the place of io/walls_calls.c.
#include "io/walls.h"

int walls_calls(bool dials) {
    (void)dials;
    return 0;
}
