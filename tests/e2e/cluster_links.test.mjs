// Faults between hubs: the server isn't there, goes, comes back, says nothing; a hub is killed; a body is too large.
// Each request ends once, who is here is served as ever, and all of it heals by itself.
import assert from 'node:assert/strict';
import net from 'node:net';
import { Broker, Client, joined, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { listen } from './listeners.mjs';
import { fourAtOnce, test } from './parallel.mjs';
import { assertError, requestText } from './peer.mjs';

fourAtOnce();

// With the link down nobody knows who is elsewhere.
function assertDown(answer) {
  assert.equal(assertError(answer, -32050).data.link, 'down');
}

test('without a server the hub serves its own, and joins when there is one', async () => {
  const place = await Broker.start();
  await place.kill();
  const [x, y] = [await Hub.start(joining(place)), await Hub.start(joining(place))];
  (await x.agent('a')).serve(() => 'here');
  const there = (await y.agent('b')).serve(() => 'there');
  const source = await x.peer();
  assert.equal((await source.ask('work', { targetAgent: 'a' })).result, 'here');
  assertDown(await source.ask('work', { targetAgent: 'b' }));
  assertDown(await source.ask('work', { targetAgent: '@nothing' }));
  assertDown(await source.ask('tool/integration', { tool: 'none', arguments: {} }));
  assertDown(await source.ask('no/such', {}));
  await place.again();
  await Promise.all([linked(x), linked(y)]);
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 'there');
  there.drop();
  await Promise.all([x.stop(), y.stop()]);
  await place.kill();
});

joined('the server is killed: what was across ends at both sides, and all heals', {}, async (x, y, broker) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  const count = 200;
  for (let id = 0; id < count; id++) source.send(requestText(id, 'work', { targetAgent: 'b' }));
  const asked = [];
  for (let n = 0; n < count; n++) asked.push((await agent.next()).json.id);
  await broker.kill();
  const ended = new Set();
  for (let n = 0; n < count; n++) {
    const { json } = await source.next();
    assertError(json, -32050);
    ended.add(json.id);
  }
  assert.equal(ended.size, count);
  const cancelled = new Set();
  for (let n = 0; n < count; n++) cancelled.add((await agent.next()).json.params.id);
  assert.deepEqual(cancelled, new Set(asked));
  assertDown(await source.ask('work', { targetAgent: 'b' }));
  await broker.again();
  await Promise.all([linked(x), linked(y)]);
  for (const id of asked) agent.reply(id, 'late');
  agent.serve(() => 'again');
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 'again');
  await source.silent('late answers');
});

joined('a server that says nothing any more is left after some seconds', { shards: [1] }, async (x, y, broker) => {
  const agent = (await y.agent('b')).serve(() => 1);
  const source = await x.peer();
  broker.freeze();
  const begun = Date.now();
  const asked = source.ask('work', { targetAgent: 'b' });
  const local = await x.agent('a');
  local.serve(() => 'here');
  assert.equal((await source.ask('work', { targetAgent: 'a' })).result, 'here');
  assertError(await asked, -32050);
  assert.ok(Date.now() - begun < 6_000, `it took ${Date.now() - begun} ms`);
  await until('the link is given up', () => x.stderr.includes("the server doesn't answer"));
  assert.ok(Date.now() - begun > 4_500 && Date.now() - begun < 15_000, `it took ${Date.now() - begun} ms`);
  assertError(await source.ask('work', { targetAgent: 'b' }), -32050);
  broker.thaw();
  await Promise.all([linked(x), linked(y)]);
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
  agent.drop();
});

