// The comparisons and sweeps of the suite, by name.
//
// A comparison runs its sides one after the other in each round. Its aim is a ratio of values of each pair of runs:
// `of` over `over`, at most `atMost`. A sweep runs one load over a range, for a plot.
//
// A side: {server, label, unix, framing, tls, web, sources, rights, joined, options, cpus, load}: what it says beside
// the server overrides the comparison's own. `web` is the scheme by which the load comes to the hub's HTTP, and
// `sources` that of its sources: ws, http or tcp. `joined`: the sources are at another hub, on the same core, joined
// through a server of NATS, and CPU and memory are both hubs'.
//
// A load is one of three. {sources, targets, depth, body, flags} are the arguments of `patchbay bench`. {flood} is that
// of `bench_bystander`. {clients, rate} are those of `mcp/load.mjs`, whose loop is closed without a rate.

const KIB = 1024;
const requests = (sources, targets, depth, body, ...flags) => ({ sources, targets, depth, body, flags });
const events = (targets, depth, body, ...flags) => ({ sources: 1, targets, depth, body, flags: ['--events', ...flags] });
const size = (bytes) => (bytes < KIB ? `${bytes} B` : `${bytes / KIB} KiB`);

// The first side over the second.
const cpu = (atMost) => ({ of: [0, 'cpuUs'], over: [1, 'cpuUs'], atMost });
const p50 = () => ({ of: [0, 'latencyUs.p50'], over: [1, 'latencyUs.p50'] });
const p99 = (atMost) => ({ of: [0, 'latencyUs.p99'], over: [1, 'latencyUs.p99'], atMost });

const beside = (name, title, server, load, ...aims) =>
  ({ name, title, load, aims, sides: [{ server: 'hub' }, { server }] });

const again = (name, title, first, second, load, ...aims) =>
  ({ name, title, load, aims, sides: [{ server: 'hub', ...first }, { server: 'hub', ...second }] });

const againstNats = [
  beside('request-256', 'requests, 256 B, 16 sources, 4 targets, 64 pending', 'nats', requests(16, 4, 64, 256), cpu(0.4)),
  beside('request-1-pending', 'requests, 256 B, 50 sources, 4 targets, 1 pending', 'nats', requests(50, 4, 1, 256),
    cpu(0.75), p99(0.5)),
  beside('request-16k', 'requests, 16 KiB, 16 sources, 4 targets, 16 pending', 'nats', requests(16, 4, 16, 16 * KIB), cpu(0.6)),
  beside('request-256k', 'requests, 256 KiB, 8 sources, 8 targets, 2 pending', 'nats', requests(8, 8, 2, 256 * KIB), cpu()),
  beside('open-loop', 'requests, 256 B, 50 sources, 4 targets, 20,000 a second in an open loop', 'nats',
    requests(50, 4, 64, 256, '--rate', '20000'), cpu(), p99()),
];

const againstRedis = [
  beside('events-100', 'events, 256 B, to 100, 64 on the way', 'redis', events(100, 64, 256), cpu(0.35)),
  beside('events-1000', 'events, 256 B, to 1,000, 64 on the way', 'redis', events(1000, 64, 256), cpu(0.35)),
  beside('events-1000-1', 'events, 256 B, to 1,000, 1 on the way', 'redis', events(1000, 1, 256), cpu(0.75)),
  beside('events-16k', 'events, 16 KiB, to 1,000, 4 on the way', 'redis', events(1000, 4, 16 * KIB), cpu(0.35)),
  { ...beside('events-unix', 'events, 256 B, to 1,000, 64 on the way, Unix sockets', 'redis', events(1000, 64, 256), cpu()), unix: true },
  beside('events-nats', 'events, 256 B, to 100, 64 on the way', 'nats', events(100, 64, 256), cpu()),
  beside('events-mosquitto', 'events, 256 B, to 100, 64 on the way, QoS 0', 'mosquitto', events(100, 64, 256), cpu()),
];

