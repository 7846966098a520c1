#include "io/log.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/log/log_secret.h"

// The settings, which processes share. `rates` has a window and a count of suppressed lines for each kind of event with
// a bound. A window is one word, so that no lock is needed.
struct log_state {
    _Atomic uint32_t format, level;
    pthread_mutex_t lines; // locked while lines are written: a pipe takes more than PIPE_BUF bytes in parts
    bool is_torn;          // the last write ended within a line
    _Atomic uint64_t lost; // lines that weren't written, or not completely
    struct {
        _Atomic uint64_t window; // the second, and in the lowest SPENT_BITS the number of its lines
        _Atomic uint64_t suppressed;
    } rates[LOG_EVENTS_COUNT];
};

enum { SPENT_BITS = 16, FIELD_BYTES_MAX = 6 << 10 };

static struct log_state own_state = {
    .format = LOG_FORMAT_TEXT, .level = LOG_LEVEL_INFO, .lines = PTHREAD_MUTEX_INITIALIZER};
static struct log_state *state = &own_state;
static bool is_journal, is_muted;

static bool is_journals(const char *stream) {
    struct stat status;
    unsigned long long device, inode;
    char end;
    return stream && sscanf(stream, "%llu:%llu%c", &device, &inode, &end) == 2 && fstat(2, &status) == 0 &&
           status.st_dev == device && status.st_ino == inode;
}

// Makes a mutex for several processes. If a process ends with the mutex locked, the next process can lock it.
static bool make_mutex(pthread_mutex_t *mutex) {
    pthread_mutexattr_t kind;
    return pthread_mutexattr_init(&kind) == 0 &&
           pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) == 0 &&
           pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST) == 0 &&
           pthread_mutex_init(mutex, &kind) == 0;
}

void log_begin(void) {
    assert(state == &own_state);
    struct log_state *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED && make_mutex(&shared->lines)) {
        atomic_init(&shared->format, LOG_FORMAT_TEXT);
        atomic_init(&shared->level, LOG_LEVEL_INFO);
        state = shared;
    }
    is_journal = is_journals(getenv("JOURNAL_STREAM"));
}

void log_set(enum log_format format, enum log_level level) {
    assert(format < LOG_FORMATS_COUNT && level < LOG_LEVELS_COUNT);
    atomic_store_explicit(&state->format, format, memory_order_relaxed);
    atomic_store_explicit(&state->level, level, memory_order_relaxed);
}

void log_mute(bool muted) {
    is_muted = muted;
}

static enum log_format format_now(void) {
    return (enum log_format)atomic_load_explicit(&state->format, memory_order_relaxed);
}

bool log_is_written(enum log_event event) {
    const struct log_kind *kind = log_kind_of(event);
    return !is_muted && kind->level <= atomic_load_explicit(&state->level, memory_order_relaxed) &&
           !(kind->is_silent && format_now() == LOG_FORMAT_TEXT);
}

