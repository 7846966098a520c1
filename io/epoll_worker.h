// The thread that writes and syncs an epoll io's files, since the disk makes its callers wait. Known to
// io/epoll*.c only.
#pragma once

#include <pthread.h>

#include "io/epoll_socket.h"

struct worker {
    pthread_mutex_t lock;
    pthread_cond_t given;
    // Under the lock:
    struct list jobs;     // struct operation.link
    struct list finished; // likewise
    bool over;
    // The io's own:
    pthread_t thread;
    bool started;
    int doorbell; // an eventfd, rung when something has finished
};

void worker_init(struct worker *worker, int doorbell);
// Every job must have been collected.
void worker_deinit(struct worker *worker);

// Gives a write or sync away until it is collected. Where no thread can be started it is done at once,
// however long it takes.
void worker_give(struct worker *worker, struct operation *operation);
// Moves what has finished to `out`; operation->result says how.
void worker_collect(struct worker *worker, struct list *out);
