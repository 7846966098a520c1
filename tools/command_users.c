// `patchbay users`: prints the faults of a users file, or the line of the file that decides a question. No hub is
// asked. Success: status 0. Failure: the right is refused, or the checked file has a fault (status 1). There is no such
// file or user, or a file that must explain a decision has a fault (status 2).
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/rights/rights_explain.h"
#include "core/rights/users_lint.h"
#include "tools/commands.h"
#include "tools/output.h"

struct file {
    const char *path;
    struct text text;
    struct users *users; // NULL: the file has faults
    unsigned faults, warnings;
};

// --- The file

static bool read_text(struct file *file) {
    FILE *stream = fopen(file->path, "re");
    if (stream == NULL) {
        fprintf(stderr, "patchbay: users: %s: %s\n", file->path, strerror(errno));
        return false;
    }
    size_t came = 1;
    while (came > 0 && file->text.length <= USERS_FILE_BYTES_MAX && text_reserve(&file->text, 64 * 1024)) {
        came = fread(file->text.bytes + file->text.length, 1, 64 * 1024, stream);
        file->text.length += came;
    }
    bool good = !ferror(stream) && !file->text.failed;
    if (!good) {
        fprintf(stderr, "patchbay: users: %s: %s\n", file->path,
                strerror(file->text.failed ? ENOMEM : errno));
    }
    fclose(stream);
    return good;
}

// Prints FILE:LINE: KEY: and a text.
static void tell(const struct file *file, const struct users_fault *fault, const char *what) {
    output_text(stdout, (const uint8_t *)file->path, strlen(file->path));
    if (fault->line > 0) {
        printf(":%u", fault->line);
    }
    printf(": ");
    if (fault->key != NULL) {
        output_text(stdout, (const uint8_t *)fault->key, strlen(fault->key));
        printf(": ");
    }
    printf("%s%s\n", what, fault->expected);
}

static void tell_fault(void *context, const struct users_fault *fault) {
    struct file *file = context;
    file->faults++;
    tell(file, fault, "expected ");
}

static void tell_warning(void *context, const struct users_fault *fault) {
    struct file *file = context;
    file->warnings++;
    tell(file, fault, "warning: ");
}

// Reads a users file, and prints its faults. Returns false if the file can't be read.
static bool open_file(struct file *file) {
    static const struct siphash_key key; // no stranger can time this search
    if (!read_text(file)) {
        return false;
    }
    file->users = users_read(file->text.bytes, file->text.length, &key, NULL, tell_fault, file);
    users_judge_by(file->users);
    return true;
}

static void close_file(struct file *file) {
    users_drop(file->users);
    text_deinit(&file->text);
}

// --- check

static void summarize(const struct file *file) {
    uint32_t count = users_count(file->users);
    printf("%u user%s%s%s\n", count, count == 1 ? "" : "s",
           users_hold_line(file->users) ? "; some of what they send is held: the hub needs --gate" : "",
           users_have_certificates(file->users) ? "; some have certificates: the hub needs --tls-clients"
                                                : "");
}

static enum status check(int argc, char **argv) {
    bool strict = argc == 3 && strcmp(argv[1], "--strict") == 0;
    if (argc != 2 + strict || argv[argc - 1][0] == '-') {
        return usage("users");
    }
    struct file file = {.path = argv[argc - 1]};
    enum status status = STATUS_USAGE;
    if (open_file(&file)) {
        if (file.users != NULL && users_lint(file.text.bytes, file.text.length, tell_warning, &file)) {
            summarize(&file);
        }
        status = file.faults > 0 || (strict && file.warnings > 0) ? STATUS_REFUSED : STATUS_DONE;
    }
    close_file(&file);
    return status;
}

// --- explain

