// Peers with manners, for tests that break something else. Each peer answers requests of others, and keeps the books of
// its own. Each of its own requests must end once, or the connection must end. The hub's answers are judged by their
// form alone.
#pragma once

#include "tests/sim/world.h"

enum { PARTIES_MAX = 96, PARTY_ASKS_MAX = 512 };

struct party {
    struct cable *cable; // NULL: it has left
    bool lines;          // it speaks one JSON text a line
    bool socket;         // WebSocket
    bool http;           // HTTP
    bool open;           // its WebSocket is
    bool stream;         // what it reads is not looked at
    uint8_t *in;
    size_t in_count, in_capacity;
    bool deaf;   // doesn't read
    bool silent; // doesn't answer
    bool rude;   // may be answered with errors that bear no id
    bool wary;   // others may send it what isn't JSON where the hub doesn't look: it reads as the hub does
    unsigned asked;
    uint8_t ended[PARTY_ASKS_MAX];
    unsigned results, errors; // of its requests
    unsigned heard;           // requests, notifications and frames of HCS
};

struct scene {
    struct world world;
    struct party parties[PARTIES_MAX];
    unsigned count;
};

void scene_open(struct scene *scene, const struct world_options *options);
// Lets the hub and the parties go on until nobody has anything to do.
void scene_settle(struct scene *scene);
// The same, while time passes.
void scene_pass(struct scene *scene, uint64_t ns);
// Fails where a request of a party that is still connected has not ended.
void scene_check(const struct scene *scene);
// Drains the hub, and closes the world: nothing may be left.
void scene_close(struct scene *scene);

// A new connection, at once: it may be refused later. NULL when nobody listens.
struct party *party_join(struct scene *scene);
// The same where lines are spoken.
struct party *party_join_lines(struct scene *scene);
// The same where HTTP is spoken; WebSocket is asked for at once, with more header fields.
struct party *party_join_http(struct scene *scene);
struct party *party_join_socket(struct scene *scene, const char *fields);
// Writes bytes as they are; the `frame` kind puts a header block before them, or a line feed behind them.
void party_write(struct party *party, const void *bytes, size_t count);
__attribute__((format(printf, 3, 4))) void party_frame(struct party *party, const char *fields,
                                                       const char *format, ...);
// Asks: `params` is the inside of the object, `filler` more bytes in it. Ids are numbers and strings, short
// and long.
__attribute__((format(printf, 4, 5))) void party_ask(struct party *party, const char *method, size_t filler,
                                                     const char *params, ...);
__attribute__((format(printf, 4, 5))) void party_tell(struct party *party, const char *method, size_t filler,
                                                      const char *params, ...);
// The id of its n-th request, as it is spelled.
void party_id(char *out, size_t capacity, unsigned number);
void party_register(struct party *party, const char *agent_id, const char *more);
// Closes the connection.
void party_leave(struct party *party);
