// Requests to one agent at another hub that go out together: as one message where all hubs take that, each by itself where one doesn't. A
// client of the server's plays the other hub.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { Client, joined, until } from './cluster.mjs';
import { assertError, frame, requestText } from './peer.mjs';
import { bundle, head, Played, unbundle } from './played.mjs';

const TIME = 0xffffff, LEVEL = 1 << 24, VOUCHED = 1 << 26, TAKES = ' joint=1 bundles=1';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-bundles-')), journal = join(directory, 'journal');
after(() => rmSync(directory, { recursive: true, force: true }));

// Several requests in one write.
function askTogether(source, count, params = { targetAgent: 'z' }) {
  source.socket.cork();
  const answered = Array.from({ length: count }, (_, n) => source.ask('work', { ...params, n }));
  source.socket.uncork();
  return answered;
}

const next = (played) => played.client.find((one) => one.subject === 'patchbay.test.agent.z', 'requests');
const known = (hub, count) => until(`${count} hubs are known`, async () => (await hub.ask('hub/agents', { cluster: true })).result.complete === (count === 1));

// Its name is heard by x, which then knows what it takes.
async function playing(broker, words) {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.agent.z q');
  played.beat(words);
  await played.client.settled();
  return played;
}

joined('requests that are asked together go in one message, and each is answered', { hubs: [[]] }, async (x, broker) => {
  const source = await x.peer(), played = await playing(broker, TAKES);
  await known(source, 2);
  const answered = askTogether(source, 5), parts = [], sizes = [];
  while (parts.length < 5) {
    const message = await next(played);
    assert.match(message.head, /^NATS\/1\.0\r\nPatchbay: 1 hub=[0-9a-f]{32} bundle=1\r\n\r\n$/);
    assert.match(message.reply, /^patchbay\.test\.hub\.[0-9a-f]{32}\.b\.[0-9a-f]+$/);
    parts.push(...unbundle(message.bytes).map((part) => ({ ...part, hub: message.reply.split('.')[3] })));
    sizes.push(unbundle(message.bytes).length);
  }
  assert.ok(Math.max(...sizes) > 1, `messages of ${sizes} requests`);
  parts.forEach(({ number, said, body }, n) => {
    const { id, params } = JSON.parse(body);
    assert.deepEqual([id, params.n, said & TIME, said >>> 24], [number, n, 300_000, 0]);
  });
  const answers = parts.map(({ number, body }) => [number.toString(16), `{"jsonrpc":"2.0","id":${number},"result":${JSON.parse(body).params.n}}`]);
  played.client.publish(`patchbay.test.hub.${parts[0].hub}.0`, bundle(...answers), '', head(played.name, ' bundle=1'));
  for (let n = 0; n < 5; n++) assert.equal((await answered[n]).result, n);
  played.client.drop();
});

joined('what has header fields, a high priority or much to say goes by itself, and keeps its order', { hubs: [[]] }, async (x, broker) => {
  const source = await x.peer(), played = await playing(broker, TAKES);
  await known(source, 2);
  const text = (n, more = {}) => requestText(n, 'work', { targetAgent: 'z', n, ...more });
  source.write(Buffer.concat([frame(text(0)), frame(text(1), 'Request-Id: a'), frame(text(2)), frame(text(3, { fill: 'x'.repeat(2000) })), frame(text(4))]));
  const order = [], together = [];
  while (order.length < 5) {
    const message = await next(played), is = message.head.includes(' bundle=1'), [hub] = message.reply.split('.').slice(3);
    for (const { body } of is ? unbundle(message.bytes) : [{ body: message.text }]) {
      const { id, params } = JSON.parse(body), answer = `{"jsonrpc":"2.0","id":${id},"result":${params.n}}`;
      order.push(params.n);
      together.push(is);
      played.client.publish(`patchbay.test.hub.${hub}.${id.toString(16)}`, answer, '',
        head(played.name, '', `Content-Length: ${answer.length}\r\n`));
    }
  }
  for (let n = 0; n < 5; n++) assert.equal((await source.next()).json.result, n);
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
  assert.deepEqual(together, [true, false, true, false, true]);
  played.client.drop();
});

