// Children among what an operator sets: [child NAME] sections of a file, which are read here, line by line as they
// stand, and --extension. All else of a file is inih's.
#pragma once

#include <stdio.h>

#include <stdbool.h>

#include "core/child/child_settings.h"

struct config_children {
    struct child_settings *first; // linked
    struct child_settings *child; // whose section is being read
};

// A file that is being read.
struct config_lines {
    struct config_children *children;
    FILE *file;
    int count;         // lines
    bool is_child;     // they are a child's
    const char *fault; // static text; NULL: all is well
};

// As fgets, for inih: a line without the blanks before it, for which inih would take it to go on with the value
// above; an empty one for each that is a child's. One that doesn't end in its room, or has a NUL, can't be used,
// unless it is a comment.
char *config_read_line(char *line, int capacity, void *lines);
// The file has ended, or another section begins. False when the child's can't be used; lines->fault says why.
bool config_end_section(struct config_lines *lines);
// Gives all of them back.
void config_forget_children(struct config_children *children);
// NAME=COMMAND.
bool config_extension(struct config_children *children, const char *text);
