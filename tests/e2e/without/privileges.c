// A hub whose wall around privileges isn't there: in the place of io/walls_privileges.c.
#include "io/login.h"
#include "io/walls.h"

int walls_privileges(const struct login *login) {
    return login ? login_become(login) : 0;
}

void walls_last_privilege(void) {}

void walls_hide_memory(void) {}
