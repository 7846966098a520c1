#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io/keeper_process.h"

enum { READ_BYTES = 16 << 10, READS_A_TURN = 8, LINE_BYTES_MAX = 256 + LOG_TEXT_BYTES + 4 };

struct sinking {
    struct keeping *keeping;
    struct kept_child *child;
};

// Nobody waits for a log that isn't read: what finds no room in it is left out.
static void write_log(const char *line, size_t bytes) {
    struct pollfd room = {.fd = 2, .events = POLLOUT};
    while (bytes > 0) {
        size_t part = bytes < 4096 ? bytes : 4096; // PIPE_BUF: so much fits where a pipe has room at all
        if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
            return;
        ssize_t written = write(2, line, part);
        if (written <= 0)
            return;
        line += written;
        bytes -= (size_t)written;
    }
}

static void keep_line(struct keeper_place *place, const char *text, size_t bytes) {
    uint64_t end = atomic_load_explicit(&place->log_end, memory_order_relaxed);
    assert(bytes < KEEPER_LOG_BYTES);
    for (size_t at = 0; at < bytes; at++)
        place->log[end++ % KEEPER_LOG_BYTES] = text[at];
    place->log[end++ % KEEPER_LOG_BYTES] = '\n';
    atomic_store_explicit(&place->log_end, end, memory_order_release);
}

static void sink(void *context, const char *text, size_t bytes) {
    const struct sinking *sinking = context;
    char line[LINE_BYTES_MAX];
    int head = snprintf(line, sizeof line, "%s: ", sinking->child->name);
    assert(bytes <= LOG_TEXT_BYTES && head > 0 && (size_t)head + bytes < sizeof line);
    keep_line(&sinking->keeping->shared->places[sinking->child->place], text, bytes);
    memcpy(line + head, text, bytes);
    line[(size_t)head + bytes] = '\n';
    write_log(line, (size_t)head + bytes + 1);
}

uint64_t keeping_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void keeping_end_log(struct keeping *keeping, struct kept_child *child) {
    struct sinking sinking = {keeping, child};
    if (child->complaints < 0)
        return;
    close(child->complaints);
    child->complaints = -1;
    log_lines_end(&child->lines, keeping_now_ms(), sink, &sinking);
}

void keeping_read(struct keeping *keeping, struct kept_child *child) {
    static uint8_t bytes[READ_BYTES];
    struct sinking sinking = {keeping, child};
    for (unsigned left = READS_A_TURN; left > 0 && child->complaints >= 0; left--) {
        ssize_t count = read(child->complaints, bytes, sizeof bytes);
        if (count > 0)
            log_lines_add(&child->lines, bytes, (size_t)count, keeping_now_ms(), sink, &sinking);
        else if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        else
            keeping_end_log(keeping, child);
    }
}

static uint64_t resident_bytes(pid_t process) {
    char path[64], text[128];
    unsigned long long size, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (count <= 0)
        return 0;
    text[count] = '\0';
    return sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void keeping_sample(struct keeping *keeping) {
    for (struct kept_child *child = keeping->children; child; child = child->next)
        atomic_store_explicit(&keeping->shared->places[child->place].memory_bytes,
                              child->reaped ? 0 : resident_bytes(child->group), memory_order_relaxed);
}