joined('a hub is killed: what it owed ends -32050, and says whom it was asked of', { shards: [1] }, async (x, y, broker) => {
  const client = await Client.join(broker);
  await client.subscribe('patchbay.test.hub.*.taken');
  const agent = await y.agent('b', { review: true, tools: ['lint'], methods: ['tests/run'], commands: ['deploy'] });
  const asked = [
    ['work', { targetAgent: 'b' }, { agent: 'b' }],
    ['work', { targetAgent: '@review' }, { agent: '@review' }],
    ['tool/integration', { tool: 'lint', arguments: {} }, { tool: 'lint' }],
    ['command/execute', { command: 'deploy' }, { command: 'deploy' }],
    ['tests/run', {}, { method: 'tests/run' }],
  ];
  const source = await x.peer();
  for (const [id, [method, params]] of asked.entries()) source.send(requestText(id, method, params));
  for (const one of asked) assert.equal((await agent.next()).json.method, one[0]);
  for (let taken = 0; taken < asked.length;) taken += JSON.parse((await client.message('what it took')).text).length;
  client.drop();
  y.process.kill('SIGKILL');
  y.over = true;
  const ended = new Map();
  while (ended.size < asked.length) {
    const { json } = await source.next();
    ended.set(json.id, assertError(json, -32050).data);
  }
  assert.deepEqual(asked.map((_, id) => ended.get(id)), asked.map(([, , data]) => data));
  assertError(await source.ask('work', { targetAgent: 'b' }), -32010);
  y.clean();
});

joined('a hub that asked is killed: what it asked is cancelled at its target', { shards: [1] }, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  source.send(requestText(1, 'work', { targetAgent: 'b' }));
  const { json } = await agent.next();
  x.process.kill('SIGKILL');
  x.over = true;
  assert.deepEqual((await agent.next()).json.params, { id: json.id });
  x.clean();
});

joined('a hub ends in good order: nothing is lost, and what it owed is told', {}, async (x, y) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  source.send(requestText(1, 'work', { targetAgent: 'b' }));
  const { json } = await agent.next();
  const ending = y.stop();
  y.over = true;
  agent.reply(json.id, 'last');
  const answer = (await source.next()).json;
  assert.ok(answer.result === 'last' || answer.error.code === -32050, JSON.stringify(answer));
  await ending;
});

joined('a body over max_payload ends before it is sent', {}, async (x, y) => {
  const agent = (await y.agent('b')).serve(() => 'x'.repeat(1_100_000));
  const source = await x.peer();
  const error = assertError(await source.ask('work', { targetAgent: 'b', big: 'x'.repeat(1_048_576) }), -32055);
  const sizes = Object.values(error.data).filter((value) => typeof value === 'number');
  assert.ok(sizes.includes(1_048_576), `max_payload in ${JSON.stringify(error.data)}`);
  assert.ok(sizes.some((size) => size > 1_048_576), `its own size in ${JSON.stringify(error.data)}`);
  const { limit, bytes } = assertError(await source.ask('work', { targetAgent: 'b' }), -32055).data;
  assert.ok(limit === 1_048_576 && bytes > 1_100_000, `of the answer ${limit}, ${bytes}`);
  agent.serve(() => 'small');
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 'small');
  source.notify('work', { targetAgent: 'b', big: 'x'.repeat(1_048_576) });
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 'small');
});

test('the second server is tried when the first isn\'t there', async () => {
  const gone = await Broker.start();
  await gone.kill();
  const broker = await Broker.start();
  const [x, y] = [await Hub.start(joining([gone, broker])), await Hub.start(joining([gone, broker]))];
  await Promise.all([linked(x), linked(y)]);
  (await y.agent('b')).serve(() => 1);
  assert.equal((await (await x.peer()).ask('work', { targetAgent: 'b' })).result, 1);
  await Promise.all([x.stop(), y.stop()]);
  await broker.kill();
});

test('what is no NATS server is left, and the next is tried', async () => {
  const broker = await Broker.start();
  const plain = await Hub.start();
  const other = plain.uri('tcp').replace('tcp:', 'nats:');
  const hub = await Hub.start(joining([other, broker]));
  await linked(hub);
  await Promise.all([hub.stop(), plain.stop()]);
  await broker.kill();
});

