// The client's sub-commands. Each command takes its own arguments (argv[0] is its name) and the hub's URI, and returns
// the program's exit status. Each command has a line here, a row in patchbay.c and a row in usage.c.
#pragma once

#include <stdint.h>

#include "core/json/json.h"
#include "tools/usage.h"

enum status command_send(int argc, char **argv, const char *hub);
enum status command_echo(int argc, char **argv, const char *hub);
enum status command_events(int argc, char **argv, const char *hub);
enum status command_publish(int argc, char **argv, const char *hub);
enum status command_agents(int argc, char **argv, const char *hub);
enum status command_stats(int argc, char **argv, const char *hub);
enum status command_approvals(int argc, char **argv, const char *hub);
enum status command_pending(int argc, char **argv, const char *hub);
enum status command_tap(int argc, char **argv, const char *hub);
enum status command_record(int argc, char **argv, const char *hub);
enum status command_replay(int argc, char **argv, const char *hub);
enum status command_child(int argc, char **argv, const char *hub);
enum status command_hcs(int argc, char **argv, const char *hub);
enum status command_top(int argc, char **argv, const char *hub);
enum status command_connect(int argc, char **argv, const char *hub);
enum status command_users(int argc, char **argv, const char *hub);
enum status command_token(int argc, char **argv, const char *hub);
enum status command_bench(int argc, char **argv, const char *hub);

// Calls a method of the hub and prints the answer: with `raw` the result's bytes, else the output of `print`. An error
// of the hub is one line on standard error. Returns STATUS_DONE, STATUS_REFUSED, or as unreachable.
enum status command_show_answer(const char *hub, bool raw, const char *method, const char *params,
                                void (*print)(const uint8_t *text, struct span result));
