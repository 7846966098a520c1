// The secrets of a program, which the log must not show: values that the section sets, lines of files that the section
// reads into variables, and the parts of the command that --print-config hides. Spellings in hex and base64 are hidden,
// too.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The words and the variables of a start command, one after the other, each with a zero byte at its end.
struct keeper_texts {
    const char *words, *variables;
    uint32_t word_count, variable_count;
};

// Reads the words and the variables. Writes the secrets to *texts, each with a zero byte at its end, and their size to
// *bytes. The caller frees *texts, which is NULL without secrets. A file that can't be read has no secrets. Returns
// false without memory.
bool keeper_secrets_read(const struct keeper_texts *command, char **texts, size_t *bytes);

// Adds the texts that *joined doesn't have yet. *joined may be NULL. Returns false without memory, and changes nothing
// then.
bool keeper_secrets_join(char **joined, size_t *joined_bytes, const char *texts, size_t bytes);
