// `patchbay token new`: prints a token for one user of a hub, and the line of the users file by which the hub knows the
// token. The hub never has the token itself. Failure: the system gives no randomness (status 1).
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/rights/digest.h"
#include "tools/commands.h"

enum status command_token(int argc, char **argv, const char *hub) {
    uint8_t random[TOKEN_RANDOM_BYTES];
    char token[TOKEN_TEXT_BYTES], line[DIGEST_TEXT_BYTES];
    struct digest digest;
    (void)hub;
    if (argc != 2 || strcmp(argv[1], "new") != 0) {
        return usage(argv[0]);
    }
    bool good = getrandom(random, sizeof random, 0) == (ssize_t)sizeof random;
    if (good) {
        token_text(random, token);
        good = digest_make(token, sizeof token, &digest);
    }
    if (good) {
        digest_text(&digest, line);
        printf("%.*s\ntoken = %.*s\n", TOKEN_TEXT_BYTES, token, DIGEST_TEXT_BYTES, line);
    } else {
        fputs("patchbay: token: no randomness\n", stderr);
    }
    digest_wipe(random, sizeof random);
    digest_wipe(token, sizeof token);
    return good ? STATUS_DONE : STATUS_REFUSED;
}
