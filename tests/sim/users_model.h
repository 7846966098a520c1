// Users as the simulation means them: editions of a users file, made by chance, and their rights, judged name
// by name against every line. The model shares nothing with core/rights but the digest of a token, and gives
// the hub but text.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/sim/random.h"

enum {
    MODEL_USERS = 6,
    MODEL_TOKENS = 2,
    MODEL_ROLES = 2,
    MODEL_LINES = 20,
    MODEL_CERTIFICATES = 6, // names in them
    MODEL_TEXT_BYTES = 16 * 1024,
    MODEL_TOKEN_BYTES = 32,
    MODEL_UID = 4000, // of the first user; each has one of its own
};

enum model_right { MAY_REGISTER, MAY_OFFER, MAY_CALL, MAY_PUBLISH, MAY_SUBSCRIBE, IS_HELD, MODEL_RIGHTS };

// A line of a list. Names are spelled as in the file.
struct model_line {
    enum model_right right;
    bool denies;
    const char *pattern;
};

// The rights of a user, or of a role.
struct model_section {
    struct model_line lines[MODEL_LINES];
    unsigned count;
    int level;                                          // 0 to 3; -1: the section doesn't say
    int admin;                                          // likewise, 0 or 1
    uint64_t rate, bytes, fanout, connections, pending; // 0: it doesn't say
};

struct model_user {
    struct model_section own;
    unsigned roles;                    // bits
    unsigned generation[MODEL_TOKENS]; // of its tokens; 0: it has none
    bool has_uid;
    bool absent; // the file doesn't know it
};

struct model {
    struct model_user users[MODEL_USERS];
    struct model_section roles[MODEL_ROLES];
    bool gated;                                // there is a gate, so that lines may hold
    unsigned certificates[MODEL_CERTIFICATES]; // of each name the user, from 1 on; 0: nobody has it
    unsigned authorities;                      // bits: those that vouch for clients
};

// The kind of a name. Agents and events are spelled as they are, save that `hold` says event:NAME.
enum model_kind { AN_AGENT, A_CAPABILITY, A_TOOL, A_METHOD, AN_EVENT };

// Names that there are, NULL at the end.
extern const char *const model_agents[],
    *const model_capabilities[], *const model_tools[], *const model_methods[], *const model_events[];
// Names that may stand in certificates.
extern const char *const model_certificates[MODEL_CERTIFICATES + 1];
const char *model_any(struct random *random, const char *const *names);

void model_make(struct model *model, struct random *random, bool gated);
// Something changes: lines, limits, credentials.
void model_change(struct model *model, struct random *random);
// The same of certificates, which are nobody's before; all authorities vouch at first.
void model_make_certificates(struct model *model, struct random *random);
void model_change_certificates(struct model *model, struct random *random);
// The file that says so.
size_t model_write(const struct model *model, char text[MODEL_TEXT_BYTES]);
void model_user_name(unsigned user, char name[16]);
void model_token(unsigned user, unsigned which, unsigned generation, char token[MODEL_TOKEN_BYTES]);
// Returns whether it has this token.
bool model_has_token(const struct model *model, unsigned user, unsigned which, unsigned generation);

// Of a certificate (toy.h): whether its authority vouches for clients; and the user who has the first known name in the
// certificate, -1: none.
bool model_vouches(const struct model *model, const char *certificate);
int model_by_certificate(const struct model *model, const char *certificate);

// A line gives it and none denies it.
bool model_may(const struct model *model, unsigned user, enum model_right right, enum model_kind kind,
               const char *name);
// A line denies it.
bool model_denies(const struct model *model, unsigned user, enum model_right right, enum model_kind kind,
                  const char *name);
// A line holds it.
bool model_holds(const struct model *model, unsigned user, enum model_kind kind, const char *name);
// To get all that a pattern matches.
bool model_may_hear(const struct model *model, unsigned user, const char *pattern);
bool model_matches(const char *pattern, const char *name);
int model_level(const struct model *model, unsigned user);
bool model_admin(const struct model *model, unsigned user);
// The member of a section that counts.
uint64_t model_limit(const struct model *model, unsigned user, size_t member);
#define MODEL_LIMIT(model, user, member) model_limit(model, user, offsetof(struct model_section, member))
