// The acts (acts.h) of the web, and that of sessions of HCS.
#pragma once

#include "tests/sim/party.h"

void acts_callers(struct scene *scene);
void acts_listeners(struct scene *scene);
void acts_streams(struct scene *scene); // acts_streams.c