// At most 4 in flight a connection, and 16, so that a read brings and a send takes about as many: as many targets as
// sources. The deeper the pipeline, the less of a message's cost is the kernel's, and the more is what reading it costs.
const bodies = [256, KIB, 16 * KIB];
const PIPELINED = 16;
const aimFirst = { 256: 1.25, [KIB]: 1.2, [16 * KIB]: 1.1 };
const aimLast = { 256: 1.3, [KIB]: 1.35, [16 * KIB]: 1.25 };

const againstRelay = [
  ...bodies.map((body) => beside(`relay-4-${body}`, `requests, ${size(body)}, 16 sources, 16 targets, 4 pending`, 'relay',
    requests(16, 16, 4, body), cpu(1.05))),
  ...bodies.map((body) => beside(`relay-first-${body}`,
    `requests, ${size(body)}, 16 sources, 16 targets, ${PIPELINED} pending, id first`, 'relay',
    requests(16, 16, PIPELINED, body), cpu(aimFirst[body]))),
  ...bodies.map((body) => beside(`relay-last-${body}`,
    `requests, ${size(body)}, 16 sources, 16 targets, ${PIPELINED} pending, id last`, 'relay',
    requests(16, 16, PIPELINED, body, '--id-last'), cpu(aimLast[body]))),
  ...[256, KIB].map((body) => beside(`relay-deep-${body}`, `requests, ${size(body)}, 16 sources, 16 targets, 64 pending`, 'relay',
    requests(16, 16, 64, body), cpu())),
  { ...beside('relay-unix', 'requests, 256 B, 16 sources, 16 targets, 64 pending, Unix sockets', 'relay',
    requests(16, 16, 64, 256), cpu()), unix: true },
  beside('relay-256k', 'requests, 256 KiB, 8 sources, 8 targets, 2 pending', 'relay', requests(8, 8, 2, 256 * KIB), cpu()),
];

// The same loads from a program that has its connections one after the other: where a batch over all of them flatters a
// server, this doesn't.
const trickles = (name, title, server, { flags, ...load }) =>
  beside(`trickle-${name}`, `${title}, connection by connection`, server, { ...load, flags: [...flags, '--trickle'] }, cpu(), p99());
const trickling = [
  trickles('256', 'requests, 256 B, 16 sources, 4 targets, 64 pending', 'nats', requests(16, 4, 64, 256)),
  trickles('1-pending', 'requests, 256 B, 50 sources, 4 targets, 1 pending', 'nats', requests(50, 4, 1, 256)),
  trickles('events', 'events, 256 B, to 100, 64 on the way', 'redis', events(100, 64, 256)),
  trickles('relay', 'requests, 256 B, 16 sources, 16 targets, 4 pending', 'relay', requests(16, 16, 4, 256)),
];

const lines = (name, load) => again(`lines-${name}`, `${load.flags[0] === '--events' ? 'events' : 'requests'}, ${size(load.body)}, in lines`
  + ' beside frames', { label: 'lines', framing: '-lines' }, { label: 'frames' }, load, cpu());

