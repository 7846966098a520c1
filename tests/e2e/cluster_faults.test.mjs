// A cluster of three NATS servers with a hub at each, and 1,000 requests on their way at each fault. Each request ends
// once, local agents are served as ever, and the cluster heals by itself.
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { Broker, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { listen } from './listeners.mjs';
import { assertError, requestText } from './peer.mjs';

const COUNT = 1000;

// A relay between a server and a route's other end, which a test can cut.
class Relay {
  cut = false;
  sockets = new Set();

  static async open(port) {
    const relay = new Relay();
    relay.server = net.createServer((one) => {
      if (relay.cut) return one.destroy();
      const other = net.connect(port, '127.0.0.1');
      for (const [from, to] of [[one, other], [other, one]]) {
        relay.sockets.add(from);
        from.pipe(to);
        from.on('error', () => {}).on('close', () => to.destroy());
      }
    });
    await listen(relay.server);
    relay.port = relay.server.address().port;
    return relay;
  }

  set(cut) {
    this.cut = cut;
    if (cut) for (const socket of this.sockets) socket.destroy();
  }

  close() {
    this.set(true);
    this.server.close();
  }
}

async function freePorts(count) {
  const servers = await Promise.all(Array.from({ length: count }, () => new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => resolve(server));
  })));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

// Three servers, routes through relays, and a hub at each; `all`: hubs know all servers, not only their own.
async function three(run, { all = true } = {}) {
  const ports = await freePorts(3), relays = new Map(), servers = [], hubs = [];
  for (const from of [0, 1, 2]) for (const to of [0, 1, 2]) if (from < to) relays.set(`${from}${to}`, await Relay.open(ports[to]));
  for (const at of [0, 1, 2]) {
    const routes = [...relays].filter(([pair]) => Number(pair[0]) === at).map(([, relay]) => `nats://127.0.0.1:${relay.port}`);
    servers.push(await Broker.start(['--cluster_name', 'c', '--server_name', `s${at}`, '--cluster', `nats://127.0.0.1:${ports[at]}`,
      '--cluster_advertise', '127.0.0.1:1', ...(routes.length ? ['--routes', routes.join(',')] : [])]));
  }
  const part = (server, cut) => relays.forEach((relay, pair) => pair.includes(String(server)) && relay.set(cut));
  const failures = [];
  try {
    for (const at of [0, 1, 2]) hubs.push(await Hub.start(joining(all ? [servers[at], ...servers.filter((_, n) => n !== at)] : servers[at])));
    await Promise.all(hubs.map((hub) => linked(hub)));
    await run({ hubs, servers, part });
  } catch (error) {
    failures.push(error);
  }
  for (const hub of hubs) if (!hub.over) await hub.stop().catch((error) => failures.push(error));
  for (const server of servers) if (!server.over) await server.kill();
  relays.forEach((relay) => relay.close());
  if (failures.length) throw failures.length === 1 ? failures[0] : new AggregateError(failures, failures.map((one) => one.stack).join('\n'));
}

// Once a request from one hub to the agent at another is answered.
async function found(source, targetAgent) {
  await until(`${targetAgent} is found`, async () => !(await source.ask('work', { targetAgent })).error);
}

// 1,000 requests that wait at their target, which answers nothing until the fault.
async function inFlight(source, agent, targetAgent) {
  agent.answers = undefined;
  for (let id = 0; id < COUNT; id++) source.send(requestText(id, 'work', { targetAgent, id }));
  const asked = [];
  for (let n = 0; n < COUNT; n++) asked.push((await agent.find((one) => one.json.method === 'work', 'a request')).json.id);
  return asked;
}

async function allEnd(source, codes) {
  const ended = new Set();
  for (let n = 0; n < COUNT; n++) {
    const { json } = await source.find((one) => typeof one.json.id === 'number', 'an answer');
    assert.ok(codes.includes(json.error?.code), JSON.stringify(json));
    assert.ok(!ended.has(json.id), `${json.id} ended twice`);
    ended.add(json.id);
  }
}

async function cancelled(agent, asked) {
  const ids = new Set();
  for (let n = 0; n < asked.length; n++) ids.add((await agent.find((one) => one.json.method === '$/cancelRequest', 'a cancel')).json.params.id);
  assert.deepEqual(ids, new Set(asked));
}

async function fault(name, options, wrong, right) {
  test(name, () => three(async (cluster) => {
    const { hubs } = cluster;
    const agent = (await hubs[1].agent('b')).serve(() => 1);
    const [source, local] = [await hubs[0].peer(), (await hubs[0].agent('a')).serve(() => 'here')];
    await found(source, 'b');
    const asked = await inFlight(source, agent, 'b');
    await wrong(cluster);
    assert.equal((await source.ask('work', { targetAgent: 'a' })).result, 'here');
    await allEnd(source, [-32050]);
    if (!hubs[1].over) {
      await cancelled(agent, asked);
      for (const id of asked) agent.reply(id, 'late');
      agent.serve(() => 'again');
    }
    await right?.(cluster);
    if (!hubs[1].over) await found(source, 'b');
    else assertError(await source.ask('work', { targetAgent: 'b' }), -32010);
    await source.silent('what ended once');
    local.drop();
  }, options));
}

await fault('the server of the target\'s hub is killed', {}, async ({ servers }) => {
  servers[1].over = true;
  await servers[1].kill();
});
await fault('the server of the source\'s hub is killed', {}, async ({ servers }) => {
  servers[0].over = true;
  await servers[0].kill();
});
await fault('the target\'s hub is killed', {}, async ({ hubs }) => {
  hubs[1].over = true;
  hubs[1].process.kill('SIGKILL');
  hubs[1].clean();
});
await fault('a server is cut off from the others', { all: false }, ({ part }) => part(1, true), ({ part }) => part(1, false));
