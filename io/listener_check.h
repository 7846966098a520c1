// Whether a listener could be opened, found out without opening one: nothing is bound, made or connected to.
#pragma once

#include <stdbool.h>

#include "io/address.h"

// 0, or -errno with *why set to static text, by what the kernel tells of sockets and files as they are now. A `shared` address may be in
// use. What only the opening itself can show (a lock, a race with another program) isn't found.
int listener_check(const struct address *address, bool shared, const char **why);