const againstItself = [
  lines('256', requests(16, 16, 64, 256)),
  lines('16k', requests(16, 16, 16, 16 * KIB)),
  lines('events', events(100, 64, 256)),
  again('connections', 'requests, 256 B, 10,000 connections beside 10, 4 in flight a target',
    { label: '10,000 connections', load: { sources: 9998 } }, { label: '10 connections', load: { sources: 8 } },
    requests(8, 2, 8, 256, '--in-flight', '8'), cpu(1.3)),
  // With as many sources as targets, all targets are on the one shard and all sources on the other (bench/load/load.h).
  // On one core both sides have as much to do as that can take, so that what is compared is the work of crossing. On
  // two cores the shards wait, for each other and for the load that sits on one of them: less goes together in a turn.
  // A hub that isn't busy costs more a message, also with one shard (at 400,000 a second about twice the cost of a busy
  // one).
  again('shards', 'requests, 256 B, 16 sources, 16 targets, 64 pending, all from one shard to the other, on one core',
    { label: '2 shards', options: ['--shards', '2'] }, { label: '1 shard' }, requests(16, 16, 64, 256), cpu(1.15)),
  again('shards-2-cores', 'requests, 256 B, 16 sources, 16 targets, 64 pending, all from one shard to the other, on a core each',
    { label: '2 shards', options: ['--shards', '2'], cpus: 'both' }, { label: '1 shard', cpus: 'both' },
    requests(16, 16, 64, 256), cpu()),
  again('slow-readers', 'events, 256 B, to 100, 4 on the way, beside 4 subscribers that never read',
    { label: 'with 4 slow', load: { flags: ['--events', '--slow', '4'] } }, { label: 'without' }, events(100, 4, 256), cpu()),
  {
    name: 'priorities', title: 'requests, 16 KiB, 16 sources, 1 target, 64 pending, 5 % of high priority',
    // A queue that holds all of them, so that they wait in the hub and no one is refused.
    sides: [{ server: 'hub', options: ['--shards', '1', '--max-queue', '64M'] }], load: requests(16, 1, 64, 16 * KIB, '--high', '5'),
    aims: [{ of: [0, 'highLatencyUs.p99'], over: [0, 'latencyUs.p99'], atMost: 0.1 }],
  },
  {
    name: 'idle', title: 'memory of an idle connection, 10,000 of them',
    sides: [{ server: 'hub' }], load: requests(4, 4, 4, 256, '--idle', '10000'),
    aims: [{ of: [0, 'idleBytes'], atMost: 2048 }],
  },
];

// Frames, and what stands in for them. The events are published in frames, so that one thing alone differs, or over
// WebSocket.
const FRAMES = { label: 'frames' };
const WEBSOCKET = { label: 'WebSocket', web: 'ws' };
const STREAMS = { label: 'SSE', web: 'http' };
const fromFrames = (side) => ({ ...side, sources: 'tcp', label: `${side.label}, from frames` });
const overWeb = (name, title, load) => ({
  name, title: `${title}, over WebSocket and SSE beside frames`, load,
  sides: [FRAMES, fromFrames(WEBSOCKET), fromFrames(STREAMS), WEBSOCKET, STREAMS].map((side) => ({ server: 'hub', ...side })),
  aims: [[1, 1.1], [2, 1.15], [3, 1.1], [4, 1.15]].map(([side, atMost]) => ({ of: [side, 'cpuUs'], over: [0, 'cpuUs'], atMost })),
});
const overPeers = (name, title, load) => ({
  name, title: `${title}, beside nchan and nats-server's WebSocket`, load,
  sides: [{ server: 'hub', ...WEBSOCKET }, { server: 'hub', ...STREAMS }, { server: 'nchan' }, { server: 'nchan-sse' }, { server: 'nats-websocket' }],
  aims: [[0, 2], [1, 3], [0, 4], [1, 4]].map(([one, other]) => ({ of: [one, 'cpuUs'], over: [other, 'cpuUs'], atMost: 0.5 })),
});
const idle = (name, title, side, load) => ({
  name, title: `memory of an idle connection of ${title}, 10,000 of them`, sides: [{ server: 'hub', ...side }], load,
  aims: [{ of: [0, 'idleBytes'], atMost: 1024 }],
});

