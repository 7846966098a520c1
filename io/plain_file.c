#include "io/plain_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int plain_file_kind(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) < 0)
        return -errno;
    return S_ISREG(status.st_mode) ? 0 : S_ISDIR(status.st_mode) ? -EISDIR : -EOPNOTSUPP;
}

const char *plain_file_why(int error) {
    assert(error > 0);
    return error == EOPNOTSUPP || error == ENXIO ? "it is no regular file" : strerror(error);
}

// Opens a file. O_NONBLOCK: a FIFO would wait for a writer. O_NOCTTY: a terminal might become the hub's.
int plain_file_open(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return -errno;
    int fault = plain_file_kind(descriptor);
    if (!fault)
        return descriptor;
    close(descriptor);
    return fault;
}

int plain_file_check(const char *path) {
    int descriptor = plain_file_open(path);
    if (descriptor < 0)
        return descriptor;
    close(descriptor);
    return 0;
}

int plain_file_read(int file, char *text, size_t room, size_t *bytes) {
    ssize_t got;
    assert(file >= 0 && text);
    *bytes = 0;
    do {
        got = read(file, text + *bytes, room - *bytes);
        *bytes += got > 0 ? (size_t)got : 0;
    } while (*bytes < room && (got > 0 || (got < 0 && errno == EINTR)));
    return got < 0 ? -errno : 0;
}
