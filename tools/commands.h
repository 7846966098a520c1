// The client's sub-commands. Each takes its own arguments (argv[0] is its name) and the hub's URI, and
// returns the exit status of the program. Each has a line here, a row in patchbay.c and one in usage.c.
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

// Asks the hub's `method` and prints the answer: `raw` the result's bytes, else what `print` makes of the result. An error of
// the hub is one line on standard error. Returns STATUS_DONE, STATUS_REFUSED, or as unreachable.
enum status command_show_answer(const char *hub, bool raw, const char *method, const char *params,
                                void (*print)(const uint8_t *text, struct span result));
