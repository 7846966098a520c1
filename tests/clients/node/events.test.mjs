// Events: who iterates gets them in order, is told what was missed, and is unsubscribed at the end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hub, PlayedHub, assertFails, client, close, having, pause, until, within } from './kit.mjs';

const publish = (peer, event, data = {}) => peer.notify('event', { event, data });
const methods = (hub) => hub.messages.map(({ method, params }) => [method, params?.events?.[0]]).slice(1);

// The played hub has heard all that the client said.
const settled = (one) => one.call('hub/ping');

test('a pattern is a name, or a prefix and *', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), patterns = ['build-done', 'build-*', '*', 'build'], seen = {};
  const iterators = patterns.map((pattern) => one.events(pattern));
  await settled(one);
  for (const name of ['build-done', 'build-', 'build', 'other', 'build-done*']) publish(hub.peer, name);
  publish(hub.peer, 'end');
  for (const [at, iterator] of iterators.entries()) {
    seen[patterns[at]] = [];
    const last = { 'build-done': 1, 'build-*': 3, '*': 6, build: 1 }[patterns[at]];
    for (let n = 0; n < last; n++) seen[patterns[at]].push((await within(iterator.next(), 'an event')).value.name);
  }
  assert.deepEqual(seen, {
    'build-done': ['build-done'], 'build-*': ['build-done', 'build-', 'build-done*'],
    '*': ['build-done', 'build-', 'build', 'other', 'build-done*', 'end'], build: ['build'],
  });
  await close(one);
}));

test('an iterator that ends is unsubscribed, unless another has its pattern', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), first = one.events('a'), second = one.events('a'), other = one.events('b');
  await settled(one);
  for await (const event of (publish(hub.peer, 'a', 1), first)) {
    assert.deepEqual(event, { name: 'a', data: 1, missed: 0 });
    break;
  }
  await settled(one);
  assert.deepEqual(methods(hub), [['hub/subscribe', 'a'], ['hub/subscribe', 'b'], ['hub/ping', undefined], ['hub/ping', undefined]]);
  assert.deepEqual((await second.next()).value.name, 'a');
  await second.return();
  await second.return();
  assert.deepEqual(methods(hub).slice(4), [['hub/unsubscribe', 'a']]);
  assert.deepEqual(await first.next(), { value: undefined, done: true });
  const again = one.events('a');
  await settled(one);
  assert.deepEqual(methods(hub).slice(5), [['hub/subscribe', 'a'], ['hub/ping', undefined]]);
  await close(one);
  for (const iterator of [again, other]) assert.deepEqual(await iterator.next(), { value: undefined, done: true });
}));

test('a break ends the subscription at the hub', () => having(Hub.start(['--shards', '2']), async (hub) => {
  const one = await client(hub.uri('tcp')), other = await client(hub.uri('tcp')), iterator = one.events('n-*'), seen = [];
  await until('it is subscribed', async () => await other.publish('n-0', 0) === 1);
  for (let n = 1; n < 100; n++) other.publish('n-1', n);
  for await (const event of iterator) {
    seen.push(event.data);
    if (seen.length === 100) break;
  }
  assert.deepEqual(seen, Array.from({ length: 100 }, (_, n) => n));
  assert.equal(await other.publish('n-1'), 0);
  await close(one, other);
}));

test('at most 1,000 are kept, and the next one tells how many went', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), iterator = one.events('n'), quick = one.events('n');
  await settled(one);
  for (let n = 0; n < 1500; n++) publish(hub.peer, 'n', n);
  hub.peer.send({ jsonrpc: '2.0', id: 'over', method: 'none' });
  await until('all came', () => hub.messages.some((message) => message.id === 'over'));
  for (const [n, missed] of [[500, 500], [501, 0]]) assert.deepEqual((await iterator.next()).value, { name: 'n', data: n, missed });
  for (let n = 0; n < 998; n++) await iterator.next();
  const next = iterator.next();
  publish(hub.peer, 'n', 'last');
  assert.deepEqual((await next).value, { name: 'n', data: 'last', missed: 0 });
  assert.equal((await quick.next()).value.missed, 501, 'each iterator has its own queue');
  await close(one);
}));

