#include "tests/corpus/play_journal.h"

#include <string.h>

enum { JOURNAL_PAUSE_NS = 1000000 };

static struct bit next_journal_line(struct play *play) {
    size_t count = 0;
    const char *bytes = play->backend->journal(&count);
    if (!bytes || count <= play->journal_at)
        return (struct bit){NULL, 0};
    const char *line = bytes + play->journal_at;
    const char *end = memchr(line, '\n', count - play->journal_at);
    return (struct bit){(const uint8_t *)line, end ? (size_t)(end - line) : 0};
}

// The disk may take its time.
static bool await_journal_line(struct play *play, struct bit *line) {
    for (uint64_t waited_ns = 0; waited_ns < PATIENCE_NS; waited_ns += JOURNAL_PAUSE_NS) {
        *line = next_journal_line(play);
        if (line->count)
            return true;
        if (!playing_ping_round(play))
            return false;
        play->backend->pass(JOURNAL_PAUSE_NS);
    }
    return playing_fail(play, "the journal has no more lines");
}

bool play_journal_line(struct play *play, const char *rest) {
    struct bit line;
    if (strcmp(rest, "nothing") == 0) {
        if (!playing_ping_rounds(play))
            return false;
        line = next_journal_line(play);
        text_add(&play->why, line.bytes, line.count);
        return !line.bytes || playing_fail(play, "the journal should have no more lines: ");
    }
    if (strncmp(rest, "<~ ", 3) != 0)
        return playing_fail(play, "a journal's line is expected by <~");
    if (!await_journal_line(play, &line))
        return false;
    play->journal_at += line.count + 1;
    if (match_like(rest + 3, line, &play->variables))
        return true;
    text_add(&play->why, line.bytes, line.count);
    return playing_fail(play, "the journal reads instead: ");
}
