#include "router/engine/shard/survey.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct survey_page) % sizeof(uint64_t) == 0, "it is published word by word");

void survey_init(struct survey *survey, uint8_t kind) {
    assert(atomic_load(&survey->edition) == 0);
    timer_init(&survey->timer, kind);
}

void survey_rank(struct survey_list *list, struct survey_row row) {
    assert(list->count <= SURVEY_ROWS_MAX);
    uint64_t at = list->count;
    if (at == SURVEY_ROWS_MAX && row.value <= list->rows[--at].value)
        return;
    for (; at > 0 && list->rows[at - 1].value < row.value; at--)
        list->rows[at] = list->rows[at - 1];
    list->rows[at] = row;
    if (list->count < SURVEY_ROWS_MAX)
        list->count++;
}

// Returns whether the first session is heavier: it has more clients that are over the limit, or as many of these and
// more clients.
static bool is_heavier(const struct survey_session *one, const struct survey_session *other) {
    assert(one->clients >= one->stuck && other->clients >= other->stuck);
    return one->over != other->over ? one->over > other->over : one->clients > other->clients;
}

void survey_rank_session(struct survey_sessions *list, const struct survey_session *row) {
    assert(list->count <= SURVEY_ROWS_MAX);
    uint64_t at = list->count;
    if (at == SURVEY_ROWS_MAX && !is_heavier(row, &list->rows[--at]))
        return;
    for (; at > 0 && is_heavier(row, &list->rows[at - 1]); at--)
        list->rows[at] = list->rows[at - 1];
    list->rows[at] = *row;
    if (list->count < SURVEY_ROWS_MAX)
        list->count++;
}

// Writes the page before the last one, so that readers of the last page aren't disturbed.
void survey_publish(struct survey *survey, uint64_t now_ms) {
    uint32_t edition = atomic_load_explicit(&survey->edition, memory_order_relaxed) + 1;
    uint64_t words[SURVEY_WORDS];
    assert(survey->page.deepest.count <= SURVEY_ROWS_MAX && survey->page.slowest.count <= SURVEY_ROWS_MAX);
    survey->page.at_ms = now_ms;
    memcpy(words, &survey->page, sizeof words);
    for (unsigned at = 0; at < SURVEY_WORDS; at++)
        atomic_store_explicit(&survey->words[edition % 2][at], words[at], memory_order_release);
    atomic_store_explicit(&survey->edition, edition, memory_order_release);
}

// Reads the last page. The producer writes over a page after it has published the next one; then the read is tried
// again.
bool survey_read(const struct survey *survey, struct survey_page *page) {
    for (unsigned tries = 3; tries > 0; tries--) {
        uint32_t edition = atomic_load_explicit(&survey->edition, memory_order_acquire);
        uint64_t words[SURVEY_WORDS];
        if (edition == 0)
            return false;
        for (unsigned at = 0; at < SURVEY_WORDS; at++)
            words[at] = atomic_load_explicit(&survey->words[edition % 2][at], memory_order_acquire);
        memcpy(page, words, sizeof words);
        if (atomic_load_explicit(&survey->edition, memory_order_relaxed) != edition)
            continue;
        assert(page->deepest.count <= SURVEY_ROWS_MAX && page->slowest.count <= SURVEY_ROWS_MAX);
        return true;
    }
    return false;
}
