// The secrets of a program, which the log must not show: values that its section sets, and the lines of files that its
// section has read into variables. Each is hidden in hex and in base64, too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Takes variables as a start's command has them (io/keeper.h). Writes the secrets to *texts, each with a zero byte behind it,
// and how many bytes they are; the caller frees *texts, NULL where there is none. A file that can't be read has none.
// False: memory is used up.
bool keeper_secrets_read(const char *variables, uint32_t count, char **texts, size_t *bytes);

// Adds to *joined, which may be NULL, of `bytes` texts those that aren't among its *joined_bytes. False: memory is used up, and
// nothing has changed.
bool keeper_secrets_join(char **joined, size_t *joined_bytes, const char *texts, size_t bytes);
