// Kinds of mail and timers of the feature that shows what goes on.
#pragma once

enum observe_mail {
    OBSERVE_MAIL_PENDING, // hub/pending, from shard to shard (pending_list.h)
    OBSERVE_MAIL_TAP,     // a tap, likewise (tap.h)
    OBSERVE_MAIL_ENTRIES, // entries for a tap
    OBSERVE_MAIL_SENT,    // an observed request has gone to the kernel (observe.c)
};

enum observe_timer { OBSERVE_TIMER_TAP };
