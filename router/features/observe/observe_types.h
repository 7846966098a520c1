// The feature that shows what goes on: kinds of its mail.
#pragma once

enum observe_mail {
    OBSERVE_MAIL_PENDING, // hub/pending, from shard to shard (pending_list.h)
};
