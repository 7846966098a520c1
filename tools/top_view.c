// The view of `patchbay top`: lines of text, cut to the width, with the most important lines first.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/top.h"

enum { LINE_BYTES_MAX = 512, SHARDS_SHOWN = 8 };

// The picture that is being drawn.
struct sheet {
    const struct top_hub *hub;
    const struct top_view *view;
    struct text *out;
    unsigned lines;
};

// --- Lines

static bool has_room(const struct sheet *sheet, unsigned kept) {
    return sheet->view->height == 0 || sheet->lines + kept < sheet->view->height;
}

// Writes one line, cut to the width, in a style (an SGR) or none. Texts of strangers are ASCII by now.
static void put_line(struct sheet *sheet, const char *style, const char *line) {
    size_t bytes = strlen(line), width = sheet->view->width;
    if (!has_room(sheet, 0)) {
        return;
    }
    bool styled = sheet->view->colours && style[0] != '\0';
    text_put(sheet->out, styled ? style : "");
    text_add(sheet->out, line, width > 0 && bytes > width ? width : bytes);
    text_put(sheet->out, styled ? "\033[0m" : "");
    text_put(sheet->out, "\n");
    sheet->lines++;
}

__attribute__((format(printf, 3, 4))) static void line(struct sheet *sheet, const char *style,
                                                       const char *format, ...) {
    char out[LINE_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out, sizeof out, format, arguments);
    va_end(arguments);
    put_line(sheet, style, out);
}

static const char plain[] = "", bold[] = "\033[1m", inverse[] = "\033[7m", good[] = "\033[1;32m",
                  bad[] = "\033[1;33m";

// --- Values

enum { VALUE_BYTES = 24, NAME_BYTES = 256 };

static const char *scaled(char out[VALUE_BYTES], double value, double base, const char *const units[5]) {
    unsigned unit = 0;
    for (; value >= base && unit < 4; unit++) {
        value /= base;
    }
    snprintf(out, VALUE_BYTES, unit == 0 || value >= 100 ? "%.0f%s" : "%.1f%s", value, units[unit]);
    return out;
}

static const char *number(char out[VALUE_BYTES], double value) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    return scaled(out, value, 1000, units);
}
static const char *bytes(char out[VALUE_BYTES], double value) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    return scaled(out, value, 1024, units);
}
static const char *micros(char out[VALUE_BYTES], uint64_t us) {
    snprintf(out, VALUE_BYTES,
             us < 1000      ? "%.0fus"
             : us < 1000000 ? "%.1fms"
                            : "%.1fs",
             (double)us / (us < 1000      ? 1
                           : us < 1000000 ? 1e3
                                          : 1e6));
    return out;
}
static const char *duration(char out[VALUE_BYTES], uint64_t ms) {
    uint64_t seconds = ms / 1000;
    if (seconds < 1) {
        snprintf(out, VALUE_BYTES, "%llums", (unsigned long long)ms);
    } else if (seconds < 120) {
        snprintf(out, VALUE_BYTES, "%llus", (unsigned long long)seconds);
    } else if (seconds < 7200) {
        snprintf(out, VALUE_BYTES, "%llum", (unsigned long long)(seconds / 60));
    } else {
        snprintf(out, VALUE_BYTES, "%lluh%02llum", (unsigned long long)(seconds / 3600),
                 (unsigned long long)(seconds / 60 % 60));
    }
    return out;
}

static const char *name_of(char out[NAME_BYTES], const uint8_t *text, struct span string) {
    return top_name(out, NAME_BYTES, text, string);
}

static uint64_t value_of(const uint8_t *text, struct span row, const char *key) {
    uint64_t value = 0;
    struct json_item item = json_member(text, row, key);
    return item.type == JSON_NUMBER && json_number_whole(text, item.value, &value) ? value : 0;
}

// --- The head

