// The hub's data for `patchbay top`: the last answers, unchanged, and their differences.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/limits.h"
#include "tools/top.h"

static bool keep(struct top_answer *answer, const uint8_t *text, struct span result, uint64_t now_ns) {
    uint8_t *copy = malloc((size_t)result.bytes + BUFFER_SLACK_BYTES);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, text + result.at, result.bytes);
    memset(copy + result.bytes, 0, BUFFER_SLACK_BYTES);
    free(answer->text);
    *answer =
        (struct top_answer){.text = copy, .all = {0, result.bytes}, .at_ns = now_ns, .bytes = result.bytes};
    return true;
}

static uint64_t number_in(const struct top_answer *answer, struct span group, const char *name) {
    uint64_t number = 0;
    if (answer->text == NULL) {
        return 0;
    }
    struct json_item item = json_member(answer->text, group, name);
    return item.type == JSON_NUMBER && json_number_whole(answer->text, item.value, &number) ? number : 0;
}

uint64_t top_number(const struct top_hub *hub, const char *name) {
    return number_in(&hub->now, hub->now.all, name);
}

double top_rate(const struct top_hub *hub, const char *name) {
    if (hub->before.text == NULL || hub->now.at_ns <= hub->before.at_ns) {
        return 0;
    }
    uint64_t now = top_number(hub, name), before = number_in(&hub->before, hub->before.all, name);
    double seconds = (double)(hub->now.at_ns - hub->before.at_ns) / 1e9;
    return now > before ? (double)(now - before) / seconds : 0;
}

// --- Histograms

enum { BUCKETS_MAX = 64 };

static unsigned read_buckets(const struct top_answer *answer, const char *histogram,
                             uint64_t buckets[BUCKETS_MAX]) {
    struct json_walk walk;
    struct json_item item;
    unsigned count = 0;
    memset(buckets, 0, BUCKETS_MAX * sizeof *buckets);
    if (answer->text == NULL) {
        return 0;
    }
    item = json_member(answer->text, answer->all, histogram);
    item = json_member(answer->text, item.value, "buckets");
    if (item.type != JSON_ARRAY) {
        return 0;
    }
    json_walk_begin(&walk, answer->text, item.value);
    for (; count < BUCKETS_MAX && json_next(&walk, &item) == JSON_ITEM; count++) {
        json_number_whole(answer->text, item.value, &buckets[count]);
    }
    return count;
}

uint64_t top_quantile(const struct top_hub *hub, const char *histogram, double share) {
    uint64_t now[BUCKETS_MAX], before[BUCKETS_MAX], all = 0, seen = 0;
    unsigned count = read_buckets(&hub->now, histogram, now);
    read_buckets(&hub->before, histogram, before);
    for (unsigned at = 0; at < count; at++) {
        now[at] = now[at] > before[at] ? now[at] - before[at] : 0;
        all += now[at];
    }
    for (unsigned at = 0; at < count; at++) {
        seen += now[at];
        if (seen > 0 && (double)seen >= share * (double)all) {
            return at == 0 ? 0 : UINT64_C(1) << at;
        }
    }
    return 0;
}

const char *top_name(char *out, size_t room, const uint8_t *text, struct span string) {
    size_t count = string.bytes > 1 ? json_string_decode(text, string, out, room - 1) : 0;
    count = count == SIZE_MAX ? 0 : count;
    for (size_t at = 0; at < count; at++) {
        out[at] = out[at] >= ' ' && out[at] < 0x7f ? out[at] : '?';
    }
    out[count] = '\0';
    return count > 0 ? out : strcpy(out, "-");
}

// --- Whether the hub is well

