// Who is registered where, over two hubs: an agentId is held once, names of any form are found, and what all hubs know can be
// listed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Broker, joined, joining, linked } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError } from './peer.mjs';

const register = (peer, agentId, more = {}) => peer.ask('agent/register', { agentId, capabilities: {}, ...more });

joined('its holder leaves: it is free', {}, async (x, y) => {
  const holder = await x.agent('b');
  const later = await y.peer();
  holder.drop();
  for (let answer; !(answer = await register(later, 'b')).result;) assertError(answer, -32053);
  const source = await x.peer();
  later.serve(() => 'later');
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 'later');
});

joined('the holder registers again, and its hub alone is asked', {}, async (x, y) => {
  const holder = await x.agent('b', { methods: ['one'] });
  holder.serve((message) => message.method);
  assert.equal((await register(holder, 'b', { capabilities: { methods: ['two'] } })).result.registered, true);
  const source = await y.peer();
  assert.equal((await source.ask('two', {})).result, 'two');
  assertError(await source.ask('one', {}), -32601);
});

joined('names of every form that may be are found', {}, async (x, y) => {
  const names = ['a.b.c', 'a-b', 'a_b', 'a:b/c', 'A', '_XX', 'x'.repeat(255), '_'.repeat(255)];
  for (const name of names) (await y.agent(name)).serve((message) => message.params.targetAgent);
  const source = await x.peer();
  for (const name of names) assert.equal((await source.ask('work', { targetAgent: name })).result, name);
});

joined('what differs in case, or looks like an escape, is another name', {}, async (x, y) => {
  (await y.agent('a_2Eb')).serve(() => 'escape');
  (await y.agent('a.b')).serve(() => 'dot');
  (await y.agent('ab')).serve(() => 'lower');
  const source = await x.peer();
  assert.equal((await source.ask('work', { targetAgent: 'a.b' })).result, 'dot');
  assert.equal((await source.ask('work', { targetAgent: 'a_2Eb' })).result, 'escape');
  assertError(await source.ask('work', { targetAgent: 'AB' }), -32010);
});

joined('names of 255 bytes of any kind are found; longer ones are nobody\'s', {}, async (x, y) => {
  const [fits, over] = ['*'.repeat(255), '*'.repeat(256)];
  (await y.agent('b', { methods: [fits, over, 'x'.repeat(5000)] })).serve((message) => message.method.length);
  const source = await x.peer();
  assert.equal((await source.ask(fits, {})).result, 255);
  assertError(await source.ask(over, {}), -32601);
  assertError(await source.ask('x'.repeat(5000), {}), -32601);
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 4);
});

test('hubs of clusters of different names know nothing of each other', async () => {
  const broker = await Broker.start();
  const [x, y] = [await Hub.start(joining(broker, 'one')), await Hub.start(joining(broker, 'one_2'))];
  await Promise.all([linked(x), linked(y)]);
  await x.agent('b');
  await y.agent('b');
  assertError(await (await y.peer()).ask('work', { targetAgent: 'only' }), -32010);
  await Promise.all([x.stop(), y.stop()]);
  await broker.kill();
});
