#include "tests/corpus/listed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/corpus/case.h"

enum { LISTED_MAX = 500, LINE_MAX_BYTES = 512 };

static struct listed all[LISTED_MAX];
static unsigned count;

static bool add(const char *path, unsigned number, char *line, const char *reason) {
    char *words[3];
    unsigned word_count = case_words(line, words, 3);
    const char *order = word_count == 2 ? words[1] : "";
    if (word_count > 2 || strspn(order, "xy") != strlen(order) || !*reason || count == LISTED_MAX) {
        fprintf(stderr, "%s:%u: under a reason stand cases, each with an order of x and y or none\n", path,
                number);
        return false;
    }
    all[count++] = (struct listed){strdup(words[0]), strdup(order), strdup(reason), false, false};
    return true;
}

bool listed_read(const char *path) {
    FILE *file = fopen(path, "r");
    char line[LINE_MAX_BYTES], reason[LINE_MAX_BYTES] = "";
    unsigned number = 0;
    bool good = file != NULL;
    while (good && fgets(line, sizeof line, file)) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        if (!*line || *line == '#')
            continue;
        if (*line == ' ')
            good = add(path, number, line, reason);
        else
            strcpy(reason, line);
    }
    if (file)
        fclose(file);
    else
        perror(path);
    return good;
}

struct listed *listed_find(const char *path) {
    const char *end = strrchr(path, '.');
    size_t bytes = end ? (size_t)(end - path) : strlen(path);
    for (unsigned at = 0; at < count; at++)
        if (strlen(all[at].name) == bytes && memcmp(all[at].name, path, bytes) == 0)
            return &all[at];
    return NULL;
}

bool listed_parts(const struct listed *listed, unsigned peer_count) {
    size_t first = strspn(listed->order, "x");
    first = first ? first : strspn(listed->order, "y");
    if (listed->order[first] && first < peer_count)
        return true;
    fprintf(stderr, "%s: in the order %s all are at one hub\n", listed->name, listed->order);
    return false;
}

bool listed_is_true(void) {
    bool good = true;
    for (unsigned at = 0; at < count; at++) {
        if (all[at].failed)
            continue;
        fprintf(stderr, "%s is listed, %s: %s\n", all[at].name,
                all[at].met ? "and holds" : "and there is no such case to be played", all[at].reason);
        good = false;
    }
    return good;
}

void listed_forget(void) {
    while (count) {
        count--;
        free(all[count].name);
        free(all[count].order);
        free(all[count].reason);
    }
}