test('missed tells what hub/dropped told, before the next event', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), iterator = one.events('n');
  await settled(one);
  const drop = (params) => hub.peer.notify('hub/dropped', params);
  publish(hub.peer, 'n', 1);
  drop({ count: 3 });
  drop({ count: 0, unknown: true });
  drop({ count: 2, unknown: true });
  for (const params of [{}, { count: 'x' }, { count: -1 }, null]) drop(params);
  publish(hub.peer, 'n', 2);
  publish(hub.peer, 'n', 3);
  const seen = [];
  for (let n = 0; n < 3; n++) seen.push((await iterator.next()).value);
  assert.deepEqual(seen.map(({ data, missed }) => [data, missed]), [[1, 0], [2, 7], [3, 0]]);
  drop({ count: 1 });
  for (let n = 0; n < 1002; n++) publish(hub.peer, 'n', n);
  hub.peer.send({ jsonrpc: '2.0', id: 'over', method: 'none' });
  await until('all came', () => hub.messages.some((message) => message.id === 'over'));
  assert.deepEqual((await iterator.next()).value, { name: 'n', data: 2, missed: 3 }, 'both together');
  await close(one);
}));

test('a pattern that the hub refuses ends its iterator with the error', () => having(Hub.start(), async (hub) => {
  const one = await client(hub.uri('tcp')), wrong = one.events('a*b');
  await assertFails(wrong.subscribed, -32602);
  await assertFails(wrong.next(), -32602);
  assert.deepEqual(await wrong.next(), { value: undefined, done: true });
  const unread = one.events('a**'); // which nobody reads: no rejection that nobody handles
  await settled(one);
  await unread.return();
  await close(one);
}));

test('an overloaded hub refuses a new subscription; one that stood is asked for again, with pauses', () => {
  const asked = [];
  let refuses = (pattern) => pattern === 'new';
  return having(PlayedHub.start((message, peer) => {
    if (message.method !== 'hub/subscribe') return {};
    const [pattern] = message.params.events;
    asked.push([pattern, performance.now()]);
    if (!refuses(pattern)) return { events: [pattern] };
    peer.send({ jsonrpc: '2.0', id: message.id, error: { code: -32052, message: 'overloaded' } });
    return undefined;
  }), async (hub) => {
    const one = await client(hub.uri);
    await assertFails(one.events('new').subscribed, -32052);
    const iterator = one.events('old');
    await iterator.subscribed;
    asked.length = 0;
    refuses = () => asked.length <= 3;
    hub.peer.drop();
    await until('it is subscribed again', () => asked.length === 4);
    for (const [at, most] of [100, 200, 400].entries()) assert.ok(asked[at + 1][1] - asked[at][1] >= 0.75 * most - 2, `${asked}`);
    publish(hub.peer, 'old');
    assert.equal((await within(iterator.next(), 'its event')).value.name, 'old');
    // One that is given up meanwhile is not asked for again.
    asked.length = 0;
    refuses = () => true;
    hub.peer.drop();
    await until('it is refused', () => asked.length === 1);
    await iterator.return();
    await pause(300);
    assert.equal(asked.length, 1);
    await close(one);
  });
});

test('subscribed tells when the hub has the subscription, and that none comes any more', () => having(Hub.start(['--shards', '2']), async (hub) => {
  const one = await client(hub.uri('tcp')), other = await client(hub.uri('unix'));
  for (let round = 0; round < 20; round++) {
    const iterator = one.events('x');
    await iterator.subscribed;
    assert.equal(await other.publish('x'), 1);
    const second = one.events('x');
    await second.subscribed;
    await Promise.all([iterator.return(), second.return()]);
  }
  hub.process.kill('SIGSTOP');
  const never = one.events('y');
  await close(one);
  await assertFails(never.subscribed, -32050);
  await assertFails(one.events('z').subscribed, -32050);
  hub.process.kill('SIGCONT');
  await close(other);
}));

test('a publish that is answered with anything fails', () => having(PlayedHub.start(({ params }) => ('data' in params ? params.data : {})), async (hub) => {
  const one = await client(hub.uri);
  for (const result of [null, 5, 'x', [], {}, { delivered: 'many' }, { delivered: 1.5 }]) await assertFails(one.publish('e', result), -32603, JSON.stringify(result));
  assert.equal(await one.publish('e', { delivered: 3 }), 3);
  await close(one);
}));

test('publish tells how many got it, and data may be anything', () => having(Hub.start(), async (hub) => {
  const one = await client(hub.uri('tcp')), other = await client(hub.uri('tcp')), iterator = one.events('x');
  await until('it is subscribed', async () => await other.publish('x', 'first') === 1);
  assert.equal((await iterator.next()).value.data, 'first');
  for (const data of [null, 7, [], { a: 'é' }, undefined]) {
    assert.equal(await other.publish('x', data), 1);
    assert.deepEqual((await iterator.next()).value, { name: 'x', data, missed: 0 });
  }
  await close(one, other);
}));
