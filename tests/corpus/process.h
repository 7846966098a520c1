// A patchbayd that runs as a process of its own.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"
#include "tests/corpus/backend.h"

// The listeners of the process. WebSocket: TCP for frames, and HTTP where the others have lines.
enum process_way { PROCESS_TCP, PROCESS_UNIX, PROCESS_WEBSOCKET };

struct process {
    int pid; // 0: none runs
    int errors;
    enum process_way way;
    struct text said;           // on standard error
    char directory[64];         // of the Unix sockets
    char address[128];          // as its `listening` lines tell it
    char address_of_lines[128]; // where one JSON text a line is spoken
    char address_of_http[128];
};

// Starts one that listens on ports or paths of its own choice, in frames and in lines, and waits until it
// does. False, with the reason appended to `why`, when it doesn't.
bool process_start(struct process *process, const char *program, enum process_way way,
                   const struct setup *setup, struct text *why);
// Ends it by SIGTERM. False when its status isn't 0, or a sanitizer has said something.
bool process_stop(struct process *process, struct text *why);
// Connects; -1 when it can't.
int process_dial(const struct process *process, enum line_wire wire);