joined('a body over the other hub\'s own limit is -32055', { hubs: [[], ['--max-frame', '64K']], shards: [1] }, async (x, y) => {
  const agent = (await y.agent('b')).serve(() => 1);
  const source = await x.peer();
  const bounded = ({ limit, bytes }) => assert.ok(limit === 65536 && bytes > 100_000 && bytes < 100_300, `${limit} ${bytes}`);
  bounded(assertError(await source.ask('work', { targetAgent: 'b', big: 'x'.repeat(100_000) }), -32055).data);
  const answered = (await x.agent('a')).serve(() => 'x'.repeat(100_000));
  const { data } = assertError(await (await y.peer()).ask('work', { targetAgent: 'a' }), -32055);
  bounded(data);
  assert.equal(data.agent, 'a');
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
  for (const peer of [agent, answered]) peer.drop();
});

// Starts what looks like a NATS server. It names these other servers to each client, and closes the connection.
async function naming(urls) {
  const info = { server_id: 'N', version: '2.9.0', headers: true, max_payload: 1 << 20, connect_urls: urls };
  const server = net.createServer((socket) => socket.on('error', () => {}).end(`INFO ${JSON.stringify(info)}\r\n`));
  await listen(server);
  return server;
}

test('of the servers that a server names the first are kept, and none without a port', async () => {
  const broker = await Broker.start();
  const gone = Array.from({ length: 32 }, (_, at) => `127.0.0.1:${at + 1}`);
  const server = await naming(['127.0.0.1:0', '[::1]:0', `127.0.0.1:${broker.port}`, ...gone]);
  const hub = await Hub.start(joining(`nats://127.0.0.1:${server.address().port}`));
  await linked(hub);
  // The broker was the next server that the hub tried: the hub tried none of those that are gone.
  const watch = await hub.peer();
  const { cluster_dials_failed: failed } = (await watch.ask('hub/stats')).result;
  assert.ok(failed <= 2, `${failed} dials failed`);
  await hub.stop();
  server.close();
  await broker.kill();
});

joined('an answer over max_payload ends its request; a notification over it is counted', {}, async (x, y) => {
  const big = 'x'.repeat(1_048_576), agent = (await y.agent('b')).serve(() => big);
  const source = await x.peer(), stats = async () => (await source.ask('hub/stats')).result;
  const { limit, bytes } = assertError(await source.ask('work', { targetAgent: 'b' }), -32055).data;
  assert.ok(limit === 1_048_576 && bytes > limit, `${limit} ${bytes}`);
  const before = (await stats()).dropped_notifications_refused;
  source.notify('work', { targetAgent: 'b', big });
  await until('it is counted', async () => (await stats()).dropped_notifications_refused === before + 1);
  await agent.silent('what is too large');
});

joined('an event over max_payload reaches those who are here', {}, async (x, y) => {
  const [here, there, source] = [await x.peer(), await y.peer(), await x.peer()];
  for (const peer of [here, there]) await peer.ask('hub/subscribe', { events: ['news'] });
  source.notify('event', { event: 'news', data: 'x'.repeat(1_048_576) });
  source.notify('event', { event: 'news', data: 1 });
  assert.equal((await here.next()).json.params.data.length, 1_048_576);
  assert.equal((await here.next()).json.params.data, 1);
  assert.equal((await there.next()).json.params.data, 1);
});

joined('who subscribed is told that a link was lost', {}, async (x, y, broker) => {
  const [watch, publisher] = [await x.peer(), await y.peer()];
  await watch.ask('hub/subscribe', { events: ['news'] });
  await broker.kill();
  assert.deepEqual((await watch.next()).json, { jsonrpc: '2.0', method: 'hub/dropped', params: { count: 0, unknown: true } });
  await broker.again();
  await Promise.all([linked(x), linked(y)]);
  publisher.notify('event', { event: 'news', data: 1 });
  assert.equal((await watch.next()).json.params.data, 1);
  await publisher.silent('what it hasn\'t subscribed to');
});
