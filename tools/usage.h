// The client's usage, and the words of all commands about it: the exit statuses, the texts of --help, and the
// lines on standard error where a command can't be carried out.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define USAGE_DEFAULT_HUB "tcp://127.0.0.1:7411"

enum status {
    STATUS_DONE = 0,
    STATUS_REFUSED = 1,     // the hub answered with an error, or a check failed
    STATUS_USAGE = 2,       // the arguments mean nothing; nothing was sent
    STATUS_UNREACHABLE = 3, // no hub there, or it went away
};

// How the program is used.
void usage_show(FILE *out);
// `COMMAND --help`, on standard output. False: there is no such command.
bool usage_help(const char *command);

// Says on standard error that the hub can't be reached; `error` is a negative result of hcs_client.h.
// STATUS_UNREACHABLE, or STATUS_USAGE when `hub` is no address.
enum status unreachable(const char *hub, int error);
// Says on standard error that the command can't send header fields to this hub. STATUS_USAGE.
enum status no_fields(const char *command, const char *hub);
// Says on standard error how the command is used, or with NULL how the program is. STATUS_USAGE.
enum status usage(const char *command);
