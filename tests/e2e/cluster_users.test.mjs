// Users among hubs: they travel by name. Hubs that have the same file ask each other: the source's judges the address, the other one whom it may reach.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Broker, Client, joining, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError } from './peer.mjs';
import { ALL, directoryOfUsers, known, refused, reload, usersText } from './users.mjs';

const userOf = ({ fields }) => fields.filter(([name]) => /^patchbay-user$/i.test(name)).map(([, value]) => value);
const ROOT = { ...ALL, admin: true };

// Under which names a hub is asked, by its users.
const realmOf = (hub) => `1-${createHash('sha256').update(readFileSync(hub.usersFile)).digest('hex').slice(0, 16)}`;

let files = 0;
async function start(broker, users, options) {
  const file = join(directoryOfUsers, `cluster-${++files}.ini`), journal = `${file}.journal`;
  if (users) writeFileSync(file, usersText({ root: ROOT, ...users }));
  const hub = await Hub.start([...joining(broker), ...options, ...(users ? ['--users', file, '--audit', journal] : [])]);
  hub.usersFile = file;
  hub.journal = journal;
  const watch = users ? await known(hub, 'root') : await hub.peer();
  await until('there is a link', async () => (await watch.ask('hub/stats')).result.cluster_link === 1);
  watch.drop();
  return hub;
}

// Two hubs with users; null: one has none. Without a second entry they have the same.
function between(name, [ofX, ofY = ofX], run, shards = [1, 2], options = []) {
  for (const count of shards)
    test(`${name} (--shards ${count})`, async () => {
      const broker = await Broker.start(), hubs = [];
      try {
        for (const users of [ofX, ofY]) hubs.push(await start(broker, users, ['--shards', String(count), ...options]));
        await run(...hubs, broker);
      } finally {
        for (const hub of hubs) await hub.stop();
        await broker.kill();
      }
      for (const hub of hubs) assert.doesNotMatch(hub.stderr, /pb_token|sha256:/);
    });
}

between('what a user may at both hubs is done, and its target is told who it is',
  [{ asker: { call: ['b', 'method:tests/*'] } }], async (x, y) => {
    const agent = await known(y, 'root');
    await agent.register('b', { methods: ['tests/run'] });
    const source = await known(x, 'asker');
    for (const method of ['work', 'tests/run']) {
      const params = method === 'work' ? { targetAgent: 'b' } : {};
      source.send({ jsonrpc: '2.0', id: 1, method, params }, 'Patchbay-User: root', 'Request-Id: 17');
      const asked = await agent.next();
      assert.deepEqual(userOf(asked), ['asker']);
      assert.deepEqual(asked.fields.find(([name]) => name === 'Request-Id'), ['Request-Id', '17']);
      agent.reply(asked.json.id, method);
      assert.equal((await source.next()).json.result, method);
    }
    const lines = readFileSync(y.journal, 'utf8');
    assert.doesNotMatch(lines, /refus/);
  });

between('what a user may not is refused by the source\'s hub, before anything is looked up', [{ here: { call: ['a'] }, there: { call: ['*', '@*'], 'deny-call': ['b'] } }], async (x, y) => {
  const agent = await known(y, 'root');
  await agent.register('b', { methods: ['tests/run'], review: true });
  for (const user of ['here', 'there']) {
    const source = await known(x, user);
    refused(await source.ask('work', { targetAgent: 'b' }), 'call');
    refused(await source.ask('tests/run', {}), 'call');
  }
  await agent.silent('what nobody may');
  await until('the journal has it', async () => readFileSync(x.journal, 'utf8').includes('"user":"there"'));
  assert.doesNotMatch(readFileSync(y.journal, 'utf8'), /"kind":"refusal"/);
  // Whom a user is denied by name is left out where its group is.
  const source = await known(x, 'there'), other = await known(y, 'root');
  assert.equal((await source.ask('work', { targetAgent: '@review' })).error.code, (await other.ask('work', { targetAgent: '@none' })).error.code);
  await other.register('c', { review: true });
  other.serve(() => 'c');
  for (let n = 0; n < 20; n++) assert.equal((await source.ask('work', { targetAgent: '@review' })).result, 'c');
  await agent.silent('what nobody may');
});

