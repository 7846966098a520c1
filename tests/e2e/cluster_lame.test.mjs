// A NATS server says that it will go: the hub moves to another one in time, with requests, answers and events on their way, and
// nothing of it is lost, comes twice, or fails.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Broker, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError } from './peer.mjs';
import { head, Played } from './played.mjs';

const LISTENING = /route connections on 127\.0\.0\.1:(\d+)/;

// Two servers of one cluster.
async function pair(directory) {
  const servers = [];
  for (const name of ['one', 'other']) {
    const route = servers.map(({ log }) => `nats://127.0.0.1:${LISTENING.exec(log)[1]}`);
    const path = join(directory, `${name}.conf`);
    writeFileSync(path, `server_name: ${name}\ncluster { name: c, listen: "127.0.0.1:-1", no_advertise: true, routes: [${route.map((url) => `"${url}"`)}] }\n`);
    servers.push(await Broker.start(['-c', path]));
    await until('it listens for routes', () => LISTENING.test(servers.at(-1).log));
  }
  await until('there is a route', () => servers.every(({ log }) => log.includes('Route connection created')));
  return servers;
}

// Hub x is at the first server, and knows both, or whom `known` says, y at the second; `run` gets both, and tells the first that it is to go.
async function moving(run, shards, known = (servers) => servers) {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-lame-')), hubs = [], servers = await pair(directory), traffic = { published: 0 };
  try {
    for (const at of [await known(servers), [servers[1]]]) hubs.push(await Hub.start([...joining(at), '--shards', String(shards)]));
    await Promise.all(hubs.map((hub) => linked(hub)));
    await run(...hubs, servers, traffic);
  } catch (error) {
    for (const one of [traffic.answers, ...traffic.waiting ?? []]) one?.catch(() => {}); // whoever waits still will be told that the hub has gone
    throw error;
  } finally {
    end(traffic);
    await Promise.all(hubs.filter((hub) => !hub.over).map((hub) => hub.stop()));
    for (const server of servers) await server.kill();
    rmSync(directory, { recursive: true });
  }
}

function end(traffic) {
  traffic.stop = true;
  clearInterval(traffic.news);
}

async function stats(hub) {
  const watch = await hub.peer();
  const { result } = await watch.ask('hub/stats');
  watch.drop();
  return result;
}

// Once the server of the one knows who is at the other's: what their server has confirmed is on its way to it.
async function reaches(from, at, agent) {
  (await at.agent(agent)).serve(() => agent);
  const asking = await from.peer();
  await until('its server has heard of who is there', async () => (await asking.ask('work', { targetAgent: agent })).result === agent);
  asking.drop();
}

// Asks one after the other until it is told to stop; what was answered.
async function keepAsking(traffic, source, method, params) {
  const answers = new Set();
  while (!traffic.stop) {
    const { result, error } = await source.ask(method, params);
    answers.add(result ?? JSON.stringify(error));
  }
  return [...answers];
}

