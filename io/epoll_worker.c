#include "io/epoll_worker.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

void worker_init(struct worker *worker, int doorbell) {
    *worker = (struct worker){.doorbell = doorbell};
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->given, NULL);
    list_init(&worker->jobs);
    list_init(&worker->finished);
}

void worker_deinit(struct worker *worker) {
    assert(list_empty(&worker->jobs) && list_empty(&worker->finished));
    if (worker->started) {
        pthread_mutex_lock(&worker->lock);
        worker->over = true;
        pthread_cond_signal(&worker->given);
        pthread_mutex_unlock(&worker->lock);
        pthread_join(worker->thread, NULL);
    }
    pthread_cond_destroy(&worker->given);
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

// The next job, or NULL when there will be none. Called and left with the lock held.
static struct list *wait_for_job(struct worker *worker) {
    while (list_empty(&worker->jobs) && !worker->over)
        pthread_cond_wait(&worker->given, &worker->lock);
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
    pthread_cond_signal(&worker->given);
    pthread_mutex_unlock(&worker->lock);
}

void worker_collect(struct worker *worker, struct list *out) {
    pthread_mutex_lock(&worker->lock);
    for (struct list *link; (link = list_take(&worker->finished));)
        list_append(out, link);
    pthread_mutex_unlock(&worker->lock);
}
