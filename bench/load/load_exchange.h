// The two exchanges that a load may be. Known to bench/load/*.c only.
#pragma once

#include "bench/load/load.h"

extern const struct load_exchange load_exchange_requests;
extern const struct load_exchange load_exchange_events;
