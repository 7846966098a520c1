#include "io/keeper_secrets.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/child/secret_filter.h"
#include "core/log/log_secret.h"
#include "core/log/secret_variant.h"
#include "io/plain_file.h"

enum { FILE_BYTES_MAX = 64 << 10, WORD_LETTERS_MAX = 8 };

struct secrets {
    char *texts;
    size_t bytes;
    bool failed;
};

static void add_spelling(void *context, const char *text, size_t count) {
    struct secrets *secrets = context;
    bool is_hidden = count >= LOG_SECRET_BYTES_MIN && count <= SECRET_FILTER_SECRET_BYTES_MAX;
    char *texts = is_hidden ? realloc(secrets->texts, secrets->bytes + count + 1) : NULL;
    secrets->failed |= is_hidden && !texts;
    if (!texts)
        return;
    memcpy(texts + secrets->bytes, text, count);
    texts[secrets->bytes + count] = '\0';
    secrets->texts = texts;
    secrets->bytes += count + 1;
}

static void add(void *secrets, const char *text, size_t count) {
    add_spelling(secrets, text, count);
    if (count >= LOG_SECRET_BYTES_MIN)
        secret_variants(text, count, add_spelling, secrets);
}

// Adds a part that --print-config hides. A part of a few small letters may be an ordinary word, as in `--auth none`.
// Such a word isn't hidden, since the lines of all children would lack it.
static void add_part(void *secrets, const char *text, size_t count) {
    size_t letters = 0;
    while (letters < count && text[letters] >= 'a' && text[letters] <= 'z')
        letters++;
    if (letters < count || count > WORD_LETTERS_MAX)
        add(secrets, text, count);
}

// Adds each line of a secret by itself, because a log has lines. A key in PEM has several.
static void add_lines(struct secrets *secrets, const char *text, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t count = end ? (size_t)(end - text) - at : bytes - at, kept = count;
        while (kept > 0 && text[at + kept - 1] == '\r')
            kept--;
        add(secrets, text + at, kept);
        at += count + 1;
    }
}

static void add_file(struct secrets *secrets, const char *path) {
    char *text = malloc(FILE_BYTES_MAX);
    size_t bytes = 0;
    secrets->failed |= !text;
    int file = text ? plain_file_open(path) : -1;
    if (file >= 0 && plain_file_read(file, text, FILE_BYTES_MAX, &bytes) == 0 && !memchr(text, '\0', bytes))
        add_lines(secrets, text, bytes);
    if (file >= 0)
        close(file);
    if (text)
        explicit_bzero(text, bytes);
    free(text);
}

bool keeper_secrets_read(const struct keeper_texts *command, char **texts, size_t *bytes) {
    struct secrets secrets = {NULL, 0, false};
    const char *variables = command->variables;
    secrets.failed = !log_find_command_secrets(command->words, command->word_count, add_part, &secrets);
    for (uint32_t left = command->variable_count; left > 0; left--, variables += strlen(variables) + 1) {
        const char *value = strchr(variables, '=');
        assert(*variables == 'P' || value);
        if (*variables == 'S')
            add(&secrets, value + 1, strlen(value + 1));
        else if (*variables == 'F')
            add_file(&secrets, value + 1);
    }
    *texts = secrets.texts;
    *bytes = secrets.bytes;
    return !secrets.failed;
}

static bool has_text(const char *texts, size_t bytes, const char *text) {
    for (const char *at = texts; bytes > 0 && at < texts + bytes; at += strlen(at) + 1)
        if (strcmp(at, text) == 0)
            return true;
    return false;
}

bool keeper_secrets_join(char **joined, size_t *joined_bytes, const char *texts, size_t bytes) {
    if (bytes == 0)
        return true;
    char *room = realloc(*joined, *joined_bytes + bytes);
    if (!room)
        return false;
    *joined = room;
    for (const char *text = texts; text < texts + bytes; text += strlen(text) + 1) {
        size_t count = strlen(text) + 1;
        if (has_text(*joined, *joined_bytes, text))
            continue;
        memcpy(*joined + *joined_bytes, text, count);
        *joined_bytes += count;
    }
    return true;
}
