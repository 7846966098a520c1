#include "tools/output.h"

void output_line(FILE *out, const uint8_t *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        putc(text[i] < 0x20 ? ' ' : text[i], out);
    }
    putc('\n', out);
}
