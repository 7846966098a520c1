// Acts of the web: WebSocket, HTTP and streams of events, whole and in pieces, refused and left.
#include "tests/sim/acts_web.h"

#include <string.h>

#include "tests/sim/kernel.h"

enum { SECOND = 1000000000, LARGE_BYTES = 40000 };

static void say(struct party *party, const char *text) {
    party_write(party, text, strlen(text));
}

// Questions of all kinds, more of them than are answered at once, also to somebody in a browser.
void acts_callers(struct scene *scene) {
    struct party *agent = party_join(scene), *browser = party_join_socket(scene, "");
    struct party *caller = party_join_http(scene), *leaver = party_join_http(scene);
    char first[128], second[128];
    if (!agent || !browser || !caller || !leaver)
        return;
    party_register(agent, "agent", "");
    party_register(browser, "browser", ",\"capabilities\":{\"methods\":[\"m\"]}");
    scene_settle(scene);
    caller->rude = true;
    for (unsigned step = 0; step < 6; step++)
        party_ask(caller, "work", step == 3 ? LARGE_BYTES : 10, "\"targetAgent\":\"%s\"",
                  step % 2 ? "agent" : "browser");
    party_tell(caller, "m", 10, "%s", "\"x\":1");
    party_id(first, sizeof first, caller->asked++);
    party_id(second, sizeof second, caller->asked++);
    party_frame(caller, "Request-Id: 7\r\n",
                "[{\"id\":%s,\"method\":\"m\",\"params\":{}},{\"id\":%s,\"method\":\"hub/ping\"},7]", first,
                second);
    party_register(caller, "caller", "");
    say(caller, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    scene_settle(scene);
    party_ask(leaver, "work", 10, "\"targetAgent\":\"agent\"");
    say(leaver, "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
    scene_settle(scene);
    say(leaver, "9\r\n{\"method\"\r\n4;x=y\r\n:\"m\"");
    scene_settle(scene);
    agent->silent = true;
    party_ask(leaver, "work", 10, "\"targetAgent\":\"agent\"");
    party_leave(leaver);
    scene_settle(scene);
    say(caller, "POST /rpc HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    scene_settle(scene);
    party_leave(agent);
    scene_pass(scene, SECOND / 10);
}

// Events for all kinds of listeners, and the ends that a WebSocket has.
void acts_listeners(struct scene *scene) {
    struct party *browser = party_join_socket(scene, "Governance-Level: supervised\r\n");
    struct party *other = party_join_socket(scene, ""), *stream = party_join_http(scene);
    struct party *source = party_join(scene);
    if (!browser || !other || !stream || !source)
        return;
    stream->stream = true;
    say(stream, "GET /events?pattern=go-*&pattern=%6Eews HTTP/1.1\r\nHost: localhost\r\n\r\n");
    party_ask(browser, "hub/subscribe", 0, "%s", "\"events\":[\"go-*\"]");
    party_ask(other, "hub/subscribe", 0, "%s", "\"events\":[\"go-on\"]");
    scene_settle(scene);
    for (unsigned step = 0; step < 8; step++) {
        stream->deaf = other->deaf = step > 2 && step < 6;
        party_tell(source, "event", step == 4 ? LARGE_BYTES : 900, "\"event\":\r\n\"go-on\"%s", "");
        scene_settle(scene);
    }
    party_ask(browser, "event", 20, "%s", "\"event\":\"go-on\"");
    say(browser, "\x89\x82");
    scene_settle(scene);
    party_write(browser, "\0\0\0\0hi", 6);
    party_ask(browser, "hub/ping", LARGE_BYTES, "%s", "");
    party_write(other, "\x88\x82\0\0\0\0\x03\xe8", 8);
    scene_pass(scene, 40 * (uint64_t)SECOND); // comments, pings, and whoever gives no sign of life
    party_leave(stream);
    scene_settle(scene);
}
