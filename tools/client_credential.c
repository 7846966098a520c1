#include "tools/client_credential.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rights/digest.h"

static char token[TOKEN_BYTES_MAX + 1];

// Returns whether the bytes are a token. Other bytes would need escapes in a body, and can't stand in a header field.
static bool is_token(size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        if (token[at] <= ' ' || token[at] > '~' || token[at] == '"' || token[at] == '\\') {
            return false;
        }
    }
    return bytes > 0 && bytes <= TOKEN_BYTES_MAX;
}

static bool complain(const char *where, const char *what) {
    credential_forget();
    fprintf(stderr, "patchbay: %s: %s\n", where, what);
    return false;
}

// Prints a fault of the file, but hides a token that stands in the place of the file's name. Returns false.
static bool complain_of_file(const char *path, const char *what) {
    bool is_likely_token = strncmp(path, "pb_", strlen("pb_")) == 0;
    char where[4096 + 16];
    snprintf(where, sizeof where, "--token-file %s", path);
    return complain(is_likely_token ? "--token-file" : where, what);
}

static bool read_file(const char *path) {
    char bytes[TOKEN_BYTES_MAX + 3]; // with a line's end, and one byte too many
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return complain_of_file(path, strerror(errno));
    }
    setvbuf(file, NULL, _IONBF, 0);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    bool unread = ferror(file) != 0;
    int error = errno;
    fclose(file);
    while (count > 0 && (bytes[count - 1] == '\n' || bytes[count - 1] == '\r')) {
        count--;
    }
    if (count < sizeof token) {
        memcpy(token, bytes, count);
        token[count] = '\0';
    }
    digest_wipe(bytes, sizeof bytes);
    return unread ? complain_of_file(path, strerror(error))
                  : is_token(count) ||
                        complain_of_file(
                            path, "expected one line with a token, which patchbay token new prints first");
}

bool credential_read(const char *file) {
    const char *given = getenv("PATCHBAY_TOKEN");
    if (file != NULL) {
        return read_file(file);
    }
    if (given == NULL || *given == '\0') {
        return true;
    }
    size_t bytes = strlen(given);
    memcpy(token, given, bytes < sizeof token ? bytes : sizeof token - 1);
    return is_token(bytes) ||
           complain("PATCHBAY_TOKEN", "expected a token, which patchbay token new prints first");
}

const char *credential_token(void) {
    return *token == '\0' ? NULL : token;
}

void credential_forget(void) {
    digest_wipe(token, sizeof token);
}

// Returns whether an argument is `--token`, which doesn't exist, or a shorter form that getopt_long would take for
// --token-file. Such an argument stands alone, or has `=` and a value.
static bool is_token_option(const char *argument) {
    static const char option[] = "--token";
    size_t bytes = strcspn(argument, "=");
    return bytes >= strlen("--to") && bytes < sizeof option && strncmp(argument, option, bytes) == 0;
}

bool credential_on_line(int argc, char **argv) {
    int at = 1;
    while (at < argc && strcmp(argv[at], "--") != 0 && !is_token_option(argv[at])) {
        at++;
    }
    if (at == argc || strcmp(argv[at], "--") == 0) {
        return false;
    }
    char *value = strchr(argv[at], '=');
    value = value != NULL ? value + 1 : at + 1 < argc ? argv[at + 1] : NULL;
    if (value != NULL) {
        digest_wipe(value, strlen(value));
    }
    fputs("patchbay: the whole machine can read a command line, so that no token stands there: "
          "PATCHBAY_TOKEN in the "
          "environment has it, or a file that --token-file names\n",
          stderr);
    return true;
}
