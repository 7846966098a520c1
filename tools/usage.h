// The client's usage: the exit statuses, the texts of --help, and the lines on standard error when a command can't be
// carried out.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define USAGE_DEFAULT_HUB "tcp://127.0.0.1:7411"

enum status {
    STATUS_DONE = 0,
    STATUS_REFUSED = 1,     // the hub answered with an error, or a check failed
    STATUS_USAGE = 2,       // the arguments can't be understood; nothing was sent
    STATUS_UNREACHABLE = 3, // there is no hub, or the hub has gone
};

// Prints how the program is used.
void usage_show(FILE *out);
// Prints the text of `COMMAND --help` on standard output. Returns false if there is no such command.
bool usage_help(const char *command);

// Prints on standard error that the hub can't be reached. `error` is a negative result of a function of client.h.
// Returns STATUS_UNREACHABLE, or STATUS_USAGE if `hub` is no address.
enum status unreachable(const char *hub, int error);
// Prints on standard error that the command can't send header fields to this hub. Returns STATUS_USAGE.
enum status no_fields(const char *command, const char *hub);
// Prints on standard error how the command is used, or with NULL how the program is used. Returns STATUS_USAGE.
enum status usage(const char *command);