const overHttp = [
  overWeb('web-events', 'events, 256 B, to 1,000, 64 on the way', events(1000, 64, 256)),
  overWeb('web-events-16k', 'events, 16 KiB, to 1,000, 4 on the way', events(1000, 4, 16 * KIB)),
  overPeers('web-peers', 'events, 256 B, to 1,000, 64 on the way', events(1000, 64, 256)),
  overPeers('web-peers-16k', 'events, 16 KiB, to 1,000, 4 on the way', events(1000, 4, 16 * KIB)),
  again('web-requests', 'requests, 256 B, 16 sources, 4 targets, 64 pending, over WebSocket beside frames', WEBSOCKET, FRAMES,
    requests(16, 4, 64, 256), cpu(1.2)),
  { ...beside('web-requests-nats', 'requests, 256 B, 16 sources, 4 targets, 64 pending, over WebSocket', 'nats-websocket',
    requests(16, 4, 64, 256), cpu(0.5)), sides: [{ server: 'hub', ...WEBSOCKET }, { server: 'nats-websocket' }] },
  again('rpc', 'requests, 256 B, 64 sources, 4 framed targets, 1 pending, posted to /rpc beside frames',
    { label: '/rpc', sources: 'http' }, FRAMES, requests(64, 4, 1, 256), cpu(1.5)),
  again('rpc-pipelined', 'requests, 256 B, 64 sources, 4 framed targets, 8 pending, posted to /rpc beside frames',
    { label: '/rpc', sources: 'http' }, FRAMES, requests(64, 4, 8, 256), cpu()),
  {
    name: 'rpc-proxies', title: 'requests, 256 B, 64 sources, 1 pending, posted to /rpc beside proxies before a server',
    sides: [{ server: 'hub', label: '/rpc', sources: 'http' }, { server: 'nginx' }, { server: 'haproxy' }],
    load: requests(64, 4, 1, 256), aims: [1, 2].map((other) => ({ of: [0, 'cpuUs'], over: [other, 'cpuUs'] })),
  },
  idle('idle-websocket', 'WebSocket', WEBSOCKET, requests(4, 4, 4, 256, '--idle', '10000')),
  idle('idle-sse', 'SSE', STREAMS, events(4, 4, 256, '--idle', '10000')),
];

// The load speaks TLS itself, 1.3 with AES-128-GCM to both servers. Where it isn't spoken the load has less to do, and the
// server more at a time.
const TLS = { label: 'TLS', tls: true };
const overTls = (name, load, atMost) => ({
  name, title: `requests, ${size(load.body)}, 16 sources, 4 targets, ${load.depth} pending, over TLS`, load,
  sides: [{ server: 'hub', ...TLS }, { server: 'hub', label: 'plain' }, { server: 'nats', tls: true, label: 'nats, TLS' }],
  aims: [[1, atMost], [2, 0.6]].map(([other, bound]) => ({ of: [0, 'cpuUs'], over: [other, 'cpuUs'], atMost: bound })),
});
const secured = [
  overTls('tls-256', requests(16, 4, 64, 256), 1.6), overTls('tls-16k', requests(16, 4, 16, 16 * KIB), 2),
  again('users-256', 'requests, 256 B, 16 sources, 4 targets, 64 pending, judged by a users file',
    { label: 'users', rights: true }, { label: 'everybody' }, requests(16, 4, 64, 256), cpu(1.03)),
  again('sandbox-256', 'requests, 256 B, 16 sources, 4 targets, 64 pending, behind the sandbox',
    { label: 'walls', options: ['--shards', '1', '--sandbox', 'on'] }, { label: 'none', options: ['--shards', '1', '--sandbox', 'off'] },
    requests(16, 4, 64, 256), cpu(1.01)),
];

// Calls of one tool by 50 clients with a session each, all through one gateway to servers of one program. Only the gateway's
// costs are counted, and not those of the servers of MCP. Beside frames both sides get the same rate: in a closed loop the load
// itself is slower over HTTP, and fewer calls go together in a turn of the hub.
const CALLS = { clients: 50 };
const idleMemory = () => ({ of: [0, 'idleBytes'], over: [1, 'idleBytes'] });
const besideGateway = (peer, ...aims) => ({
  name: `mcp-${peer}`, title: `tools/call, 50 clients, a session each over HTTP, beside ${peer}`, load: CALLS,
  sides: [{ server: 'hub', mcp: 'http' }, { server: peer }], aims,
});
const callingTools = [
  besideGateway('mcp-proxy', cpu(0.02), idleMemory()),
  besideGateway('supergateway', cpu(0.02), idleMemory()),
  { name: 'mcp-framed', title: 'tools/call, 50 clients, 2,000 calls a second, a session each over HTTP, beside frames', load: { ...CALLS, rate: 2000 },
    sides: [{ server: 'hub', label: 'HTTP', mcp: 'http' }, { server: 'hub', label: 'frames', mcp: 'frames' }], aims: [cpu(1.6)] },
];

// Two hubs and the server between them, beside one hub alone. The server is on the load's core: its cost isn't counted.
// The hubs get no more than the server passes on, so they wait, and less goes together in a turn.
const across = (name, title, load, ...aims) =>
  again(`cluster-${name}`, `${title}, from one hub to another beside one hub`, { label: 'across', joined: true }, { label: 'one hub' }, load, ...aims);