// Counters that rise when the hub, or a peer of it, doesn't keep up, and what the counters mean.
static const struct {
    const char *name, *means;
} alarms[] = {
    {"dropped_events_overloaded", "events dropped because subscribers read too slowly"},
    {"dropped_events_no_memory", "events dropped for lack of memory"},
    {"dropped_notifications_overloaded", "notifications dropped because queues are full"},
    {"dropped_frames_no_memory", "frames dropped for lack of memory"},
    {"closed_slow_readers", "connections closed because they read too slowly"},
    {"closed_no_memory", "connections closed for lack of memory"},
    {"connections_refused", "connections refused"},
    {"receives_without_buffer", "receives that waited for memory"},
    {"accepts_failed", "connections that the system did not let in"},
    {"requests_timed_out", "requests that timed out"},
    {"journal_entries_failed", "entries of the audit journal that were not written"},
    {"journal_reopens_failed", "times that the audit journal was not opened again"},
    {"reloads_failed", "changed configurations that were not taken up"},
};
enum { ALARMS = sizeof alarms / sizeof alarms[0] };
_Static_assert((int)ALARMS <= (int)TOP_ALARMS_MAX, "each has its place");

static void add_reason(struct text *out, const char *format, double number, const char *rest) {
    char line[256];
    snprintf(line, sizeof line, format, number, rest);
    text_put(out, line);
}

static void add_alarm(struct text *out, const char *means, uint64_t count) {
    text_put(out, means);
    text_put(out, ": ");
    text_number(out, (int64_t)count);
    text_put(out, " in the last minute\n");
}

bool top_is_down(const struct top_hub *hub, const struct top_agent *agent) {
    return agent->state.bytes > 0 && json_string_is(hub->agents.text, agent->state, "down");
}

// Adds a line about programs that stay down, with their names once the agents are known.
static void add_children_down(const struct top_hub *hub, uint64_t count, struct text *out) {
    char name[256];
    text_put(out, "programs that stay down: ");
    text_number(out, (int64_t)count);
    const char *before = " (";
    for (size_t at = 0; at < hub->row_count; at++) {
        if (top_is_down(hub, &hub->rows[at])) {
            text_put(out, before);
            text_put(out, top_name(name, sizeof name, hub->agents.text, hub->rows[at].id));
            before = ", ";
        }
    }
    text_put(out, *before == ',' ? ")\n" : "\n");
}

void top_reasons(const struct top_hub *hub, struct text *out) {
    struct json_item phase = json_member(hub->now.text, hub->now.all, "phase");
    if (phase.type == JSON_STRING && !json_string_is(hub->now.text, phase.value, "serving")) {
        text_put(out, "it ends, and takes nothing new\n");
    }
    double bound = (double)top_number(hub, "memory_bytes_max");
    double used = (double)(top_number(hub, "buffer_bytes") + top_number(hub, "kept_bytes"));
    if (bound > 0 && used >= bound * 13 / 16) {
        add_reason(out, "%.0f %% of its memory is used%s\n", used * 100 / bound, "");
    }
    double connections = (double)top_number(hub, "connections");
    if (connections >= 0.9 * (double)top_number(hub, "connections_max")) {
        add_reason(out, "%.0f connections, of which there may be hardly more%s\n", connections, "");
    }
    if (top_number(hub, "children_down") > 0) {
        add_children_down(hub, top_number(hub, "children_down"), out);
    }
    uint64_t oldest = hub->answers > TOP_MINUTE ? hub->answers - TOP_MINUTE : 0;
    for (unsigned at = 0; at < ALARMS && hub->answers > 0; at++) {
        uint64_t now = top_number(hub, alarms[at].name), then = hub->alarms[oldest % TOP_MINUTE][at];
        if (now > then) {
            add_alarm(out, alarms[at].means, now - then);
        }
    }
}

// --- Answers

// Returns whether the answers are of two processes, and so of two hubs.
static bool is_another(const struct top_hub *hub) {
    return hub->before.text != NULL &&
           (top_number(hub, "pid") != number_in(&hub->before, hub->before.all, "pid"));
}

