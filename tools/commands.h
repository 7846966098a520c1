// The client's sub-commands. Each takes its own arguments (argv[0] is its name) and the hub's URI, and
// returns the exit status of the program. Each has a line here and a row in patchbay.c.
#pragma once

enum status {
    STATUS_DONE = 0,
    STATUS_REFUSED = 1,     // the hub answered with an error, or a check failed
    STATUS_USAGE = 2,       // the arguments mean nothing; nothing was sent
    STATUS_UNREACHABLE = 3, // no hub there, or it went away
};

enum status command_send(int argc, char **argv, const char *hub);
enum status command_echo(int argc, char **argv, const char *hub);
enum status command_events(int argc, char **argv, const char *hub);
enum status command_publish(int argc, char **argv, const char *hub);
enum status command_agents(int argc, char **argv, const char *hub);
enum status command_stats(int argc, char **argv, const char *hub);
enum status command_approvals(int argc, char **argv, const char *hub);
enum status command_child(int argc, char **argv, const char *hub);
enum status command_hcs(int argc, char **argv, const char *hub);
enum status command_top(int argc, char **argv, const char *hub);
enum status command_connect(int argc, char **argv, const char *hub);
enum status command_users(int argc, char **argv, const char *hub);
enum status command_token(int argc, char **argv, const char *hub);
enum status command_bench(int argc, char **argv, const char *hub);

// Says on standard error that the hub can't be reached; `error` is a negative result of client.h.
// STATUS_UNREACHABLE, or STATUS_USAGE when `hub` is no address.
enum status unreachable(const char *hub, int error);
// Says on standard error that the command can't send header fields to this hub. STATUS_USAGE.
enum status no_fields(const char *command, const char *hub);
// Says on standard error how the command is used, or with NULL how the program is. STATUS_USAGE.
enum status usage(const char *command);
