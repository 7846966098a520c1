// Mailboxes between four threads, each with all others, as shards use them. Pieces travel about. Every thread
// sleeps when nothing is there, and is woken by a thread that has published and sees it asleep. No piece is
// lost, seen twice or out of order, and no thread sleeps while there is mail.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>

#include "router/engine/shard/mailbox.h"

enum { THREADS = 4, PIECES = 3 * MAILBOX_MESSAGES, PATIENCE_S = 10 };

struct piece {
    struct mail mail;
    uint64_t number; // among those posted to the same mailbox
    unsigned hops;
};

struct node {
    pthread_t thread;
    unsigned index;
    unsigned hops_max;
    uint64_t random;
    uint64_t posted[THREADS], taken[THREADS];
    uint64_t naps;
    bool wrong_order, forgotten;
    _Atomic bool asleep;
    sem_t bell;
};

static struct mailbox boxes[THREADS][THREADS];
static struct node nodes[THREADS];
static struct piece pieces[PIECES];
static _Atomic unsigned arrived;

static uint64_t next_random(struct node *node) {
    node->random = node->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return node->random >> 33;
}

static void send_on(struct node *node, struct piece *piece) {
    unsigned to = (node->index + 1 + (unsigned)(next_random(node) % (THREADS - 1))) % THREADS;
    piece->number = node->posted[to]++;
    piece->hops++;
    mailbox_post(&boxes[node->index][to], &piece->mail);
}

static bool read_all(struct node *node) {
    bool any = false;
    for (unsigned from = 0; from < THREADS; from++)
        for (struct mail *mail; (mail = mailbox_take(&boxes[from][node->index]));) {
            struct piece *piece = (struct piece *)((char *)mail - offsetof(struct piece, mail));
            any = true;
            node->wrong_order |= piece->number != node->taken[from]++;
            if (piece->hops < node->hops_max)
                send_on(node, piece);
            else
                atomic_fetch_add(&arrived, 1);
        }
    return any;
}

static void publish_all(struct node *node) {
    for (unsigned to = 0; to < THREADS; to++)
        if (to != node->index && mailbox_publish(&boxes[node->index][to]) && atomic_load(&nodes[to].asleep))
            sem_post(&nodes[to].bell);
}

static bool is_quiet(struct node *node) {
    for (unsigned other = 0; other < THREADS; other++)
        if (!mailbox_quiet(&boxes[other][node->index]) || mailbox_crowded(&boxes[node->index][other]))
            return false;
    return true;
}

static void nap(struct node *node) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    atomic_store(&node->asleep, true);
    if (is_quiet(node) && atomic_load(&arrived) < PIECES) {
        int failed;
        node->naps++;
        while ((failed = sem_timedwait(&node->bell, &until)) && errno == EINTR)
            continue;
        node->forgotten |= failed && atomic_load(&arrived) < PIECES;
    }
    atomic_store(&node->asleep, false);
}

static void *live(void *context) {
    struct node *node = context;
    for (unsigned index = node->index; index < PIECES; index += THREADS)
        send_on(node, &pieces[index]);
    publish_all(node);
    while (atomic_load(&arrived) < PIECES && !node->forgotten) {
        bool any = read_all(node);
        publish_all(node);
        if (!any)
            nap(node);
    }
    for (unsigned other = 0; other < THREADS; other++)
        sem_post(&nodes[other].bell);
    return NULL;
}

// `hops_max`: of every piece. Few pieces at the end make for many naps.
static void travel(unsigned hops_max) {
    uint64_t naps = 0, posted = 0, taken = 0;
    atomic_store(&arrived, 0);
    for (unsigned index = 0; index < PIECES; index++)
        pieces[index] = (struct piece){.hops = index < 8 ? 0 : hops_max - hops_max / 50 - 1};
    for (unsigned from = 0; from < THREADS; from++) {
        nodes[from] = (struct node){.index = from, .hops_max = hops_max, .random = from + 1};
        sem_init(&nodes[from].bell, 0, 0);
        for (unsigned to = 0; to < THREADS; to++)
            mailbox_init(&boxes[from][to]);
    }
    for (unsigned index = 0; index < THREADS; index++)
        assert_int_equal(pthread_create(&nodes[index].thread, NULL, live, &nodes[index]), 0);
    for (unsigned index = 0; index < THREADS; index++)
        assert_int_equal(pthread_join(nodes[index].thread, NULL), 0);
    for (unsigned index = 0; index < THREADS; index++) {
        assert_false(nodes[index].wrong_order);
        assert_false(nodes[index].forgotten);
        naps += nodes[index].naps;
        for (unsigned other = 0; other < THREADS; other++) {
            posted += nodes[index].posted[other];
            taken += nodes[index].taken[other];
        }
    }
    assert_int_equal(atomic_load(&arrived), PIECES);
    assert_int_equal(posted, taken);
    assert_true(naps > 0);
}

static void nothing_is_lost_between_four(void **state) {
    (void)state;
    travel(5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost_between_four)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
