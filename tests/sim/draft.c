#include "tests/sim/draft.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PUT_BYTES_MAX = 1024 };

static void room(struct draft *draft, size_t count) {
    if (draft->count + count < draft->capacity)
        return;
    draft->capacity = (draft->count + count) * 2;
    draft->bytes = realloc(draft->bytes, draft->capacity);
    if (!draft->bytes)
        abort();
}

void draft_put(struct draft *draft, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    room(draft, PUT_BYTES_MAX);
    int count = vsnprintf(draft->bytes + draft->count, PUT_BYTES_MAX, format, arguments);
    va_end(arguments);
    if (count < 0 || count >= PUT_BYTES_MAX)
        abort();
    draft->count += (size_t)count;
}

void draft_add(struct draft *draft, const void *bytes, size_t count) {
    room(draft, count + 1);
    if (count)
        memcpy(draft->bytes + draft->count, bytes, count);
    draft->count += count;
}

void draft_deinit(struct draft *draft) {
    free(draft->bytes);
    *draft = (struct draft){0};
}