joined('while a hub is there that doesn\'t take several, each goes by itself', { hubs: [[]] }, async (x, broker) => {
  const source = await x.peer(), played = await playing(broker, TAKES), older = await Played.join(broker);
  older.beat(' joint=1');
  await older.client.settled();
  await known(source, 2);
  const answered = askTogether(source, 3);
  for (let n = 0; n < 3; n++) {
    const { head: mark, text, reply } = await next(played);
    assert.doesNotMatch(mark, / bundle=/);
    const { id, params } = JSON.parse(text), body = `{"jsonrpc":"2.0","id":${id},"result":${params.n}}`;
    played.client.publish(reply, body, '', head(played.name, '', `Content-Length: ${body.length}\r\n`));
  }
  for (let n = 0; n < 3; n++) assert.equal((await answered[n]).result, n);
  played.client.drop();
  older.client.drop();
});

joined('where nobody is there for several, each of them is told at once', {}, async (x, y) => {
  const source = await x.peer(), begun = Date.now();
  const answers = await Promise.all(askTogether(source, 6));
  for (const answer of answers) assert.deepEqual(assertError(answer, -32010).data, { agent: 'z' });
  assert.ok(Date.now() - begun < 900, 'before they are asked after');
  assert.equal((await source.ask('hub/stats')).result.cluster_requests_sent, 6);
  assert.ok(y);
});

joined('where who is there can\'t read several, each of them ends', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const source = await x.peer(), played = await playing(broker, TAKES);
  await known(source, 2);
  const answered = askTogether(source, 3), replies = new Set();
  for (let left = 3; left > 0;) {
    const { reply, bytes } = await next(played);
    left -= unbundle(bytes).length;
    replies.add(reply);
  }
  const body = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
  for (const reply of replies) played.client.publish(reply, body, '', head(played.name, ' refused=1', `Content-Length: ${body.length}\r\n`));
  for (const one of answered)
    assert.deepEqual(assertError(await one, -32603).data, { agent: 'z', fault: "the other hub can't read what it was asked" });
  played.client.drop();
});

joined('several requests in one message are asked here as each would be', { hubs: [['--validate', 'strict']] }, async (x, broker) => {
  const b = await x.agent('b', {}, { governanceLevel: 'autonomous' }), played = await Played.join(broker);
  b.serve(({ params }) => params.n);
  const text = (number, more = {}) => requestText(number, 'work', { targetAgent: 'b', n: number, ...more });
  const parts = bundle(['4d', text(77)], ['0', text(78)], ['4f', text(79, { sourceAgent: 'far' }), VOUCHED | LEVEL],
    ['50', text(80, { sourceAgent: 'far' })], ['51', '[]'], ['52', text(82, { sourceAgent: 'far' }), VOUCHED]);
  played.beat(TAKES);
  played.client.publish('patchbay.test.agent.b', parts, `patchbay.test.hub.${played.name}.b.1`, head(played.name, ' bundle=1'));
  const answers = new Map();
  while (answers.size < 5) {
    const { head: mark, bytes, text: one } = await played.client.find((message) => message.subject?.startsWith(`patchbay.test.hub.${played.name}.`), 'answers');
    for (const answer of mark.includes(' bundle=1') ? unbundle(bytes).map(({ body }) => JSON.parse(body)) : [JSON.parse(one)])
      answers.set(answer.id, answer);
  }
  assert.equal(answers.get(77).result, 77);
  assertError(answers.get(79), -32011); // the agent supports less
  assertError(answers.get(80), -32001); // nobody says that it is its source's own
  assertError(answers.get(81), -32600);
  assert.equal(answers.get(82).result, 82);
  assert.equal((await b.ask('hub/stats')).result.cluster_messages_received, 5);
  played.client.drop();
});

