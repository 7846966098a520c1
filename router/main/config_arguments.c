#include "router/main/config_arguments.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Overwrites the text before the last @ of each URL in a list with commas. A URL after the first may lack its scheme.
static void erase_urls(char *url) {
    for (size_t bytes; *url; url += bytes + (url[bytes] == ',')) {
        bytes = strcspn(url, ",");
        char *scheme = memmem(url, bytes, "://", 3), *begin = scheme ? scheme + 3 : url;
        char *at = memrchr(begin, '@', bytes - (size_t)(begin - url));
        if (at)
            memset(begin, 'x', (size_t)(at - begin));
    }
}

static void erase_arguments(int argc, char **argv) {
    assert(argc <= 0 || !argv[argc]);
    for (int at = 1; at < argc; at++)
        if (strstr(argv[at], "://"))
            erase_urls(argv[at]);
}

char **config_arguments_keep(int argc, char **argv) {
    char **kept = calloc((size_t)argc + 1, sizeof *kept);
    bool all = kept != NULL;
    for (int at = 0; all && at < argc; at++)
        all = (kept[at] = strdup(argv[at])) != NULL;
    erase_arguments(argc, argv);
    if (all)
        return kept;
    for (int at = 0; kept && at < argc; at++)
        free(kept[at]);
    free(kept);
    return NULL;
}
