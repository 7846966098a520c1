// The syntax of an agentId: one pass over at most AGENT_ID_BYTES_MAX bytes, answering yes or no.
#include "core/agents/agent_id.h"

#include <assert.h>
#include <stdint.h>

#include "core/base/limits.h"

static const bool allowed[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true,
    ['_'] = true,         ['.'] = true,         [':'] = true,         ['/'] = true,
};

bool agent_id_valid(const char *text, size_t bytes) {
    assert(text || bytes == 0);
    if (bytes > AGENT_ID_BYTES_MAX)
        return false;
    char before = '.'; // the start counts as a dot, so nothing at all ends in one too
    for (size_t at = 0; at < bytes; at++) {
        if (!allowed[(uint8_t)text[at]] || (text[at] == '.' && before == '.'))
            return false;
        before = text[at];
    }
    return before != '.';
}
