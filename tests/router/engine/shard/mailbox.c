// The mailbox: first in, first out, through a full ring as well; and a thread at each end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "router/engine/shard/mailbox.h"

enum { PIECES = 2 * MAILBOX_MESSAGES + 100 };

static struct mailbox mailbox;
static struct mail pieces[PIECES];

static void what_is_posted_shows_when_published(void **state) {
    (void)state;
    mailbox_init(&mailbox);
    assert_true(mailbox_quiet(&mailbox));
    assert_false(mailbox_publish(&mailbox));
    mailbox_post(&mailbox, &pieces[0]);
    assert_null(mailbox_take(&mailbox));
    assert_true(mailbox_quiet(&mailbox));
    assert_true(mailbox_publish(&mailbox));
    assert_false(mailbox_quiet(&mailbox));
    assert_false(mailbox_publish(&mailbox));
    assert_ptr_equal(mailbox_take(&mailbox), &pieces[0]);
    assert_null(mailbox_take(&mailbox));
    assert_true(mailbox_quiet(&mailbox));
}

static void what_finds_no_room_waits_its_turn(void **state) {
    (void)state;
    mailbox_init(&mailbox);
    for (size_t index = 0; index < PIECES; index++) {
        assert_int_equal(mailbox_crowded(&mailbox), index > MAILBOX_MESSAGES);
        mailbox_post(&mailbox, &pieces[index]);
    }
    size_t taken = 0;
    while (mailbox_publish(&mailbox)) {
        for (unsigned step = 0; step < 1000; step++) {
            struct mail *mail = mailbox_take(&mailbox);
            if (mail)
                assert_ptr_equal(mail, &pieces[taken++]);
        }
    }
    for (struct mail *mail; (mail = mailbox_take(&mailbox));)
        assert_ptr_equal(mail, &pieces[taken++]);
    assert_int_equal(taken, PIECES);
    assert_false(mailbox_crowded(&mailbox));
}

// A piece posted while others wait doesn't overtake them, even when there is room by then.
static void nobody_overtakes_those_who_wait(void **state) {
    (void)state;
    mailbox_init(&mailbox);
    for (size_t index = 0; index <= MAILBOX_MESSAGES; index++)
        mailbox_post(&mailbox, &pieces[index]);
    mailbox_publish(&mailbox);
    assert_ptr_equal(mailbox_take(&mailbox), &pieces[0]);
    assert_ptr_equal(mailbox_take(&mailbox), &pieces[1]);
    mailbox_post(&mailbox, &pieces[MAILBOX_MESSAGES + 1]);
    mailbox_publish(&mailbox);
    for (size_t index = 2; index <= MAILBOX_MESSAGES + 1; index++)
        assert_ptr_equal(mailbox_take(&mailbox), &pieces[index]);
    assert_null(mailbox_take(&mailbox));
}

static void nobody_is_woken_for_what_is_idle(void **state) {
    (void)state;
    mailbox_init(&mailbox);
    for (size_t index = 0; index < MAILBOX_IDLE_MAX - 1; index++) {
        mailbox_post_idle(&mailbox, &pieces[index]);
        assert_false(mailbox_publish(&mailbox));
        assert_false(mailbox_quiet(&mailbox));
    }
    mailbox_post_idle(&mailbox, &pieces[MAILBOX_IDLE_MAX - 1]);
    assert_true(mailbox_publish(&mailbox)); // so many may not lie there
    for (size_t index = 0; index < MAILBOX_IDLE_MAX; index++)
        assert_ptr_equal(mailbox_take(&mailbox), &pieces[index]);
    mailbox_post(&mailbox, &pieces[0]);
    mailbox_post_idle(&mailbox, &pieces[1]);
    assert_true(mailbox_publish(&mailbox));
    mailbox_post_idle(&mailbox, &pieces[2]);
    assert_false(mailbox_publish(&mailbox));
    mailbox_expedite(&mailbox);
    assert_true(mailbox_publish(&mailbox));
    assert_false(mailbox_publish(&mailbox));
}

static void what_found_no_room_wakes_when_it_is_shown(void **state) {
    (void)state;
    mailbox_init(&mailbox);
    for (size_t index = 0; index <= MAILBOX_MESSAGES; index++)
        mailbox_post(&mailbox, &pieces[index]);
    assert_true(mailbox_publish(&mailbox));
    for (size_t index = 0; index < MAILBOX_MESSAGES; index++)
        assert_ptr_equal(mailbox_take(&mailbox), &pieces[index]);
    assert_true(mailbox_publish(&mailbox)); // the consumer may have fallen asleep meanwhile
    assert_ptr_equal(mailbox_take(&mailbox), &pieces[MAILBOX_MESSAGES]);
}

static void indices_wrap(void **state) {
    (void)state;
    mailbox_init(&mailbox);
    mailbox.next = mailbox.head_seen = UINT32_MAX - 1;
    atomic_store(&mailbox.tail, UINT32_MAX - 1);
    atomic_store(&mailbox.head, UINT32_MAX - 1);
    for (size_t index = 0; index <= MAILBOX_MESSAGES; index++)
        mailbox_post(&mailbox, &pieces[index]);
    assert_true(mailbox_crowded(&mailbox));
    mailbox_publish(&mailbox);
    for (size_t index = 0; index < MAILBOX_MESSAGES; index++)
        assert_ptr_equal(mailbox_take(&mailbox), &pieces[index]);
    assert_null(mailbox_take(&mailbox));
}

// --- Two threads
//
// The pieces go round: a piece that comes out goes back by a second mailbox and is posted again. A piece seen
// too early, or twice, would show a number out of order.

enum { ROUNDS = 60 };
static struct mailbox back;
static struct mail travelling[PIECES];

static void *consume(void *context) {
    uint64_t expected = 0;
    while (expected < (uint64_t)ROUNDS * PIECES) {
        struct mail *mail = mailbox_take(&mailbox);
        if (!mail) {
            mailbox_publish(&back);
            sched_yield();
            continue;
        }
        if (mail->connection != expected++)
            *(bool *)context = false;
        mailbox_post(&back, mail);
    }
    while (mailbox_crowded(&back) || mailbox_publish(&back)) {
        mailbox_publish(&back);
        sched_yield();
    }
    return NULL;
}

static struct mail *take_back(void) {
    for (struct mail *mail;;) {
        if ((mail = mailbox_take(&back)))
            return mail;
        mailbox_publish(&mailbox);
        sched_yield();
    }
}

static void two_threads_keep_the_order(void **state) {
    (void)state;
    bool in_order = true;
    pthread_t consumer;
    mailbox_init(&mailbox);
    mailbox_init(&back);
    assert_int_equal(pthread_create(&consumer, NULL, consume, &in_order), 0);
    for (uint64_t number = 0; number < (uint64_t)ROUNDS * PIECES; number++) {
        struct mail *mail = number < PIECES ? &travelling[number] : take_back();
        mail->connection = number;
        mailbox_post(&mailbox, mail);
        if (number % 64 == 63)
            mailbox_publish(&mailbox);
    }
    for (unsigned left = 0; left < PIECES; left++)
        take_back();
    assert_int_equal(pthread_join(consumer, NULL), 0);
    assert_true(in_order);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_posted_shows_when_published),
        cmocka_unit_test(what_finds_no_room_waits_its_turn),
        cmocka_unit_test(nobody_overtakes_those_who_wait),
        cmocka_unit_test(nobody_is_woken_for_what_is_idle),
        cmocka_unit_test(what_found_no_room_wakes_when_it_is_shown),
        cmocka_unit_test(indices_wrap),
        cmocka_unit_test(two_threads_keep_the_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