joined('what is no request, or is cut off, ends the message, and those before it are asked', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const b = await x.agent('b'), played = await Played.join(broker), client = await Client.join(broker);
  const unreadable = async () => (await b.ask('hub/stats')).result.cluster_messages_unreadable;
  const parts = bundle(['4d', requestText(77, 'work', { targetAgent: 'b' })], ['4e', requestText(78, 'work', { targetAgent: 'b' })]);
  const before = await unreadable();
  played.client.publish('patchbay.test.agent.b', parts.subarray(0, -1), `patchbay.test.hub.${played.name}.b.1`, head(played.name, ' bundle=1'));
  assert.equal((await b.next()).json.params.targetAgent, 'b');
  await until('the rest is counted', async () => (await unreadable()) === before + 1);
  for (const words of [' bundle=1 probe=1', ' bundle=1 offer=3'])
    played.client.publish('patchbay.test.agent.b', parts, `patchbay.test.hub.${played.name}.b.2`, head(played.name, words));
  await until('what comes by itself alone is counted', async () => (await unreadable()) === before + 3);
  client.drop();
  played.client.drop();
});

joined('a message of several that is larger than hubs make them is refused unread, and counted', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const b = await x.agent('b'), played = await Played.join(broker);
  const unreadable = async () => (await b.ask('hub/stats')).result.cluster_messages_unreadable;
  const part = (n, bytes) => [n.toString(16), requestText(n, 'work', { targetAgent: 'b' }).padEnd(bytes)];
  const send = (parts, serial) =>
    played.client.publish('patchbay.test.agent.b', parts, `patchbay.test.hub.${played.name}.b.${serial}`, head(played.name, ' bundle=1'));
  const most = (more) => bundle(...Array.from({ length: 63 }, (_, at) => part(at + 1, 1006)), part(64, 1008 + more)), before = await unreadable();
  assert.equal(most(0).length, 65_536);
  send(most(1), 1);
  const { subject, text } = await played.client.find((one) => one.subject?.startsWith(`patchbay.test.hub.${played.name}.`), 'what it is refused with');
  assert.match(subject, /\.b\.1$/);
  assertError(JSON.parse(text), -32700);
  assert.equal(await unreadable(), before + 1);
  send(most(0), 2);
  for (let n = 1; n <= 64; n++) assert.equal((await b.next()).json.params.targetAgent, 'b');
  assert.equal(await unreadable(), before + 1);
  played.client.drop();
});

// Of what is refused here the journal has whom the source's hub names.
joined('a name that no agent has names nobody', { hubs: [['--validate', 'strict', '--audit', journal]], shards: [1] }, async (x, broker) => {
  const b = await x.agent('b', {}, { governanceLevel: 'autonomous' }), played = await Played.join(broker), long = 'f'.repeat(256);
  const text = (n, sourceAgent) => requestText(n, 'work', { targetAgent: 'b', sourceAgent });
  const parts = bundle(['4d', text(77, long), VOUCHED], ['4e', text(78, 'fQr').replace('Q', '\\u0061'), VOUCHED]);
  played.client.publish('patchbay.test.agent.b', parts, `patchbay.test.hub.${played.name}.b.1`, head(played.name, ' bundle=1'));
  for (const [n, name] of [[79, long], [80, 'f\\u0061r'], [81, 'other']]) {
    const one = text(n, 'nobody');
    played.client.publish('patchbay.test.agent.b', one, `patchbay.test.hub.${played.name}.${n.toString(16)}`,
      head(played.name, ` agent=${name}`, `Content-Length: ${one.length}\r\n`));
  }
  const lines = () => readFileSync(journal, 'utf8').split('\n').filter((line) => line.includes('"refusal"')).map((line) => JSON.parse(line));
  await until('all are refused', () => lines().length === 5);
  assert.deepEqual(lines().map((line) => line.source.agents), [[], [], [], [], ['other']]);
  await b.silent('what nobody says that it is its source\'s own');
  played.client.drop();
});

joined('a list of what was taken that is cut off is counted', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const watch = await x.peer(), played = await Played.join(broker);
  const unreadable = async () => (await watch.ask('hub/stats')).result.cluster_messages_unreadable;
  await played.client.subscribe('patchbay.test.beat');
  const { head: beat } = await played.client.find((one) => one.subject === 'patchbay.test.beat', 'a beat');
  const name = / hub=([0-9a-f]{32})/.exec(beat)[1], before = await unreadable();
  const list = Buffer.alloc(16, 1);
  for (const bytes of [16, 13, 8, 7]) played.client.publish(`patchbay.test.hub.${name}`, list.subarray(0, bytes), '', head(played.name, ' took=1'));
  await played.heard(name);
  assert.equal(await unreadable(), before + 2);
  played.client.drop();
});
