// Targets that are programs: each is an agent under one name, by any author and with any library.
//
// Success: a program is started with its agentId and the length of an answer's filler as arguments and the
// hub's URI in PATCHBAY_HUB. The program registers, and says a line on standard output once it can be
// reached. The program answers each request with the `nonce` of its context and as many letters `y`. Failure: a
// program that ends before its line is -ECHILD.
#pragma once

#include <stddef.h>
#include <sys/types.h>

// Starts `command` with a shell, and waits for its line. 0 with *pid, which load_program_end takes; or -errno.
int load_program_start(const char *command, const char *hub, const char *agent, size_t fill, pid_t *pid);
// Ends it by SIGTERM, and waits for its end.
void load_program_end(pid_t pid);