for (const shards of [1, 2])
  test(`a server that will go is left in time, and nothing fails (--shards ${shards})`, () => moving(async (x, y, [one], traffic) => {
    const here = (await x.agent('a', { methods: ['here'] })).serve(() => 'a');
    (await y.agent('b', { methods: ['there'] })).serve(() => 'b');
    const slow = [await x.agent('slow-a'), await y.agent('slow-b')];
    await Promise.all([reaches(x, y, 'last-b'), reaches(y, x, 'last-a')]);
    const [fromX, fromY, late, later, publisher] = [await x.peer(), await y.peer(), await x.peer(), await y.peer(), await y.peer()];
    const subscriber = await x.peer();
    await subscriber.ask('hub/subscribe', { events: ['news'] });
    const waiting = traffic.waiting = [late.ask('work', { targetAgent: 'slow-b' }), later.ask('work', { targetAgent: 'slow-a' })];
    const taken = await Promise.all(slow.map((agent) => agent.next()));
    const [alsoX, alsoY] = [await x.peer(), await y.peer()];
    traffic.answers = Promise.all([keepAsking(traffic, fromX, 'work', { targetAgent: 'b' }), keepAsking(traffic, fromY, 'here', {}),
      keepAsking(traffic, alsoX, 'there', {}), keepAsking(traffic, alsoY, 'work', { targetAgent: 'a' })]);
    traffic.news = setInterval(() => publisher.notify('event', { event: 'news', data: traffic.published++ }), 5);
    one.process.kill('SIGUSR2'); // as nats-server --signal ldm does
    await until('the link has moved', async () => (await stats(x)).cluster_links_moved === 1);
    const fresh = await x.agent('fresh'); // known by the new link
    fresh.serve(() => 'fresh');
    assert.equal((await alsoY.ask('work', { targetAgent: 'fresh' })).result, 'fresh');
    // What the old subscriptions were for is the new ones' now, and the old link has what isn't over yet.
    await new Promise((resolve) => setTimeout(resolve, 2000));
    assert.equal((await stats(x)).by_transport.nats, 2);
    slow.forEach((agent, at) => agent.reply(taken[at].json.id, 'late'));
    assert.deepEqual((await Promise.all(waiting)).map(({ result }) => result), ['late', 'late']);
    await until('the old link has gone', async () => (await stats(x)).by_transport.nats === 1);
    end(traffic);
    assert.deepEqual(await traffic.answers, [['b'], ['a'], ['b'], ['a']]);
    const heard = new Set();
    while (heard.size < traffic.published) {
      const { json } = await subscriber.next();
      assert.equal(json.method, 'event', JSON.stringify(json)); // it is told of nothing that it has missed
      assert.ok(!heard.has(json.params.data), `event ${json.params.data} came twice`);
      heard.add(json.params.data);
    }
    const counters = await stats(x);
    assert.deepEqual([counters.cluster_links_lost, counters.cluster_link], [0, 1]);
    await one.kill(); // nobody is there any more
    assert.equal((await fromX.ask('work', { targetAgent: 'b' })).result, 'b');
    assert.equal((await stats(x)).cluster_links_lost, 0);
    here.drop();
    await until('who has left is found no more', async () => (await fromY.ask('here', {})).error !== undefined);
    assertError(await fromY.ask('here', {}), -32601);
  }, shards));