static void draw_verdict(struct sheet *sheet) {
    char version[NAME_BYTES], up[VALUE_BYTES];
    const struct top_hub *hub = sheet->hub;
    struct text reasons = {0};
    top_reasons(hub, &reasons);
    bool well = reasons.length == 0;
    line(sheet, well ? good : bad, "%s  %s  patchbay %s, pid %llu, up %s", well ? "WELL" : "ATTENTION",
         sheet->view->hub,
         name_of(version, hub->now.text, json_member(hub->now.text, hub->now.all, "version").value),
         (unsigned long long)top_number(hub, "pid"), duration(up, top_number(hub, "uptime_ms")));
    text_add(&reasons, "", 1);
    for (char *at = reasons.bytes, *end; !reasons.failed && (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        line(sheet, bad, "  %s", at);
    }
    text_deinit(&reasons);
}

static double sum_rates(const struct top_hub *hub, const char *const *names, size_t count) {
    double sum = 0;
    for (size_t at = 0; at < count; at++) {
        sum += top_rate(hub, names[at]);
    }
    return sum;
}

static void draw_flow(struct sheet *sheet) {
    static const char *const received[] = {"requests_received", "notifications_received",
                                           "responses_received", "hcs_frames_received"};
    static const char *const sent[] = {
        "requests_forwarded", "notifications_forwarded", "responses_forwarded",
        "progress_forwarded", "cancels_forwarded",       "events_delivered",
        "answered_by_hub",    "errors_by_hub",           "hcs_frames_delivered"};
    const struct top_hub *hub = sheet->hub;
    char one[VALUE_BYTES], two[VALUE_BYTES], three[VALUE_BYTES], four[VALUE_BYTES];
    line(sheet, plain, "messages/s  in %-8s out %-8s   bytes/s  in %-9s out %s",
         number(one, sum_rates(hub, received, sizeof received / sizeof received[0])),
         number(two, sum_rates(hub, sent, sizeof sent / sizeof sent[0])),
         bytes(three, top_rate(hub, "bytes_received")), bytes(four, top_rate(hub, "bytes_sent")));
    line(sheet, plain, "latency     50%% < %-6s 99%% < %-6s   queues   %-9s pending %llu",
         micros(one, top_quantile(hub, "latency_us", 0.5)),
         micros(two, top_quantile(hub, "latency_us", 0.99)),
         bytes(three, (double)top_number(hub, "queued_bytes")),
         (unsigned long long)top_number(hub, "pending"));
}

static void draw_connections(struct sheet *sheet) {
    const struct top_hub *hub = sheet->hub;
    char kinds[LINE_BYTES_MAX] = "", name[NAME_BYTES];
    struct json_item item = json_member(hub->now.text, hub->now.all, "by_transport");
    struct json_walk walk;
    uint64_t count;
    if (item.type == JSON_OBJECT) {
        json_walk_begin(&walk, hub->now.text, item.value);
        while (json_next(&walk, &item) == JSON_ITEM) {
            size_t at = strlen(kinds);
            if (json_number_whole(hub->now.text, item.value, &count) && count > 0) {
                snprintf(kinds + at, sizeof kinds - at, "  %s %llu", name_of(name, hub->now.text, item.key),
                         (unsigned long long)count);
            }
        }
    }
    line(sheet, plain, "connections %llu of %llu%s   agents %llu",
         (unsigned long long)top_number(hub, "connections"),
         (unsigned long long)top_number(hub, "connections_max"), kinds,
         (unsigned long long)top_number(hub, "agents"));
}

static void draw_memory(struct sheet *sheet) {
    enum { BAR = 30 };
    static const char full[BAR + 1] = "##############################",
                                 empty[BAR + 1] = "..............................";
    const struct top_hub *hub = sheet->hub;
    char one[VALUE_BYTES], two[VALUE_BYTES];
    double used = (double)(top_number(hub, "buffer_bytes") + top_number(hub, "kept_bytes"));
    double bound = (double)top_number(hub, "memory_bytes_max"), share = bound > 0 ? used / bound : 0;
    int filled = share >= 1 ? BAR : (int)(share * BAR + 0.5);
    line(sheet, plain, "memory      [%.*s%.*s] %.1f%%  %s of %s", filled, full, BAR - filled, empty,
         share * 100, bytes(one, used), bytes(two, bound));
}

// --- Shards

static void draw_shard(struct sheet *sheet, unsigned index, struct span now, struct span before) {
    const struct top_hub *hub = sheet->hub;
    const uint8_t *text = hub->now.text, *was = hub->before.text;
    double seconds = (double)(hub->now.at_ns - hub->before.at_ns) / 1e9;
    char frames[VALUE_BYTES] = "-", sent[VALUE_BYTES] = "-", cpu[VALUE_BYTES] = "-", queued[VALUE_BYTES];
    if (was != NULL && seconds > 0) {
        number(frames,
               (double)(value_of(text, now, "frames_received") - value_of(was, before, "frames_received")) /
                   seconds);
        bytes(sent,
              (double)(value_of(text, now, "bytes_sent") - value_of(was, before, "bytes_sent")) / seconds);
    }
    if (json_member(text, hub->now.all, "surveyed_ms_ago").type == JSON_NUMBER) {
        snprintf(cpu, sizeof cpu, "%.0f%%", (double)value_of(text, now, "cpu_permille") / 10);
    }
    line(sheet, plain, "%5u %6s %12llu %10s %12s %9llu %10s", index, cpu,
         (unsigned long long)value_of(text, now, "connections"), frames, sent,
         (unsigned long long)value_of(text, now, "pending"),
         bytes(queued, (double)value_of(text, now, "queued_bytes")));
}

static void draw_shards(struct sheet *sheet) {
    const struct top_hub *hub = sheet->hub;
    struct json_item now = json_member(hub->now.text, hub->now.all, "per_shard"), before = {0};
    struct json_walk walk, old;
    if (now.type != JSON_ARRAY) {
        return;
    }
    line(sheet, bold, "SHARD    CPU  CONNECTIONS   FRAMES/S  BYTES OUT/S   PENDING     QUEUED");
    json_walk_begin(&walk, hub->now.text, now.value);
    if (hub->before.text != NULL) {
        before = json_member(hub->before.text, hub->before.all, "per_shard");
        json_walk_begin(&old, hub->before.text, before.value);
    }
    for (unsigned index = 0; index < SHARDS_SHOWN && json_next(&walk, &now) == JSON_ITEM; index++) {
        if (hub->before.text != NULL && json_next(&old, &before) != JSON_ITEM) {
            return;
        }
        draw_shard(sheet, index, now.value, before.value);
    }
}

// --- The lower part, which the user chooses

static void draw_agents(struct sheet *sheet) {
    const struct top_hub *hub = sheet->hub;
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t now_ms = (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000;
    line(sheet, bold, "%-40s %-18s %8s %10s  %s", "AGENT", "LEVEL", "OWES", "CONNECTED", "CHILD");
    for (size_t at = 0; at < hub->row_count && has_room(sheet, 1); at++) {
        const struct top_agent *agent = &hub->rows[at];
        char id[NAME_BYTES], level[NAME_BYTES], state[NAME_BYTES], since[VALUE_BYTES];
        line(sheet, top_is_down(hub, agent) ? bad : plain, "%-40s %-18s %8llu %10s  %s",
             name_of(id, hub->agents.text, agent->id), name_of(level, hub->agents.text, agent->level),
             (unsigned long long)agent->pending,
             duration(since, now_ms > agent->since_ms ? now_ms - agent->since_ms : 0),
             name_of(state, hub->agents.text, agent->state));
    }
}

// Writes the names of the agents in one row of a survey.
static const char *names_of(char out[LINE_BYTES_MAX], const uint8_t *text, struct span row) {
    struct json_item item = json_member(text, row, "agents");
    struct json_walk walk;
    char name[NAME_BYTES];
    out[0] = '\0';
    if (item.type == JSON_ARRAY) {
        json_walk_begin(&walk, text, item.value);
        while (json_next(&walk, &item) == JSON_ITEM) {
            size_t at = strlen(out);
            snprintf(out + at, LINE_BYTES_MAX - at, "%s%s", at > 0 ? ", " : "",
                     name_of(name, text, item.value));
        }
    }
    return out[0] != '\0' ? out : strcpy(out, "(a connection without agents)");
}

static void draw_survey(struct sheet *sheet, const char *title, const char *list, const char *value,
                        const char *(*write)(char *, const uint8_t *, struct span), const char *count) {
    const uint8_t *text = sheet->hub->now.text;
    struct json_item item = json_member(text, sheet->hub->now.all, list);
    struct json_walk walk;
    line(sheet, bold, "%-52s %12s %10s", title, value, count);
    if (item.type != JSON_ARRAY) {
        return;
    }
    json_walk_begin(&walk, text, item.value);
    while (json_next(&walk, &item) == JSON_ITEM && has_room(sheet, 1)) {
        char names[LINE_BYTES_MAX], shown[VALUE_BYTES];
        uint64_t more = value_of(text, item.value, strcmp(count, "PENDING") == 0 ? "pending" : "frames");
        line(sheet, plain, "%-52.52s %12s %10llu", names_of(names, text, item.value),
             write(shown, text, item.value), (unsigned long long)more);
    }
}

static const char *write_age(char *out, const uint8_t *text, struct span row) {
    return duration(out, value_of(text, row, "oldest_ms"));
}
static const char *write_bytes(char *out, const uint8_t *text, struct span row) {
    return bytes(out, (double)value_of(text, row, "bytes"));
}

static void draw_sessions(struct sheet *sheet) {
    const uint8_t *text = sheet->hub->now.text;
    struct json_item item = json_member(text, sheet->hub->now.all, "sessions");
    struct json_walk walk;
    if (item.type != JSON_ARRAY) {
        return;
    }
    line(sheet, bold, "%-40s %-12s %9s %6s %10s", "HCS SESSIONS OF", "STATE", "CLIENTS", "BEHIND", "SEQ");
    json_walk_begin(&walk, text, item.value);
    while (json_next(&walk, &item) == JSON_ITEM && has_room(sheet, 1)) {
        char names[LINE_BYTES_MAX], state[NAME_BYTES];
        line(sheet, plain, "%-40.40s %-12.12s %9llu %6llu %10llu", names_of(names, text, item.value),
             name_of(state, text, json_member(text, item.value, "state").value),
             (unsigned long long)value_of(text, item.value, "clients"),
             (unsigned long long)(value_of(text, item.value, "over") + value_of(text, item.value, "stuck")),
             (unsigned long long)value_of(text, item.value, "seq"));
    }
}

static void draw_servers(struct sheet *sheet, struct json_item list) {
    const uint8_t *text = sheet->hub->now.text;
    struct json_item item;
    struct json_walk walk;
    json_walk_begin(&walk, text, list.value);
    for (bool is_first = true; json_next(&walk, &item) == JSON_ITEM && has_room(sheet, 1); is_first = false) {
        char name[NAME_BYTES];
        if (is_first) {
            line(sheet, bold, "%-40s %9s %9s %9s %9s", "MCP SERVERS", "LEGACY", "MODERN", "SESSIONS",
                 "RESTARTS");
        }
        line(sheet, plain, "%-40.40s %9llu %9llu %9llu %9llu",
             name_of(name, text, json_member(text, item.value, "name").value),
             (unsigned long long)value_of(text, item.value, "legacyClients"),
             (unsigned long long)value_of(text, item.value, "modernClients"),
             (unsigned long long)value_of(text, item.value, "sessions"),
             (unsigned long long)value_of(text, item.value, "restarts"));
    }
}

static void draw_tools(struct sheet *sheet, struct json_item list) {
    const uint8_t *text = sheet->hub->now.text;
    struct json_item item;
    struct json_walk walk;
    json_walk_begin(&walk, text, list.value);
    for (bool is_first = true; json_next(&walk, &item) == JSON_ITEM && has_room(sheet, 1); is_first = false) {
        char server[NAME_BYTES], tool[NAME_BYTES], mean[VALUE_BYTES], most[VALUE_BYTES];
        if (is_first) {
            line(sheet, bold, "%-20s %-30s %9s %9s %10s %10s", "SLOWEST TOOLS OF", "TOOL", "CALLS", "ERRORS",
                 "MEAN", "MOST");
        }
        line(sheet, plain, "%-20.20s %-30.30s %9llu %9llu %10s %10s",
             name_of(server, text, json_member(text, item.value, "server").value),
             name_of(tool, text, json_member(text, item.value, "tool").value),
             (unsigned long long)value_of(text, item.value, "calls"),
             (unsigned long long)value_of(text, item.value, "errors"),
             duration(mean, value_of(text, item.value, "meanMs")),
             duration(most, value_of(text, item.value, "maxMs")));
    }
}

static void draw_mcp(struct sheet *sheet) {
    const uint8_t *text = sheet->hub->now.text;
    struct json_item mcp = json_member(text, sheet->hub->now.all, "mcp");
    if (mcp.type != JSON_OBJECT) {
        return;
    }
    struct json_item servers = json_member(text, mcp.value, "servers"),
                     tools = json_member(text, mcp.value, "slowest_tools");
    if (servers.type == JSON_ARRAY) {
        draw_servers(sheet, servers);
    }
    if (tools.type == JSON_ARRAY) {
        draw_tools(sheet, tools);
    }
}

static void draw_waiting(struct sheet *sheet) {
    draw_survey(sheet, "SLOWEST TARGETS", "slowest_targets", "OWES SINCE", write_age, "PENDING");
    draw_survey(sheet, "DEEPEST QUEUES", "deepest_queues", "WAITS", write_bytes, "FRAMES");
    draw_sessions(sheet);
    draw_mcp(sheet);
}

static bool is_loss(const uint8_t *text, struct span name) {
    static const char *const begins[] = {
        "dropped_",      "closed_",        "requests_timed_out", "requests_ended",
        "requests_aban", "errors_by_hub",  "framing_errors",     "connections_refused",
        "receives_with", "accepts_failed", "reloads_failed",     "journal_entries_"};
    for (size_t at = 0; at < sizeof begins / sizeof begins[0]; at++) {
        if (json_string_begins(text, name, begins[at])) {
            return true;
        }
    }
    return false;
}

static void draw_losses(struct sheet *sheet) {
    const struct top_hub *hub = sheet->hub;
    struct json_walk walk;
    struct json_item item;
    uint64_t count;
    line(sheet, bold, "%-52s %12s %12s", "DROPPED AND REFUSED", "A SECOND", "IN ALL");
    json_walk_begin(&walk, hub->now.text, hub->now.all);
    while (json_next(&walk, &item) == JSON_ITEM && has_room(sheet, 1)) {
        char name[NAME_BYTES], rate[VALUE_BYTES];
        if (item.type == JSON_NUMBER && is_loss(hub->now.text, item.key) &&
            json_number_whole(hub->now.text, item.value, &count) && count > 0) {
            name_of(name, hub->now.text, item.key);
            line(sheet, plain, "%-52s %12s %12llu", name, number(rate, top_rate(hub, name)),
                 (unsigned long long)count);
        }
    }
}

void top_draw(const struct top_hub *hub, const struct top_view *view, struct text *out) {
    static const char *const sorts[TOP_SORTS] = {"owes", "name", "level", "age"};
    struct sheet sheet = {.hub = hub, .view = view, .out = out};
    draw_verdict(&sheet);
    draw_flow(&sheet);
    draw_connections(&sheet);
    draw_memory(&sheet);
    line(&sheet, plain, "%s", "");
    draw_shards(&sheet);
    line(&sheet, plain, "%s", "");
    if (view->height == 0 || view->panel == TOP_AGENTS) {
        draw_agents(&sheet);
    }
    if (view->height == 0 || view->panel == TOP_WAITING) {
        draw_waiting(&sheet);
    }
    if (view->height == 0 || view->panel == TOP_LOSSES) {
        draw_losses(&sheet);
    }
    while (view->height > 0 && has_room(&sheet, 1)) {
        line(&sheet, plain, "%s", "");
    }
    if (view->height > 0) {
        line(&sheet, inverse,
             "q quit | 1 agents 2 waiting 3 losses | sort: o owes n name l level c connected (now: %s)",
             sorts[view->sort]);
    }
}
