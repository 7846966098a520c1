// Agents come, are addressed, change and go: agent/register, agent/unregister, requests and notifications by
// targetAgent, and the errors for what can't be delivered.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, requestText } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };

scenario('a request reaches its agent and the answer comes back', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const params = { targetAgent: 'target', task: 'add', context: { n: [1, 2] } };
  source.send(requestText(7, 'agent/request', params));
  const seen = (await target.next()).json;
  assert.deepEqual({ ...seen, id: 0 }, { jsonrpc: '2.0', id: 0, method: 'agent/request', params });
  assert.ok(Number.isSafeInteger(seen.id) && seen.id >= 0, `the hub's id ${seen.id}`);
  target.reply(seen.id, { sum: 3 });
  assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 7, result: { sum: 3 } });
});

scenario('any method goes where targetAgent says', EVERYWHERE, async (hub) => {
  (await hub.agent('target')).serve((message) => message.method);
  const source = await hub.peer();
  for (const method of ['agent/request', 'editor/getMessage', 'tool/integration', 'x', '名前']) {
    assert.equal((await source.ask(method, { targetAgent: 'target' })).result, method);
  }
});

scenario('a notification arrives byte for byte and is not answered', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const text = '{"method":"tick" , "params":{"n":1.50,"targetAgent":"target"},\t"jsonrpc":"2.0"}';
  source.send(text);
  assert.equal((await target.next()).text, text);
  await source.silent('a delivered notification');
});

scenario('an agent may ask itself and another agent on its own connection', EVERYWHERE, async (hub) => {
  const both = await hub.agent('one');
  await both.register('two');
  for (const agentId of ['one', 'two']) {
    both.send(requestText(5, 'agent/request', { targetAgent: agentId }));
    const seen = (await both.find((one) => 'method' in one.json, 'its own request')).json;
    both.reply(seen.id, agentId);
    const answer = await both.find((one) => 'result' in one.json, 'its own answer');
    assert.deepEqual(answer.json, { jsonrpc: '2.0', id: 5, result: agentId });
  }
});

scenario('an unknown agent is -32010 with the agent in data', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  const error = assertError(await source.ask('agent/request', { targetAgent: 'nobody' }), -32010);
  assert.match(JSON.stringify(error.data), /nobody/);
  assert.match(error.message, /agent not found/i);
});

scenario('a targetAgent that is no string is -32602', {}, async (hub) => {
  const source = await hub.peer();
  for (const targetAgent of [1, null, true, {}, ['target']]) {
    assertError(await source.ask('agent/request', { targetAgent }), -32602, JSON.stringify(targetAgent));
  }
});

scenario('an unknown method is -32601; notifications to nowhere are not answered', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  assertError(await source.ask('no/such', {}), -32601);
  assertError(await source.ask('no/such'), -32601);
  assertError(await source.ask('hub/nosuch', {}), -32601);
  source.notify('no/such', {});
  source.notify('agent/request', { targetAgent: 'nobody' });
  source.notify('hub/nosuch', {});
  source.notify('agent/request', { targetAgent: 5 });
  await source.silent('notifications to nowhere');
});

scenario('an agentId that a live connection holds is -32053, and stays where it is', EVERYWHERE, async (hub) => {
  (await hub.agent('mine')).serve(() => 'first');
  const second = await hub.peer();
  const error = assertError(await second.ask('agent/register', { agentId: 'mine', capabilities: {} }), -32053);
  assert.match(JSON.stringify(error.data), /mine/);
  assert.equal((await second.ask('agent/request', { targetAgent: 'mine' })).result, 'first');
});

scenario('an agentId is free again once its connection is gone', EVERYWHERE, async (hub) => {
  const first = await hub.agent('mine');
  const source = await hub.peer();
  await first.finish();
  await first.gone();
  const second = (await hub.agent('mine')).serve(() => 'second');
  assert.equal((await source.ask('agent/request', { targetAgent: 'mine' })).result, 'second');
  second.drop();
});

scenario('unregister: the agent is not found any more, its neighbour is', EVERYWHERE, async (hub) => {
  const target = await hub.agent('one');
  await target.register('two');
  target.serve((message) => message.params.targetAgent);
  const source = await hub.peer();
  const answer = await target.ask('agent/unregister', { agentId: 'one' });
  assert.deepEqual(answer.result, { agentId: 'one', registered: false });
  assertError(await source.ask('agent/request', { targetAgent: 'one' }), -32010);
  assert.equal((await source.ask('agent/request', { targetAgent: 'two' })).result, 'two');
  assertError(await target.ask('agent/unregister', { agentId: 'one' }), -32010);
  assertError(await source.ask('agent/unregister', { agentId: 'two' }), -32010);
  await source.register('one');
});