between('events, notices, progress and cancels', [{ p: { publish: ['build-*'], call: ['b', 'method:build/*'] } }],
  async (x, y) => {
    const agent = await known(y, 'root');
    await agent.register('b', { events: [{ name: 'build/changed' }, { name: 'files/changed' }] });
    await agent.ask('hub/subscribe', { events: ['*'] });
    const source = await known(x, 'p');
    source.notify('event', { event: 'secret', data: 1 });
    source.notify('event', { event: 'build-done', data: 2 });
    const event = await agent.next();
    assert.equal(event.json.params.event, 'build-done');
    assert.deepEqual(userOf(event), ['p']);
    source.notify('files/changed', { n: 1 });
    source.notify('build/changed', { n: 2 });
    const notice = await agent.next();
    assert.deepEqual(notice.json.params, { n: 2 });
    assert.deepEqual(userOf(notice), ['p']);
    source.send({ jsonrpc: '2.0', id: 7, method: 'work', params: { targetAgent: 'b', _meta: { progressToken: 't' } } });
    const asked = (await agent.next()).json;
    agent.notify('notifications/progress', { progressToken: asked.params._meta.progressToken, progress: 1 });
    assert.equal((await source.next()).json.params.progressToken, 't');
    source.notify('$/cancelRequest', { id: 7 });
    assert.deepEqual((await agent.next()).json.params, { id: asked.id });
    agent.send({ jsonrpc: '2.0', id: asked.id, error: { code: -32800, message: 'cancelled' } });
    assert.equal((await source.next()).json.error.code, -32800);
  });

between('hub/agents of all hubs shows what the user may call', [{ sees: { call: ['a', 'b'] }, none: {} }],
  async (x, y) => {
    const [a, b] = [await known(x, 'root'), await known(y, 'root')];
    await a.register('a');
    await b.register('b');
    await b.register('c');
    const seen = async (user) => {
      const { agents, complete } = (await (await known(x, user)).ask('hub/agents', { cluster: true })).result;
      assert.equal(complete, true);
      return agents.map((agent) => agent.agentId).sort();
    };
    assert.deepEqual(await seen('root'), ['a', 'b', 'c']);
    assert.deepEqual(await seen('sees'), ['a', 'b']);
    assert.deepEqual(await seen('none'), []);
  });

between('an approver at another hub: who may call that one, and who may call the method alone',
  [{ named: { call: ['bob'] }, method: { call: ['method:governance/approval'] } }], async (x, y) => {
    const bob = (await (await known(y, 'root')).register('bob')).serve(() => 'bob');
    (await (await known(x, 'root')).register('any', { methods: ['governance/approval'] })).serve(() => 'any');
    const approve = async (user, approver) => (await known(x, user)).ask('governance/approval', { checkpoint: 'c', artifact: {}, approver, decision: 'approved' });
    assert.equal((await approve('named', 'bob')).result, 'bob');
    refused(await approve('named', 'alice'), 'call');
    refused(await approve('method', 'bob'), 'call');
    assert.equal((await approve('method', 'alice')).result, 'any');
    await bob.ask('agent/unregister', { agentId: 'bob' });
    // The server may take what comes at once for bob's still: then his hub says that he isn't there.
    await until('the server knows', async () => (await approve('named', 'bob')).error.code !== -32010);
    refused(await approve('named', 'bob'), 'call');
    assert.equal((await approve('method', 'bob')).result, 'any');
  });

between('hubs with other users are not asked, and a client of the server\'s is nobody', [null, {}], async (x, y, broker) => {
  const agent = await known(y, 'root');
  await agent.register('b');
  const source = await x.peer();
  await until('they know each other', async () => (await source.ask('hub/stats')).result.cluster_hubs_unserved === 1);
  assert.equal(assertError(await source.ask('work', { targetAgent: 'b' }), -32010).data.unserved, 1);
  assert.deepEqual((await source.ask('hub/agents', { cluster: true })).result, { agents: [], complete: false });
  const client = await Client.join(broker);
  const answer = JSON.parse((await client.ask(`patchbay.test.${realmOf(y)}.agent.b`, '{"jsonrpc":"2.0","id":"n","method":"work","params":{}}')).text);
  assert.equal(answer.id, 'n');
  assertError(answer, -32054);
  client.drop();
  await agent.silent('what nobody has sent');
});

between('rates count at the source\'s hub alone', [{ u: { call: ['b'], rate: '3/s' } }], async (x, y) => {
  const agent = await known(y, 'root');
  await agent.register('b');
  agent.serve(() => 1);
  const [here, there] = [await known(x, 'u'), await known(y, 'u')];
  for (const source of [here, there]) {
    const answers = await Promise.all(Array.from({ length: 5 }, () => source.ask('work', { targetAgent: 'b' })));
    assert.ok(answers.some((answer) => answer.result === 1));
    const over = answers.filter((answer) => answer.error);
    assert.ok(over.length > 0 && over.length < 5);
    for (const answer of over) assert.ok(assertError(answer, -32052).data.retryAfterMs > 0);
  }
}, [1]);