// Returns the text of a line. `section`: returns the last beginning of a section before that line.
static const char *find_line(const struct file *file, uint32_t number, bool section, size_t *bytes) {
    const char *at = file->text.bytes, *end = at + file->text.length, *found = at;
    *bytes = 0;
    for (uint32_t line = 1; line <= number && at < end; line++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *begin = at + strspn(at, " \t"), *until = feed == NULL ? end : feed;
        if (section ? *begin == '[' : line == number) {
            found = begin;
            *bytes = (size_t)(until - begin);
        }
        at = until + 1;
    }
    return found;
}

static void show_line(const struct file *file, uint32_t line) {
    size_t bytes;
    printf("  ");
    output_text(stdout, (const uint8_t *)file->path, strlen(file->path));
    printf(":%u ", line);
    const char *text = find_line(file, line, true, &bytes);
    const char *end = memchr(text, ']', bytes);
    output_text(stdout, (const uint8_t *)text, end == NULL ? bytes : (size_t)(end + 1 - text));
    putchar(' ');
    text = find_line(file, line, false, &bytes);
    while (bytes > 0 && (text[bytes - 1] == '\r' || text[bytes - 1] == ' ')) {
        bytes--;
    }
    output_text(stdout, (const uint8_t *)text, bytes);
    putchar('\n');
}

static void show_answer(const struct file *file, const struct rights_explain_answer *answer, bool of_hold) {
    if (!of_hold) {
        puts(answer->verdict.allowed ? "allowed" : "refused");
        if (answer->verdict.line > 0) {
            show_line(file, answer->verdict.line);
        } else {
            puts(answer->verdict.allowed ? "  no line says otherwise" : "  no line gives it");
        }
    }
    if (answer->held > 0) {
        puts("held until somebody approves");
        show_line(file, answer->held);
    } else if (of_hold) {
        puts("not held");
    }
}

static enum status answer(struct file *file, const char *name, const char *question) {
    struct rights_explain_answer answered;
    const struct user *user = users_by_name(file->users, name, strlen(name));
    if (user == NULL) {
        fprintf(stderr, "patchbay: users: %s has no such user\n", file->path);
        return STATUS_USAGE;
    }
    const char *expected = rights_explain(user, question, &answered);
    if (expected != NULL) {
        fprintf(stderr, "patchbay: users: explain: expected %s\n", expected);
        return STATUS_USAGE;
    }
    show_answer(file, &answered, strncmp(question, "hold", 4) == 0);
    return answered.verdict.allowed ? STATUS_DONE : STATUS_REFUSED;
}

static enum status answer_words(struct file *file, const char *name, int count, char **words) {
    struct text question = {0};
    for (int i = 0; i < count; i++) {
        text_put(&question, i > 0 ? " " : "");
        text_put(&question, words[i]);
    }
    text_add(&question, "", 1);
    enum status status = question.failed ? STATUS_REFUSED : answer(file, name, question.bytes);
    text_deinit(&question);
    return status;
}

static enum status explain(int argc, char **argv) {
    static const struct option options[] = {{"users", required_argument, NULL, 'u'}, {0}};
    struct file file = {.path = getenv("PATCHBAY_USERS")};
    int option;
    optind = 0;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
        if (option == '?') {
            return usage("users");
        }
        file.path = optarg;
    }
    if (argc - optind < 2) {
        return usage("users");
    }
    if (file.path == NULL) {
        fputs("patchbay: users: explain: which file? --users FILE or PATCHBAY_USERS names it\n", stderr);
        return STATUS_USAGE;
    }
    enum status status = STATUS_USAGE;
    if (open_file(&file)) {
        status = file.users == NULL ? STATUS_USAGE // the file has faults, so there is no answer
                                    : answer_words(&file, argv[optind], argc - optind - 1, argv + optind + 1);
    }
    close_file(&file);
    return status;
}

enum status command_users(int argc, char **argv, const char *hub) {
    (void)hub;
    if (argc > 1 && strcmp(argv[1], "check") == 0) {
        return check(argc - 1, argv + 1);
    }
    if (argc > 1 && strcmp(argv[1], "explain") == 0) {
        return explain(argc - 1, argv + 1);
    }
    return usage(argv[0]);
}
