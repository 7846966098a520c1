// Players that show a client's certificate in their handshake, behind the toy cipher. The names in the certificate, the
// user that it means, and the connection's fate.
#include <stdio.h>
#include <string.h>

#include "tests/sim/users.h"

// Chooses a certificate's names: one that the file may know, and others that nobody has, which are shorter, longer or
// spelled otherwise.
void papers_choose(struct player *player) {
    static const char *const strangers[] = {"c-", "c-123", "c-1.x.y", "a.d.example", "C-12", "user-1", NULL};
    struct random *random = &stage.random;
    const char *name = model_any(random, model_certificates);
    const char *before = random_chance(random, 300) ? model_any(random, strangers) : NULL;
    const char *behind = random_chance(random, 200) ? model_any(random, strangers) : NULL;
    if (random_chance(random, 250))
        name = model_any(random, strangers);
    snprintf(player->certificate, sizeof player->certificate, "%u%s%s%s\n%s%s",
             random_below(random, TOY_AUTHORITIES), before ? before : "", before ? "\n" : "", name,
             behind ? behind : "", behind ? "\n" : "");
    cable_of_certificate(player->http_owner.cable, player->certificate);
}

int papers_bearer(const struct model *model, const struct player *player) {
    if (player->certificate[0])
        return model_vouches(model, player->certificate) ? model_by_certificate(model, player->certificate)
                                                         : NOBODY;
    bool is_somebodys = player->uid_user != NOBODY && model->users[player->uid_user].has_uid;
    return is_somebodys ? player->uid_user : NOBODY;
}

bool papers_settled(const struct player *player) {
    return papers_bearer(&stage.before, player) == papers_bearer(&stage.now, player);
}

void papers_refused(struct player *player) {
    if (player->http_owner.status != 429)
        kernel_fail("an upgrade was answered by %u", player->http_owner.status);
    player->is_turned_away = true;
}

// A WebSocket is somebody's from its upgrade on.
static void judge_upgrade(unsigned by, int bearer) {
    struct player *player = &stage.players[by];
    uint64_t most = bearer == NOBODY ? 0 : MODEL_LIMIT(&stage.now, (unsigned)bearer, connections);
    if (player->is_turned_away && !most)
        kernel_fail("player %u was turned away for a limit that nobody has", by);
    if (player->is_turned_away != !player->http_owner.is_upgraded)
        kernel_fail("player %u has asked for an upgrade, and has none", by);
    if (player->is_turned_away) {
        oracle_close(player);
    } else if (bearer != NOBODY) {
        player->standing = KNOWN;
        player->user = bearer;
        users_sums.by_certificate++;
        if (most && oracle_known_as(bearer) > most)
            kernel_fail("user %d has a connection too many", bearer);
    }
}

void papers_entered(void) {
    for (unsigned by = 0; by < PLAYERS; by++) {
        struct player *player = &stage.players[by];
        if (!player->enters)
            continue;
        player->enters = false;
        bool is_vouched = !player->certificate[0] || model_vouches(&stage.now, player->certificate);
        if (is_vouched && cable_at_end(player->http_owner.cable) && !player->is_turned_away)
            kernel_fail("player %u wasn't let in", by);
        if (!is_vouched && !cable_at_end(player->http_owner.cable))
            kernel_fail("player %u was let in with a certificate for which nobody vouches", by);
        if (!is_vouched)
            oracle_close(player);
        else if (player->http_owner.way == SOCKET)
            judge_upgrade(by, papers_bearer(&stage.now, player));
    }
}