scenario('registering again updates the capabilities', EVERYWHERE, async (hub) => {
  const target = (await hub.agent('worker', { methods: ['old/way'] })).serve((message) => message.method);
  const source = await hub.peer();
  assert.equal((await source.ask('old/way', {})).result, 'old/way');
  await target.register('worker', { methods: ['new/way'] });
  assert.equal((await source.ask('new/way', {})).result, 'new/way');
  assertError(await source.ask('old/way', {}), -32601);
  const { agents } = (await source.ask('hub/agents')).result;
  assert.deepEqual(agents.map((agent) => agent.capabilities), [{ methods: ['new/way'] }]);
});

scenario('what an agent owes ends with -32050 when it leaves', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  for (let id = 0; id < 100; id++) source.send(requestText(id, 'agent/request', { targetAgent: 'target' }));
  for (let id = 0; id < 100; id++) await target.next();
  target.drop();
  const ended = new Set();
  for (let id = 0; id < 100; id++) {
    const answer = (await source.next()).json;
    assertError(answer, -32050);
    ended.add(answer.id);
  }
  assert.equal(ended.size, 100);
  assertError(await source.ask('agent/request', { targetAgent: 'target' }), -32010);
});

scenario('an answer to a source that has left harms no one', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(requestText(1, 'agent/request', { targetAgent: 'target' }));
  const seen = await target.find((one) => one.json.method === 'agent/request', 'the request');
  source.drop();
  target.reply(seen.json.id, 'too late');
  const other = await hub.peer();
  target.serve(() => 'good');
  assert.equal((await other.ask('agent/request', { targetAgent: 'target' })).result, 'good');
});

scenario('an agentId is 1 to 255 of the allowed characters', {}, async (hub) => {
  const peer = await hub.peer();
  const bad = ['', ' ', 'a b', 'a..b', '.a', 'a.', 'ä', '@a', 'a\n', 'a*', 'a>', 'x'.repeat(256), 5, null, ['a'], {}];
  for (const agentId of bad) {
    const answer = await peer.ask('agent/register', { agentId, capabilities: {} });
    assertError(answer, -32602, JSON.stringify(agentId));
  }
  assertError(await peer.ask('agent/register', { capabilities: {} }), -32602);
  assertError(await peer.ask('agent/register'), -32602);
  for (const agentId of ['a', 'x'.repeat(255), 'Az09-_.x:y/z', 'a.b.c', '-', '0']) await peer.register(agentId);
});

scenario('a connection may register 64 agents', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  for (let n = 0; n < 64; n++) await peer.register(`agent-${n}`);
  const more = await peer.ask('agent/register', { agentId: 'one-more', capabilities: {} });
  assert.ok(more.error, JSON.stringify(more));
  await peer.ask('agent/unregister', { agentId: 'agent-63' });
  await peer.register('one-more');
});

scenario('capabilities may have 64 KiB, not 16 KiB more, and must be JSON', {}, async (hub) => {
  const peer = await hub.peer();
  await peer.register('large', { note: 'x'.repeat(63 * 1024) });
  const over = await peer.ask('agent/register', { agentId: 'larger', capabilities: { note: 'x'.repeat(80 * 1024) } });
  assert.ok(over.error, 'capabilities over the limit');
  const broken = '{"jsonrpc":"2.0","id":9,"method":"agent/register","params":{"agentId":"b","capabilities":{"a":[1,}]}}}';
  peer.send(broken);
  assert.ok((await peer.next()).json.error, 'capabilities that are no JSON');
  const { agents } = (await peer.ask('hub/agents')).result;
  assert.deepEqual(agents.map((agent) => agent.agentId), ['large']);
});

scenario('a hub without a cluster lists its own agents for all hubs', EVERYWHERE, async (hub) => {
  await hub.agent('a');
  const peer = await hub.peer(), { agents, complete } = (await peer.ask('hub/agents', { cluster: true })).result;
  assert.deepEqual(agents.map(({ agentId, hub: where, hubName }) => [agentId, where, hubName]), [['a', null, null]]);
  assert.equal(complete, true);
});
