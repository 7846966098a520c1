// The simulated disk: files that grow, lose what wasn't synced, run out of room, and fail.
//
// A file's number, as the hub knows it, is its index. A write is carried out when the kernel gets to it, from
// the vectors as they are then.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kernel.h"

// --- For tests

const uint8_t *disk_file(const struct kernel *kernel, uint32_t index, size_t *count, size_t *synced) {
    if (index >= kernel->disk.file_count)
        return NULL;
    const struct disk_file *file = &kernel->disk.files[index];
    *count = file->bytes.end;
    *synced = file->synced;
    return file->bytes.bytes ? file->bytes.bytes : (const uint8_t *)"";
}

void disk_rename(struct kernel *kernel) {
    for (uint32_t index = 0; index < kernel->disk.file_count; index++) {
        free(kernel->disk.files[index].name);
        kernel->disk.files[index].name = NULL;
    }
}

void disk_remove(struct kernel *kernel) {
    disk_rename(kernel);
    for (uint32_t index = 0; index < kernel->disk.file_count; index++)
        kernel->disk.files[index].removed = true;
}

void disk_refuse(struct kernel *kernel, bool refuse) {
    kernel->disk.refuses = refuse;
}

void disk_room(struct kernel *kernel, size_t bytes) {
    kernel->disk.room = bytes;
}

void disk_hold(struct kernel *kernel, bool hold) {
    kernel->disk.held = hold;
}

void disk_forget(struct kernel *kernel) {
    disk_rename(kernel);
    for (uint32_t index = 0; index < kernel->disk.file_count; index++) {
        if (kernel->disk.files[index].opened)
            kernel_fail("file %u was never closed", index);
        free(kernel->disk.files[index].bytes.bytes);
    }
}

// --- Verbs that are done at once

static int find_or_make(struct disk *disk, const char *path) {
    for (uint32_t index = 0; index < disk->file_count; index++)
        if (disk->files[index].name && strcmp(disk->files[index].name, path) == 0)
            return (int)index;
    if (disk->file_count == FILES_MAX)
        kernel_fail("too many files");
    disk->files[disk->file_count].name = strdup(path);
    return (int)disk->file_count++;
}

static struct disk_file *find(struct kernel *kernel, int number) {
    if (number < 0 || (uint32_t)number >= kernel->disk.file_count || !kernel->disk.files[number].opened)
        kernel_fail("file %d isn't open", number);
    return &kernel->disk.files[number];
}

static struct disk_file *find_at_rest(struct kernel *kernel, int number) {
    struct disk_file *file = find(kernel, number);
    if (file->write.armed)
        kernel_fail("file %d was touched with an operation under way", number);
    return file;
}

static void look(const struct disk_file *file, struct io_file *out) {
    out->bytes = file->bytes.end;
    out->torn = file->bytes.end && file->bytes.bytes[file->bytes.end - 1] != '\n';
}

int io_file_open(struct io *io, const char *path, struct io_file *file) {
    struct disk *disk = &io->kernel->disk;
    if (disk->refuses)
        return -EACCES;
    file->number = find_or_make(disk, path);
    disk->files[file->number].opened++;
    look(&disk->files[file->number], file);
    return 0;
}

int io_file_reserve(struct io *io, const struct io_file *file, uint64_t bytes) {
    const struct disk *disk = &io->kernel->disk;
    if (find(io->kernel, file->number)->removed)
        return -ENOENT;
    return bytes > disk->room ? -ENOSPC : 0;
}

int io_file_cut(struct io *io, struct io_file *file, uint64_t written) {
    struct disk_file *on_disk = find_at_rest(io->kernel, file->number);
    uint64_t before = file->bytes;
    bool changed = on_disk->bytes.end != before + written;
    bool stuck = random_chance(io->kernel->random, io->kernel->faults.file_stuck);
    if (!changed && !stuck) {
        on_disk->bytes.end = before;
        if (on_disk->synced > before)
            on_disk->synced = before;
        if (io->kernel->disk.room != SIZE_MAX)
            io->kernel->disk.room += written;
    }
    look(on_disk, file);
    return changed ? -ESTALE : stuck ? -EPERM : 0;
}

int io_file_replace(struct io *io, struct io_file *file, struct io_file *fresh) {
    io_file_close(io, file);
    *file = *fresh;
    return 0;
}

void io_file_close(struct io *io, struct io_file *file) {
    find_at_rest(io->kernel, file->number)->opened--;
    file->number = -1;
}

// --- Slow operations

void disk_begin(struct kernel *kernel, int number, const struct operation *noted, bool sync) {
    struct disk_file *file = find_at_rest(kernel, number);
    file->write = *noted;
    file->sync = sync;
}

bool disk_can_go_on(const struct kernel *kernel, const struct disk_file *file) {
    return file->write.armed && !kernel->disk.held;
}

static void end(struct disk_file *file, enum io_event_kind kind, int32_t result) {
    file->write.armed = false;
    io_event(file->write.io, &(struct io_event){.kind = kind, .result = result, .token = file->write.token});
}

static size_t writable(struct kernel *kernel, const struct disk_file *file) {
    size_t count = file->write.bytes;
    if (random_chance(kernel->random, kernel->faults.file_short))
        count = 1 + random_below(kernel->random, (uint32_t)count);
    return count < kernel->disk.room ? count : kernel->disk.room;
}

static void append(struct kernel *kernel, struct disk_file *file, size_t count) {
    for (unsigned index = 0; count; index++) {
        const struct iovec *vector = &file->write.vectors[index];
        size_t piece = vector->iov_len < count ? vector->iov_len : count;
        if (piece)
            queue_add(&file->bytes, vector->iov_base, piece);
        count -= piece;
        if (kernel->disk.room != SIZE_MAX)
            kernel->disk.room -= piece;
    }
}

void disk_go_on(struct kernel *kernel, struct disk_file *file) {
    enum io_event_kind kind = file->sync ? IO_SYNCED : IO_WRITTEN;
    if (kernel_refused(kernel)) {
        end(file, kind, kernel->refuse_error);
    } else if (random_chance(kernel->random, kernel->faults.interrupt)) {
        end(file, kind, -EINTR);
    } else if (random_chance(kernel->random, kernel->faults.file_error)) {
        end(file, kind, -EIO);
    } else if (file->sync) {
        file->synced = file->bytes.end;
        end(file, kind, 0);
    } else if (kernel->disk.room == 0) {
        end(file, kind, -ENOSPC);
    } else {
        size_t count = writable(kernel, file);
        append(kernel, file, count);
        end(file, kind, (int32_t)count);
    }
}
