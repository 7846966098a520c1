// State of a hub that nobody sees from outside. (The hub's links and the fleet's have one name.)
#pragma once

#include <stddef.h>

struct hub;

// Of notifications that have gone to another hub for whom they name, and may be back.
size_t keeps_sought(const struct hub *hub);
