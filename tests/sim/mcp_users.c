// The users of patchbay_mcp, where there are some: each session has a user of its own, and so have the calls of the
// modern era. SIGHUP removes users, brings them back, and forbids them all tools. The journal must have a line of each
// answered call, or count the call, and no more lines of refused calls than the bound allows.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/rights/digest.h"
#include "core/rights/users.h"
#include "tests/sim/kernel.h"
#include "tests/sim/mcp_stage.h"

unsigned user_of(int session) {
    return session == NOBODY ? USERS - 1 : (unsigned)session;
}

static void put_token(unsigned user, char *out, size_t room) {
    snprintf(out, room, "secret-of-%u", user);
}

const char *user_field(unsigned user) {
    static char line[64];
    char token[32];
    put_token(user, token, sizeof token);
    *line = 0;
    if (stage.has_users)
        snprintf(line, sizeof line, "Authorization: Bearer %s\r\n", token);
    return line;
}

// --- The file

static size_t put_user(char *out, size_t room, unsigned user, const char *rights) {
    char token[32], hash[DIGEST_TEXT_BYTES];
    struct digest digest;
    put_token(user, token, sizeof token);
    if (!digest_make(token, strlen(token), &digest))
        kernel_fail("a token has no digest");
    digest_text(&digest, hash);
    return (size_t)snprintf(out, room, "[user u%u]\ntoken = %.*s\n%s\n", user, (int)sizeof hash, hash,
                            rights);
}

static void complain(void *context, const struct users_fault *fault) {
    kernel_fail("line %u of %s can't be used: %s", fault->line, (const char *)context, fault->expected);
}

struct users *users_file(const struct users *before) {
    static const struct siphash_key key = {{3, 4}};
    static char text[4096];
    size_t bytes = put_user(text, sizeof text, USERS, "admin = yes");
    for (unsigned user = 0; user < USERS; user++)
        if (!stage.users[user].is_absent)
            bytes += put_user(text + bytes, sizeof text - bytes, user,
                              stage.users[user].is_forbidden ? "call = tool:nobody" : "call = server, other");
    struct users *users = users_read(text, bytes, &key, before, complain, text);
    if (!users)
        kernel_fail("there is no memory for users");
    return users;
}

static void change(unsigned user) {
    bool was_absent = stage.users[user].is_absent;
    stage.users[user].is_absent = !was_absent && random_chance(&stage.random, 600);
    stage.users[user].is_forbidden = random_chance(&stage.random, 300);
    for (unsigned number = 0; number < stage.call_count; number++) {
        struct call *call = &stage.calls[number];
        if (user_of(call->session) != user)
            continue;
        call->is_forbidden = false; // or perhaps no more
        call->may_be_forbidden |= stage.users[user].is_absent || stage.users[user].is_forbidden;
    }
    if (stage.users[user].is_absent && user < SESSIONS_MAX)
        stage.sessions[user].is_here = false;
}

void users_reload(void) {
    do
        change(random_below(&stage.random, USERS));
    while (random_chance(&stage.random, 400));
    for (unsigned number = 0; number < stage.call_count; number++)
        stage.calls[number].may_fail = true;
    stage.reloads++;
    sums.reloads++;
    kernel_signal(stage.world.kernel, SIGHUP);
    world_settle(&stage.world);
}

// --- The journal

void users_note_sent(int session) {
    stage.users[user_of(session)].sent++;
}

void users_note_answered(int session) {
    stage.users[user_of(session)].answered += !stage.ending;
}

struct journal_sums {
    unsigned lines[USERS], told[USERS];
    unsigned refused; // lines of refused calls at this time, of one user
    unsigned user;
    char time[40];
};

// Of refused calls of a user at one time: ten a second, and the time may be in two.
enum { LINES_MAX = 20 };

// Counts the lines of refused calls that come one behind the other at one time.
static void bound_refused(struct journal_sums *found, unsigned user, struct bit line) {
    struct bit time = naive_find(line, "time");
    bool is_refused =
        bit_is(naive_find(line, "tool"), "\"nobody\"") && bit_is(naive_find(line, "outcome"), "\"error\"");
    if (!is_refused)
        return;
    if (user != found->user || time.count >= sizeof found->time ||
        memcmp(found->time, time.bytes, time.count) != 0)
        found->refused = 0;
    found->user = user;
    snprintf(found->time, sizeof found->time, "%.*s", (int)time.count, (const char *)time.bytes);
    if (++found->refused > LINES_MAX)
        kernel_fail("too many refused calls of user %u at one time have lines", user);
}

static void take_line(struct journal_sums *found, struct bit line) {
    struct bit kind = naive_find(line, "kind"), name = naive_find(line, "source.user");
    char own[16];
    unsigned user = 0;
    for (; user < USERS; user++) {
        snprintf(own, sizeof own, "\"u%u\"", user);
        if (bit_is(name, own))
            break;
    }
    if (user == USERS)
        return;
    if (bit_is(kind, "\"refusals\""))
        found->told[user] += (unsigned)bit_number(naive_find(line, "count"));
    if (!bit_is(kind, "\"tool\""))
        return;
    found->lines[user]++;
    sums.lines++;
    bound_refused(found, user, line);
}

void users_check_journal(void) {
    struct journal_sums found = {.user = USERS};
    const uint8_t *bytes;
    size_t count, synced;
    for (uint32_t file = 0; (bytes = disk_file(stage.world.kernel, file, &count, &synced)); file++)
        for (const uint8_t *end; count && (end = memchr(bytes, '\n', count)); bytes = end + 1) {
            take_line(&found, (struct bit){bytes, (size_t)(end - bytes)});
            count -= (size_t)(end - bytes) + 1;
        }
    for (unsigned user = 0; user < USERS; user++) {
        if (found.lines[user] > stage.users[user].sent)
            kernel_fail("user %u has %u lines of %u calls", user, found.lines[user], stage.users[user].sent);
        if (found.lines[user] + found.told[user] < stage.users[user].answered)
            kernel_fail("of %u answered calls of user %u, %u have lines and %u are counted",
                        stage.users[user].answered, user, found.lines[user], found.told[user]);
    }
}
