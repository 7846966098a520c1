// The verbs on files that act at once: open, reserve, cut, replace, close. All backends share these verbs.
//
// Success: the file exists, and its length is known. Failure: the kernel's -errno; a file that was opened is closed
// again.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/io.h"

enum { FLAGS = O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY };

// Syncs the directory of a path, so that a new name survives a crash.
static int sync_directory(const char *path) {
    char copy[PATH_MAX];
    if (strlen(path) >= sizeof copy)
        return -ENAMETOOLONG;
    strcpy(copy, path);
    int directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return -errno;
    int result = fsync(directory) < 0 ? -errno : 0;
    close(directory);
    return result;
}

// Makes the file, or opens a file that exists. Returns the descriptor or -errno.
static int open_or_make(const char *path) {
    int descriptor = open(path, FLAGS | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (descriptor < 0) {
        if (errno == EEXIST)
            descriptor = open(path, FLAGS);
        return descriptor < 0 ? -errno : descriptor;
    }
    int result = sync_directory(path);
    if (result < 0) {
        close(descriptor);
        return result;
    }
    return descriptor;
}

// Reads the file's length and last byte.
static int look_at_file(struct io_file *file) {
    struct stat status;
    if (fstat(file->number, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EOPNOTSUPP;
    char last = '\n';
    if (status.st_size > 0 && pread(file->number, &last, 1, status.st_size - 1) < 0)
        return -errno;
    file->bytes = (uint64_t)status.st_size;
    file->torn = last != '\n';
    return 0;
}

int io_file_open(struct io *io, const char *path, struct io_file *file) {
    (void)io;
    struct io_file fresh = {.number = open_or_make(path)};
    if (fresh.number < 0)
        return fresh.number;
    int result = look_at_file(&fresh);
    if (result < 0)
        close(fresh.number);
    else
        *file = fresh;
    return result;
}

// Returns the process's bound of a file's length. Uses the system call: getrlimit of the C library makes another one,
// prlimit64.
static uint64_t file_bytes_max(void) {
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
#ifdef SYS_getrlimit
    if (syscall(SYS_getrlimit, RLIMIT_FSIZE, &limit) < 0)
        return UINT64_MAX;
#else
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
        return UINT64_MAX;
#endif
    return limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
}

static bool is_informative(int error) {
    return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == EROFS ||
           error == EBADF;
}

int io_file_reserve(struct io *io, const struct io_file *file, uint64_t bytes) {
    (void)io;
    struct stat status;
    if (fstat(file->number, &status) < 0)
        return -errno;
    if (status.st_nlink == 0)
        return -ENOENT;
    if ((uint64_t)status.st_size + bytes > file_bytes_max())
        return -EFBIG;
    if (bytes && fallocate(file->number, FALLOC_FL_KEEP_SIZE, status.st_size, (off_t)bytes) < 0)
        return is_informative(errno) ? -errno : 0;
    return 0;
}

int io_file_cut(struct io *io, struct io_file *file, uint64_t written) {
    (void)io;
    uint64_t before = file->bytes;
    int result = look_at_file(file);
    if (result < 0) { // the file's content can't be known
        file->bytes = before + written;
        file->torn = true;
        return result;
    }
    if (file->bytes != before + written)
        return -ESTALE;
    if (ftruncate(file->number, (off_t)before) < 0)
        return -errno;
    return look_at_file(file);
}

int io_file_replace(struct io *io, struct io_file *file, struct io_file *fresh) {
    assert(file->number != fresh->number);
    int result;
    do
        result = dup3(fresh->number, file->number, O_CLOEXEC) < 0 ? -errno : 0;
    while (result == -EINTR || result == -EBUSY);
    if (result == 0)
        *file = (struct io_file){file->number, fresh->bytes, fresh->torn};
    io_file_close(io, fresh);
    return result;
}

void io_file_close(struct io *io, struct io_file *file) {
    (void)io;
    close(file->number);
    file->number = -1;
}
