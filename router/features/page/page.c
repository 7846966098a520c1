#include "router/features/page/page.h"

#include <assert.h>
#include <string.h>

#define HTML   "text/html; charset=utf-8"
#define CSS    "text/css; charset=utf-8"
#define SCRIPT "text/javascript; charset=utf-8"
#define SVG    "image/svg+xml"

#define PAGE_FILES(X)                                                                                        \
    X(html, "/", HTML)                                                                                       \
    X(css, "/status.css", CSS)                                                                               \
    X(svg, "/status.svg", SVG)                                                                               \
    X(js, "/status.js", SCRIPT)                                                                              \
    X(approvals_js, "/status-approvals.js", SCRIPT)                                                          \
    X(charts_js, "/status-charts.js", SCRIPT)                                                                \
    X(figures_js, "/status-figures.js", SCRIPT)                                                              \
    X(link_js, "/status-link.js", SCRIPT)                                                                    \
    X(requests_js, "/status-requests.js", SCRIPT)                                                            \
    X(view_js, "/status-view.js", SCRIPT)

// Defined in page.S.
#define X(name, path, type) extern const uint8_t page_##name[], page_##name##_end[];
PAGE_FILES(X)
#undef X

struct page_file page_find(const char *path, size_t bytes) {
    static const struct {
        const char *path, *type;
        const uint8_t *begin, *end;
    } files[] = {
#define X(name, path, type) {path, type, page_##name, page_##name##_end},
        PAGE_FILES(X)
#undef X
    };
    assert(path || bytes == 0);
    for (size_t at = 0; at < sizeof files / sizeof *files; at++)
        if (strlen(files[at].path) == bytes && memcmp(files[at].path, path, bytes) == 0)
            return (struct page_file){files[at].type, files[at].begin,
                                      (size_t)(files[at].end - files[at].begin)};
    return (struct page_file){0};
}
