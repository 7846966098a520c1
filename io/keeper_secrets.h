// What a program was given that nobody else may read: values that its section sets, and the lines of files that its section has
// read into variables. For the log, which must not show it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Takes variables as a start's command has them (io/keeper.h). Writes the secrets to *texts, each with a zero byte behind it,
// and how many bytes they are; the caller frees *texts, NULL where there is none. A file that can't be read has none.
// False: memory is used up.
bool keeper_secrets_read(const char *variables, uint32_t count, char **texts, size_t *bytes);