bool top_take_stats(struct top_hub *hub, const uint8_t *text, struct span result, uint64_t now_ns) {
    free(hub->before.text);
    hub->before = hub->now;
    hub->now.text = NULL;
    if (!keep(&hub->now, text, result, now_ns)) {
        return false;
    }
    if (is_another(hub)) {
        free(hub->before.text);
        hub->before.text = NULL;
        hub->answers = 0;
    }
    for (unsigned at = 0; at < ALARMS; at++) {
        hub->alarms[hub->answers % TOP_MINUTE][at] = top_number(hub, alarms[at].name);
    }
    hub->answers++;
    return true;
}

static struct top_agent read_agent(const struct top_answer *answer, struct span agent) {
    struct json_item child = json_member(answer->text, agent, "child"), state = {0};
    if (child.type == JSON_OBJECT) {
        state = json_member(answer->text, child.value, "state");
    }
    return (struct top_agent){
        .state = state.type == JSON_STRING ? state.value : (struct span){0},
        .id = json_member(answer->text, agent, "agentId").value,
        .level = json_member(answer->text, agent, "governanceLevel").value,
        .pending = number_in(answer, agent, "pending"),
        .since_ms = number_in(answer, agent, "connectedSince"),
    };
}

bool top_take_agents(struct top_hub *hub, const uint8_t *text, struct span result, uint64_t now_ns) {
    struct json_walk walk;
    struct json_item item;
    size_t capacity = 0;
    hub->row_count = 0;
    if (!keep(&hub->agents, text, result, now_ns)) {
        return false;
    }
    item = json_member(hub->agents.text, hub->agents.all, "agents");
    if (item.type != JSON_ARRAY) {
        return true;
    }
    free(hub->rows);
    hub->rows = NULL;
    json_walk_begin(&walk, hub->agents.text, item.value);
    while (json_next(&walk, &item) == JSON_ITEM) {
        if (hub->row_count == capacity) {
            capacity = capacity > 0 ? capacity * 2 : 64;
            struct top_agent *rows = realloc(hub->rows, capacity * sizeof *rows);
            if (rows == NULL) {
                return false;
            }
            hub->rows = rows;
        }
        hub->rows[hub->row_count++] = read_agent(&hub->agents, item.value);
    }
    return true;
}

void top_forget(struct top_hub *hub) {
    free(hub->now.text);
    free(hub->before.text);
    free(hub->agents.text);
    free(hub->rows);
    *hub = (struct top_hub){0};
}

// --- The order of the agents

static const uint8_t *sorted_text;

static int by_span(struct span left, struct span right) {
    uint32_t bytes = left.bytes < right.bytes ? left.bytes : right.bytes;
    int order = memcmp(sorted_text + left.at, sorted_text + right.at, bytes);
    return order != 0 ? order : (left.bytes > right.bytes) - (left.bytes < right.bytes);
}
static int by_name(const void *left, const void *right) {
    return by_span(((const struct top_agent *)left)->id, ((const struct top_agent *)right)->id);
}
static int by_pending(const void *left, const void *right) {
    uint64_t one = ((const struct top_agent *)left)->pending,
             other = ((const struct top_agent *)right)->pending;
    return one != other ? (one < other) - (one > other) : by_name(left, right);
}
static int by_level(const void *left, const void *right) {
    int order = by_span(((const struct top_agent *)left)->level, ((const struct top_agent *)right)->level);
    return order != 0 ? order : by_name(left, right);
}
static int by_age(const void *left, const void *right) {
    uint64_t one = ((const struct top_agent *)left)->since_ms,
             other = ((const struct top_agent *)right)->since_ms;
    return one != other ? (one > other) - (one < other) : by_name(left, right);
}

void top_sort_agents(struct top_hub *hub, enum top_sort by) {
    static int (*const orders[TOP_SORTS])(const void *, const void *) = {[TOP_BY_PENDING] = by_pending,
                                                                         [TOP_BY_NAME] = by_name,
                                                                         [TOP_BY_LEVEL] = by_level,
                                                                         [TOP_BY_AGE] = by_age};
    sorted_text = hub->agents.text;
    if (hub->row_count > 1) {
        qsort(hub->rows, hub->row_count, sizeof *hub->rows, orders[by]);
    }
}