const betweenHubs = [
  across('request-256', 'requests, 256 B, 16 sources, 4 targets, 64 pending', requests(16, 4, 64, 256), cpu(3)),
  across('events-1000', 'events, 256 B, to 1,000, 64 on the way', events(1000, 64, 256), cpu(1.15)),
  across('latency', 'requests, 256 B, 1 source, 1 target, 1 pending', requests(1, 1, 1, 256), p50()),
];

// The waits of a peer that pings once a millisecond, while others flood the hub with work of one kind.
const bystander = (flood, title, ...options) => ({
  name: `bystander-${flood}`, title: `a ping each ms, while ${title}`, load: { flood },
  sides: [{ server: 'hub', options: ['--shards', '1', ...options] }],
  aims: [{ of: [0, 'latencyUs.p99'], atMost: 5000 }, { of: [0, 'latencyUs.max'], atMost: 20000 }],
});

const besideFloods = [
  bystander('none', 'nobody else asks anything'),
  bystander('events', 'one publishes 2,000 tiny events at a time to 5,000 subscribers'),
  bystander('registrations', 'eight register 60 agents of 1,000 methods each, over and over'),
  bystander('bodies', 'four send bodies of 16 MB'),
  // A queue that holds all of them.
  bystander('leaving', 'one leaves with 60,000 requests pending, again and again', '--max-queue', '64M'),
  bystander('deserting', 'an agent leaves that owes 60,000 answers, again and again', '--max-queue', '64M'),
  bystander('journal', 'four log entries of 1 MB, eight at a time', '--audit', 'journal'),
];

export const comparisons = [...againstNats, ...againstRedis, ...againstRelay, ...trickling, ...againstItself, ...besideFloods, ...overHttp, ...callingTools, ...secured, ...betweenHubs];

export const sweeps = [
  {
    name: 'sweep-body', title: '16 sources, 16 targets', x: 'body', values: [256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB],
    servers: ['hub', 'nats', 'relay'],
    load: (body) => requests(16, 16, body > 16 * KIB ? 2 : body > KIB ? 16 : 64, body),
    plots: [
      { file: 'throughput', y: 'messagesPerSecond', label: 'Requests and responses a second', better: 'more', sizes: true },
      { file: 'cpu', y: 'cpuUs', label: 'Server CPU a request and response, µs', better: 'less', sizes: true },
    ],
  },
  {
    name: 'sweep-connections', title: '256 B, 2 targets, 8 in flight in all', x: 'connections', values: [10, 100, 1000, 10000],
    servers: ['hub', 'nats'], load: (count) => requests(count - 2, 2, 8, 256, '--in-flight', '8'),
    plots: [{ file: 'connections', y: 'cpuUs', label: 'Server CPU a request and response, µs', better: 'less' }],
  },
  {
    name: 'sweep-subscribers', title: 'events of 256 B, 64 on the way', x: 'subscribers', values: [1, 10, 100, 1000],
    servers: ['hub', 'redis', 'nats', 'mosquitto'], load: (count) => events(count, 64, 256),
    plots: [{ file: 'events', y: 'cpuUs', label: 'Server CPU a delivery, µs', better: 'less' }],
  },
  {
    // 5,000 a second is what all of them carry with room to spare.
    name: 'sweep-rate', title: '256 B, 50 sources, 4 targets, open loop', x: 'requests a second', values: [5000, 20000, 50000],
    servers: ['hub', 'nats'], load: (rate) => requests(50, 4, 64, 256, '--rate', String(rate)),
    plots: [{ file: 'latency', percentiles: true, label: 'Latency from when a request was due, µs', better: 'less' }],
  },
];

// Whether a pattern means this name: the name itself, or several with *.
export function isNamed(name, pattern) {
  const quoted = pattern.replace(/[\\^$.|?+()[\]{}]/g, '\\$&');
  return new RegExp(`^${quoted.replaceAll('*', '.*')}$`).test(name);
}