// Each hub is given its file in its turn: who has the new one is asked, and asks, under the one before.
between('a users file is brought to one hub after the other', [{ u: { call: ['b'] } }], async (x, y) => {
  const agent = await known(y, 'root');
  await agent.register('b');
  agent.serve(() => 1);
  const source = await known(x, 'u');
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
  for (const hub of [x, y]) {
    await reload(hub, { root: ROOT, u: { call: ['b', 'c'] } });
    for (let n = 0; n < 5; n++) assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
  }
  await until('they have one file again', async () => (await agent.ask('hub/stats')).result.cluster_hubs_unserved === 0);
});

between('without --realm-grace hubs with another file are strangers at once', [{ u: { call: ['b'] } }], async (x, y) => {
  const agent = await known(y, 'root');
  await agent.register('b');
  agent.serve(() => 1);
  const source = await known(x, 'u');
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
  await reload(x, { root: ROOT, u: { call: ['b', 'c'] } });
  await until('it is a stranger', async () => (await source.ask('work', { targetAgent: 'b' })).error?.code === -32010);
}, [1, 2], ['--realm-grace', '0s']);

between('with --takeover, who has an agentId may have it at another hub, and nobody else', [{ other: ALL }, { other: ALL }], async (x, y) => {
  const first = await known(y, 'root');
  await first.register('a');
  const other = await known(x, 'other');
  assertError(await other.ask('agent/register', { agentId: 'a', capabilities: {} }), -32053);
  const again = await known(x, 'root');
  await again.register('a');
  assert.equal((await first.next()).json.method, 'hub/replaced');
}, [1], ['--takeover']);

const WATCHER = { watcher: { call: ['a-*', '@review'], 'deny-call': ['a-secret'], subscribe: ['hub-*'] } };
between('of agents at another hub those hear who may see them, and of none any more once that hub is a stranger', [WATCHER], async (x, y) => {
  const watcher = await known(x, 'watcher'), agent = await known(y, 'root'), beside = await known(x, 'root');
  for (const peer of [agent, beside]) await until('they are together', async () => (await peer.ask('hub/stats')).result.cluster_hubs === 1);
  await watcher.ask('hub/subscribe', { events: ['hub-agent-*'] });
  // The other hub tells once a beat has said to it that somebody is subscribed.
  await until('the other hub tells', async () => {
    await agent.register('a-0', {});
    await agent.ask('agent/unregister', { agentId: 'a-0' });
    return watcher.frames.some(({ json }) => json.method === 'event');
  });
  for (const id of ['a-1', 'b-1']) await agent.register(id, {});
  for (const id of ['a-secret', 'b-2']) await agent.register(id, { tasks: ['review'] });
  await agent.register('b-3', { tasks: ['review'], text: 'x'.repeat(5000) });
  const heard = async () => {
    const { event, data } = (await watcher.find(({ json }) => json.method === 'event' && json.params.data.agentId !== 'a-0', 'an event')).json.params;
    assert.match(data.hub, /^[0-9a-f]{32}-1$/);
    assert.equal('capabilities' in data, event === 'hub-agent-registered' && data.agentId !== 'b-3');
    return `${data.agentId} ${data.reason ?? 'registered'}`;
  };
  for (const id of ['a-1', 'b-2', 'b-3']) assert.equal(await heard(), `${id} registered`);
  for (const id of ['b-1', 'b-2']) await agent.ask('agent/unregister', { agentId: id });
  assert.equal(await heard(), 'b-2 unregistered');
  await reload(x, { root: ROOT, ...WATCHER, other: {} });
  assert.deepEqual([await heard(), await heard()].sort(), ['a-1 disconnected', 'b-3 disconnected']);
  await reload(y, { root: ROOT, ...WATCHER, other: {} });
  assert.deepEqual([await heard(), await heard()].sort(), ['a-1 registered', 'b-3 registered']);
});

between('a name that two hubs took as strangers is one\'s alone once they are together', [{}], async (x, y, broker) => {
  const client = await Client.join(broker), [older, younger] = [await known(x, 'root'), await known(y, 'root')];
  await client.subscribe('patchbay.test.*.name.a');
  await until('they are together', async () => (await younger.ask('hub/stats')).result.cluster_hubs === 1);
  await reload(x, { root: ROOT, other: {} });
  for (const peer of [older, younger]) {
    await until('they are strangers', async () => (await peer.ask('hub/stats')).result.cluster_hubs_unserved === 1);
    await peer.register('a');
  }
  // Each hub says twice that it holds the name, after 1 s and after 5 s, and nobody is there who could hear of it.
  for (let said = 0; said < 4;) said += 'ageMs' in JSON.parse((await client.message('the name')).text);
  await reload(y, { root: ROOT, other: {} });
  assert.equal((await younger.find(({ json }) => json.method === 'hub/replaced', 'hub/replaced')).json.params.agentId, 'a');
  client.drop();
}, [1]);
