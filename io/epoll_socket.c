#include "io/epoll_socket.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/io.h"

enum { SOCKETS_MIN = 1024, SOCKETS_MAX = 1 << 20 };

// --- The table

static uint32_t descriptors_max(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > SOCKETS_MAX)
        return SOCKETS_MAX;
    return limit.rlim_cur < SOCKETS_MIN ? SOCKETS_MIN : (uint32_t)limit.rlim_cur;
}

static void *reserve(size_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unreserve(void *memory, size_t bytes) {
    if (memory)
        munmap(memory, bytes);
}

int socket_table_open(struct socket_table *table) {
    uint32_t capacity = descriptors_max();
    *table = (struct socket_table){.capacity = capacity, .used = 1};
    table->slots = reserve((capacity + 1) * sizeof *table->slots);
    table->slot_of = reserve(capacity * sizeof *table->slot_of);
    table->free = reserve(capacity * sizeof *table->free);
    if (table->slots && table->slot_of && table->free)
        return 0;
    socket_table_close(table);
    return -ENOMEM;
}

void socket_table_close(struct socket_table *table) {
    unreserve(table->slots, (table->capacity + 1) * sizeof *table->slots);
    unreserve(table->slot_of, table->capacity * sizeof *table->slot_of);
    unreserve(table->free, table->capacity * sizeof *table->free);
}

struct socket_slot *socket_slot_find(struct socket_table *table, int socket) {
    assert(socket_table_has_room(table, socket));
    uint32_t index = table->slot_of[socket];
    return index ? &table->slots[index] : NULL;
}

struct socket_slot *socket_slot_of(struct socket_table *table, int socket) {
    struct socket_slot *slot = socket_slot_find(table, socket);
    if (slot)
        return slot;
    uint32_t index = table->free_count ? table->free[--table->free_count] : table->used++;
    slot = &table->slots[index];
    *slot = (struct socket_slot){.socket = socket, .receive.socket = socket, .send.socket = socket};
    list_init(&slot->receive.link);
    list_init(&slot->send.link);
    table->slot_of[socket] = index;
    return slot;
}

void socket_slot_release(struct socket_table *table, struct socket_slot *slot) {
    assert(slot->receive.state == STATE_NONE && slot->send.state == STATE_NONE);
    table->slot_of[slot->socket] = 0;
    table->free[table->free_count++] = socket_slot_index(table, slot);
}

// --- System calls

int32_t socket_read(struct socket_slot *slot, void *memory, size_t bytes) {
    struct iovec vector = {.iov_base = memory, .iov_len = bytes > INT_MAX ? INT_MAX : bytes};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    ssize_t count;
    do
        count = recvmsg(slot->socket, &message, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    if (count < 0) {
        if (errno == EAGAIN)
            slot->readable = false;
        return -errno;
    }
    // Fewer bytes than asked for mean that the socket is empty, and that epoll will report the next bytes. Exceptions
    // are reads that stop early: at the end, at urgent data, and after descriptors that a peer passes. Such descriptors
    // aren't taken, and msg_flags says so.
    if ((size_t)count < vector.iov_len && !slot->doubtful && !message.msg_flags)
        slot->readable = false;
    return (int32_t)count;
}

int socket_accept(struct socket_slot *slot) {
    for (;;) {
        int socket = accept4(slot->socket, NULL, NULL, SOCK_CLOEXEC);
        if (socket >= 0)
            return socket;
        if (errno == EAGAIN)
            slot->readable = false;
        if (errno != EINTR && errno != ECONNABORTED)
            return -errno;
    }
}

int socket_connect(const struct operation *operation) {
    if (connect(operation->socket, operation->address, (socklen_t)operation->bytes) == 0)
        return 0;
    return errno == EINPROGRESS || errno == EINTR ? -EAGAIN : -errno;
}

// Returns the result of a connect. A socket that was shut down meanwhile has no peer, and perhaps no error either.
int socket_connected(int socket) {
    int error = 0;
    socklen_t bytes = sizeof error;
    struct sockaddr_storage peer;
    socklen_t peer_bytes = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0 || error)
        return error ? -error : -errno;
    return getpeername(socket, (struct sockaddr *)&peer, &peer_bytes) < 0 ? -ECONNABORTED : 0;
}

// Copies the vectors that aren't sent yet, and returns their number. The caller's vectors stay as they are.
static unsigned remainder_of(const struct operation *operation, struct iovec rest[IO_VECTORS_MAX]) {
    size_t skip = operation->sent;
    unsigned from = 0;
    while (skip >= operation->vectors[from].iov_len)
        skip -= operation->vectors[from++].iov_len;
    unsigned count = operation->count - from;
    memcpy(rest, operation->vectors + from, count * sizeof *rest);
    rest[0].iov_base = (uint8_t *)rest[0].iov_base + skip;
    rest[0].iov_len -= skip;
    return count;
}

static ssize_t send_vectors(int socket, const struct iovec *vectors, unsigned count) {
    if (count == 1)
        return send(socket, vectors->iov_base, vectors->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
    struct msghdr message = {.msg_iov = (struct iovec *)vectors, .msg_iovlen = count};
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t send_rest(const struct operation *operation) {
    struct iovec rest[IO_VECTORS_MAX];
    unsigned count = remainder_of(operation, rest);
    return send_vectors(operation->socket, rest, count);
}

int socket_send(struct operation *operation, uint64_t *entries) {
    while (operation->sent < operation->bytes) {
        ++*entries;
        ssize_t count = operation->sent
                            ? send_rest(operation)
                            : send_vectors(operation->socket, operation->vectors, operation->count);
        if (count >= 0)
            operation->sent += (size_t)count;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

// --- A thread for files

void worker_init(struct worker *worker, int doorbell) {
    *worker = (struct worker){.doorbell = doorbell};
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->assigned, NULL);
    list_init(&worker->jobs);
    list_init(&worker->finished);
}

void worker_deinit(struct worker *worker) {
    assert(list_empty(&worker->jobs) && list_empty(&worker->finished));
    if (worker->started) {
        pthread_mutex_lock(&worker->lock);
        worker->over = true;
        pthread_cond_signal(&worker->assigned);
        pthread_mutex_unlock(&worker->lock);
        pthread_join(worker->thread, NULL);
    }
    pthread_cond_destroy(&worker->assigned);
    pthread_mutex_destroy(&worker->lock);
}

static void work(struct operation *operation) {
    ssize_t result;
    do
        result = operation->kind == OPERATION_SYNC
                     ? fdatasync(operation->socket)
                     : writev(operation->socket, operation->vectors, (int)operation->count);
    while (result < 0 && errno == EINTR);
    operation->result = (int32_t)(result < 0 ? -errno : result);
}

// Waits for the next job. Returns NULL at the worker's end. The caller holds the lock before and after.
static struct list *wait_for_job(struct worker *worker) {
    while (list_empty(&worker->jobs) && !worker->over)
        pthread_cond_wait(&worker->assigned, &worker->lock);
    return list_take(&worker->jobs);
}

static void *run_worker(void *context) {
    struct worker *worker = context;
    pthread_mutex_lock(&worker->lock);
    for (struct list *link; (link = wait_for_job(worker));) {
        pthread_mutex_unlock(&worker->lock);
        work(list_entry(link, struct operation, link));
        pthread_mutex_lock(&worker->lock);
        list_append(&worker->finished, link);
        eventfd_write(worker->doorbell, 1);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

void worker_give(struct worker *worker, struct operation *operation) {
    if (!worker->started)
        worker->started = pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
    if (!worker->started) {
        work(operation);
        list_append(&worker->finished, &operation->link);
        eventfd_write(worker->doorbell, 1);
        return;
    }
    pthread_mutex_lock(&worker->lock);
    list_append(&worker->jobs, &operation->link);
    pthread_cond_signal(&worker->assigned);
    pthread_mutex_unlock(&worker->lock);
}

void worker_collect(struct worker *worker, struct list *out) {
    pthread_mutex_lock(&worker->lock);
    for (struct list *link; (link = list_take(&worker->finished));)
        list_append(out, link);
    pthread_mutex_unlock(&worker->lock);
}