// A way to a server that can be cut.
async function wayTo({ port }) {
  const sockets = new Set();
  const server = net.createServer((socket) => {
    const other = net.connect(port, '127.0.0.1');
    for (const [one, two] of [[socket, other], [other, socket]]) {
      sockets.add(one);
      one.on('error', () => {}).on('close', () => sockets.delete(one) && two.destroy()).pipe(two);
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `nats://127.0.0.1:${server.address().port}`,
    cut: () => sockets.forEach((socket) => socket.destroy()),
    close: () => server.close(),
  };
}

test('the link after it is lost, and others come, while it ends what it has: names are given as ever', () => {
  let way;
  return moving(async (x, y, [one], traffic) => {
    const slow = await y.agent('slow');
    await reaches(x, y, 'last');
    const late = (await x.peer()).ask('work', { targetAgent: 'slow' });
    traffic.waiting = [late];
    const { json } = await slow.next();
    one.process.kill('SIGUSR2');
    await until('the link has moved', async () => (await stats(x)).cluster_links_moved === 1);
    for (let lost = 1; lost <= 3; lost++) { // each time it has a name of its own, which may be lesser than the old one's or not
      way.cut();
      await until('it is lost', async () => (await stats(x)).cluster_links_lost === lost);
      await linked(x);
      await x.agent(`fresh-${lost}`);
    }
    slow.reply(json.id, 'late');
    assert.equal((await late).result, 'late');
  }, 1, async (servers) => [servers[0], (way = await wayTo(servers[1])).url]).finally(() => way?.close());
});

// Who hears it would take it for there again, and for one that heeds nothing: it said that with its beats, and they are forgotten.
test('a link that has said that it goes says nothing more', () => moving(async (x, y, [one, other]) => {
  const played = await Played.join(other);
  await played.client.subscribe('patchbay.test.beat');
  const goes = played.client.find(({ head: mark }) => / leaves=1/.test(mark), 'a farewell');
  one.process.kill('SIGUSR2');
  const [, name] = / hub=([0-9a-f]{32})/.exec((await goes).head);
  played.client.publish('patchbay.test.hubs', '', '', head(played.name, ' agents=7')); // who is there is asked of all hubs, and it beats for as long as it is one
  await until('the old link has gone', async () => (await stats(x)).by_transport.nats === 1);
  const answered = async () => (await stats(y)).by_transport.nats === 1 && played.client.messages.some(({ head: mark }) => / part=7/.test(mark));
  await until('the others have answered', answered);
  await played.client.settled();
  assert.ok(!played.client.messages.some(({ head: mark }) => mark?.includes(` hub=${name}`) && / part=/.test(mark)));
  played.client.drop();
}, 1));

// Several, to choose the one whose link has the least name: the next name that it gets is a greater one, most likely.
async function leastOf(hubs) {
  await Promise.all(hubs.map((hub) => linked(hub)));
  const agents = await Promise.all(hubs.map((hub, at) => hub.agent(`at-${at}`, { events: [{ name: 'n' }] })));
  const watch = await hubs[0].peer();
  let all = [];
  await until('all know each other', async () => {
    all = (await watch.ask('hub/agents', { cluster: true })).result.agents;
    return all.length === hubs.length;
  });
  watch.drop();
  const { hub: name, agentId } = all.sort((a, b) => (a.hub < b.hub ? -1 : 1))[0];
  const at = Number(agentId.slice(3));
  return { name, id: agentId, agent: agents[at], hub: hubs[at] };
}

const request = (id, method, params = {}) => JSON.stringify({ jsonrpc: '2.0', id, method, params });

// By its old link's name it is waited for as long as that beats; and the name behind that one is another hub's, which answers nothing.
test('what all hubs hear is answered once while a hub that has moved ends what it had', () => moving(async (x, y, servers) => {
  const others = await Promise.all(Array.from({ length: 11 }, () => Hub.start(joining(servers))));
  try {
    const { name, id, agent, hub } = await leastOf([x, ...others]);
    await Promise.all([x, y, ...others].filter((other) => other !== hub).map((other) => other.stop()));
    const played = await Played.join(servers[1]), { client } = played, inbox = `_INBOX.${played.name}`;
    const beats = setInterval(() => played.beat(' joint=2 fences=1'), 200);
    played.name = (BigInt(`0x${name}`) + 1n).toString(16).padStart(name.length, '0');
    await client.subscribe('patchbay.test.hubs');
    await client.subscribe(`${inbox}.*`);
    client.publish(`patchbay.test.agent.${id}`, request(1, 'work'), `${inbox}.slow`); // the old link stays until that is answered
    const { json } = await agent.next();
    servers[0].process.kill('SIGUSR2');
    await until('the link has moved', async () => (await stats(hub)).cluster_links_moved === 1);
    let asked = 0;
    for (const begun = Date.now(); Date.now() - begun < 2500; asked++) { // meanwhile the old link's subscriptions end
      client.publish('patchbay.test.event.news', request(asked, 'event', { event: 'news' }), `${inbox}.${asked}`);
      await client.find((one) => one.subject === `${inbox}.${asked}`, `the answer to event ${asked}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal((await stats(hub)).by_transport.nats, 2);
    assert.ok(client.messages.some(({ head: mark, text }) => mark?.includes(` hub=${name} names=1`) && text === ''), 'it names nothing any more');
    agent.reply(json.id);
    await client.find((one) => one.subject === `${inbox}.slow`, 'what the old link stayed for');
    assert.ok(!client.messages.some(({ subject }) => subject.startsWith(inbox)), 'more than one answer');
    clearInterval(beats);
    client.drop();
  } finally {
    await Promise.all(others.filter((other) => !other.over).map((other) => other.stop()));
  }
}, 1));
