#include "router/config_options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define FIELD(member) offsetof(struct config, member), sizeof(((struct config *)NULL)->member)
#define LIMIT(member) FIELD(settings.limits.member)
#define HOUR_NS       UINT64_C(3600000000000)

static const struct option options[] = {
    {"listen", OPTION_LISTEN, 0, 0, 0, 0,
     "URI: tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH, or with -lines behind the scheme's name for one "
     "JSON "
     "text a line; "
     "repeatable, replaces the defaults and those of --config"},
    {"http", OPTION_HTTP, 0, 0, 0, 0,
     "HOST:PORT of HTTP and WebSocket, or https://HOST:PORT, or off (127.0.0.1:7412, or off where --listen "
     "is "
     "given)"},
    {"tls-certificate", OPTION_PATH, FIELD(tls_certificate), 0, 0,
     "FILE in PEM: the hub's certificate and those that it was signed by; SIGHUP reads it again"},
    {"tls-key", OPTION_PATH, FIELD(tls_key), 0, 0,
     "FILE in PEM with its private key (the file of --tls-certificate); likewise"},
    {"tls-clients", OPTION_PATH, FIELD(tls_clients), 0, 0,
     "FILE in PEM of authorities: clients are asked for a certificate, which must verify; likewise"},
    {"allow-host", OPTION_ALLOW, FIELD(settings.hosts), 0, 0,
     "NAME that HTTP's Host may be, besides the address served and localhost; repeatable"},
    {"allow-origin", OPTION_ALLOW, FIELD(settings.origins), 0, 0,
     "SCHEME://HOST[:PORT] whose pages may use the hub, besides its own; repeatable"},
    {"shards", OPTION_COUNT, FIELD(settings.shard_count), 1, SHARDS_MAX, "N: threads (default: one a core)"},
    {"validate", OPTION_VALIDATE, 0, 0, 0, 0,
     "lazy or strict: judge of a body what routing reads, or all of it (lazy)"},
    {"users", OPTION_PATH, FIELD(users), 0, 0,
     "FILE: who may do what, and how each is known; nobody else may do anything (patchbay users check FILE)"},
    {"audit", OPTION_PATH, FIELD(journal), 0, 0, "FILE: keep an audit journal there"},
    {"gate", OPTION_GATE, 0, 0, 0, 0,
     "human-in-the-loop or manual: what requires this level or more is held until somebody approves it, or "
     "off "
     "(off)"},
    {"gate-wait", OPTION_TIME, LIMIT(gate_wait_ns), 1000000, 24 * HOUR_NS, "TIME for which it is held (5m)"},
    {"max-held", OPTION_COUNT, LIMIT(held_max), 1, 1u << 20,
     "N messages held, a quarter of them one source's (1000)"},
    {"extension", OPTION_EXTENSION, 0, 0, 0, 0,
     "NAME=COMMAND: keep a Hermes extension running; repeatable; [child NAME] sections of --config say more"},
    {"nats", OPTION_NATS, 0, 0, 0, 0,
     "nats:// or tls://[USER:PASSWORD@|TOKEN@]HOST:PORT[,...]: join other hubs through a NATS server (2.9 or "
     "later)"},
    {"nats-credentials", OPTION_PATH, FIELD(nats_creds), 0, 0,
     "FILE that shows it who the hub is: of nsc (.creds), or an nkey's seed; read at each link"},
    {"nats-ca", OPTION_PATH, FIELD(nats_authorities), 0, 0,
     "FILE in PEM of authorities that its certificate may be signed by (the system's)"},
    {"cluster", OPTION_CLUSTER, 0, 0, 0, 0, "NAME of the hubs that are joined, the same for all of them"},
    {"spill", OPTION_COUNT, LIMIT(spill), 1, 1u << 22,
     "N requests that each of a group here owes: then one is offered to those at another hub (8)"},
    {"io", OPTION_IO, 0, 0, 0, 0, "uring, epoll, or auto: epoll where io_uring is refused (auto)"},
    {"spin", OPTION_SPIN, FIELD(settings.spin_ns), 0, 10000000,
     "TIME to look for work before sleeping, while the waits are that short, or off (off)"},
    {"coalesce", OPTION_SPIN, FIELD(settings.hold_ns), 0, 1000000,
     "TIME for which a wait is held so that more comes of it, where that is found to save processor time and "
     "to end in time, or off (100us; always off with --spin or by epoll)"},
    {"half-close", OPTION_HALF_CLOSE, 0, 0, 0, 0,
     "answer or leave: a peer that ends its stream still gets its answers, or has left (answer)"},
    {"takeover", OPTION_FLAG, FIELD(settings.takeover), 0, 1,
     "a registration may take an agentId from its holder"},
    {"require-initialize", OPTION_FLAG, FIELD(settings.require_initialize), 0, 1,
     "refuse requests before initialize"},
    {"share-addresses", OPTION_FLAG, FIELD(settings.share_addresses), 0, 1,
     "let another hub take over: it listens beside this one, which steps aside at SIGTERM"},
    {"user", OPTION_USER, FIELD(user), 0, 0,
     "NAME that the hub and its children become, where root starts it"},
    {"sandbox", OPTION_SANDBOX, 0, 0, 0, 0,
     "off, on or required: give up what the hub doesn't need; required: or don't start (" SANDBOX_DEFAULT_NAME
     ")"},
    {"check", OPTION_FLAG, FIELD(check), 0, 1,
     "read the configuration, try the sandbox, say what is so, and end"},
    {"insecure", OPTION_FLAG, FIELD(insecure), 0, 1,
     "allow addresses that others can reach, and lack what this needs"},
    {"config", OPTION_CONFIG, 0, 0, 0, 0, "FILE: read options from an INI file"},
    {"max-frame", OPTION_SIZE, LIMIT(frame_bytes_max), 1, 1u << 30, "SIZE of a body (16M)"},
    {"max-header", OPTION_SIZE, LIMIT(header_bytes_max), 64, 1u << 20, "SIZE of a header block (8K)"},
    {"max-queue", OPTION_SIZE, LIMIT(queue_bytes_max), 1, UINT64_C(1) << 40,
     "SIZE of what waits for one reader (4M)"},
    {"max-memory", OPTION_SIZE, LIMIT(memory_bytes_max), 1u << 24, UINT64_C(1) << 44,
     "SIZE of all buffers and of what peers have it keep, a quarter at most (1G); 3M a shard at least"},
    {"max-connections", OPTION_COUNT, LIMIT(connections_max), 1, 1u << 20, "N (65536)"},
    {"max-pending", OPTION_COUNT, LIMIT(pending_max), 1, 1u << 22, "N requests owed by one target (65536)"},
    {"max-batch", OPTION_COUNT, LIMIT(batch_members_max), 1, 1u << 20, "N members of one batch (1000)"},
    {"request-timeout", OPTION_TIME, LIMIT(request_timeout_ns), 1000000, 24 * HOUR_NS, "TIME (5m)"},
    {"frame-timeout", OPTION_TIME, LIMIT(frame_timeout_ns), 1000000, HOUR_NS,
     "TIME for a header block (10s)"},
    {"idle-timeout", OPTION_TIME, LIMIT(idle_timeout_ns), 0, 24 * HOUR_NS, "TIME, or off (off)"},
    {"drain-timeout", OPTION_TIME, LIMIT(drain_timeout_ns), 0, HOUR_NS,
     "TIME for what is pending at the end (5s)"},
    {"max-sessions", OPTION_COUNT, LIMIT(sessions_max), 1, 1u << 20, "N sessions of HCS (65536)"},
    {"session-history", OPTION_SIZE, LIMIT(session_history_bytes_max), 1, UINT64_C(1) << 40,
     "SIZE of the chunks that a session keeps for those who come later (1M)"},
    {"session-silence", OPTION_TIME, LIMIT(session_silence_ns), 1000000, 24 * HOUR_NS,
     "TIME for which a producer may say nothing in a session (30s)"},
    {"session-linger", OPTION_TIME, LIMIT(session_linger_ns), 1000000, 24 * HOUR_NS,
     "TIME for which a session without clients, or one that has ended, is kept (60s)"},
};
enum { OPTIONS_COUNT = sizeof options / sizeof *options };

const struct option *option_find(const char *name) {
    assert(name);
    for (size_t index = 0; index < OPTIONS_COUNT; index++)
        if (strcmp(options[index].name, name) == 0)
            return &options[index];
    return NULL;
}

void options_show(void) {
    for (size_t index = 0; index < OPTIONS_COUNT; index++)
        printf("  --%-20s %s\n", options[index].name, options[index].help);
}