static uint64_t unix_ms(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// --- Rates

// Takes one of the lines that the event may have in this second. Returns false, and counts the line as suppressed, if
// there are none left.
static bool take_line(enum log_event event, uint64_t second) {
    _Atomic uint64_t *window = &state->rates[event].window;
    uint32_t most = log_kind_of(event)->per_second;
    uint64_t now = atomic_load_explicit(window, memory_order_relaxed), next;
    assert(most < 1u << SPENT_BITS);
    if (most == 0)
        return true;
    do {
        bool is_same = now >> SPENT_BITS == second;
        if (is_same && (now & ((1u << SPENT_BITS) - 1)) >= most) {
            atomic_fetch_add_explicit(&state->rates[event].suppressed, 1, memory_order_relaxed);
            return false;
        }
        next = (is_same ? now : second << SPENT_BITS) + 1;
    } while (!atomic_compare_exchange_weak_explicit(window, &now, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

// --- Lines

// Writes as much as possible without waiting, and returns the number of bytes. A disk may be full, or fail.
static size_t write_bytes(const char *bytes, size_t count) {
    struct pollfd room = {.fd = 2, .events = POLLOUT};
    size_t done = 0;
    while (done < count) {
        size_t left = count - done;
        size_t part = left < PIPE_BUF ? left : PIPE_BUF; // a pipe with any room takes so many bytes
        int ready = poll(&room, 1, 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready != 1 || !(room.revents & POLLOUT))
            return done;
        ssize_t written = write(2, bytes + done, part);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return done;
        done += (size_t)written;
    }
    return done;
}

static void count_lost(const char *lines, size_t bytes) {
    uint64_t count = 0;
    for (size_t at = 0; at < bytes; at++)
        count += lines[at] == '\n';
    atomic_fetch_add_explicit(&state->lost, count, memory_order_relaxed);
}

uint64_t log_lines_lost(void) {
    return atomic_load_explicit(&state->lost, memory_order_relaxed);
}

void log_write_lines(const char *lines, size_t bytes) {
    if (bytes == 0)
        return;
    assert(lines[bytes - 1] == '\n');
    if (pthread_mutex_lock(&state->lines) == EOWNERDEAD)
        pthread_mutex_consistent(&state->lines);
    size_t done = 0;
    if (!state->is_torn || write_bytes("\n", 1) == 1) {
        done = write_bytes(lines, bytes);
        state->is_torn = done > 0 ? done < bytes : false;
    }
    if (done < bytes)
        count_lost(lines + done, bytes - done);
    pthread_mutex_unlock(&state->lines);
}

// Copies fields that are text to `room`, with credentials hidden. Texts that don't fit are cut.
static void hide_in_fields(struct log_fields fields, struct log_field out[LOG_FIELDS_MAX],
                           char room[FIELD_BYTES_MAX]) {
    size_t used = 0;
    assert(fields.count <= LOG_FIELDS_MAX);
    for (uint32_t at = 0; at < fields.count; at++) {
        out[at] = fields.fields[at];
        if (!out[at].text)
            continue;
        size_t left = FIELD_BYTES_MAX - used, bytes = out[at].bytes < left ? out[at].bytes : left;
        if (bytes > 0)
            memcpy(room + used, out[at].text, bytes);
        out[at].text = room + used;
        out[at].bytes = log_hide_credentials(room + used, bytes);
        used += out[at].bytes;
    }
}

static size_t put_line(char *out, size_t capacity, enum log_event event, struct log_fields fields,
                       const char *format, va_list arguments) {
    char message[LOG_EVENT_BYTES], room[FIELD_BYTES_MAX];
    struct log_field hidden[LOG_FIELDS_MAX];
    int bytes = vsnprintf(message, sizeof message, format, arguments);
    size_t length = bytes < 0 ? 0 : (size_t)bytes < sizeof message ? (size_t)bytes : sizeof message - 1;
    hide_in_fields(fields, hidden, room);
    const struct log_record record = {.event = event,
                                      .unix_ms = unix_ms(),
                                      .fields = hidden,
                                      .field_count = fields.count,
                                      .message = message,
                                      .message_bytes = log_hide_credentials(message, length)};
    return log_event_format(&record, format_now(), is_journal, out, capacity);
}

size_t log_compose(char *out, size_t capacity, enum log_event event, struct log_fields fields,
                   const char *format, ...) {
    if (!log_is_written(event))
        return 0;
    va_list arguments;
    va_start(arguments, format);
    size_t bytes = put_line(out, capacity, event, fields, format, arguments);
    va_end(arguments);
    return bytes;
}

bool log_write(enum log_event event, struct log_fields fields, const char *format, ...) {
    char line[LOG_EVENT_BYTES];
    if (!log_is_written(event))
        return true;
    if (!take_line(event, unix_ms() / 1000))
        return false;
    va_list arguments;
    va_start(arguments, format);
    log_write_lines(line, put_line(line, sizeof line, event, fields, format, arguments));
    va_end(arguments);
    return true;
}

static void tell_count(enum log_event event, uint64_t now_ms) {
    const struct log_kind *kind = log_kind_of(event);
    char line[LOG_EVENT_BYTES], message[96];
    struct log_field unknown[LOG_FIELDS_MAX] = {{.text = NULL}};
    uint64_t count = atomic_exchange_explicit(&state->rates[event].suppressed, 0, memory_order_relaxed);
    if (count == 0)
        return;
    int bytes = snprintf(message, sizeof message, "%s: %llu more were not logged", kind->name,
                         (unsigned long long)count);
    struct log_record record = {event, now_ms, unknown, 0, count, message, (size_t)bytes};
    while (kind->fields[record.field_count])
        record.field_count++;
    log_write_lines(line, log_event_format(&record, format_now(), is_journal, line, sizeof line));
}

void log_tell_suppressed(void) {
    uint64_t now_ms = unix_ms();
    for (enum log_event event = 0; event < LOG_EVENTS_COUNT; event++)
        tell_count(event, now_ms);
}
