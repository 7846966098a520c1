// Events: subscriptions by hub/subscribe and by capabilities.events, who gets what, what a slow subscriber is told.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { scenario } from './hub.mjs';
import { assertError, frame } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };

const publish = (peer, event, data = null, ...fields) => peer.notify('event', { event, data }, ...fields);
const isEvent = (one) => one.json.method === 'event';

async function subscriber(hub, ...events) {
  const peer = await hub.peer();
  const answer = await peer.ask('hub/subscribe', { events });
  assert.deepEqual(answer.result, { events }, JSON.stringify(answer));
  return peer;
}

// Publishes as a request; resolves to how many subscribers the hub says it reached.
async function reach(peer, event, params = {}, ...fields) {
  const answer = await peer.ask('event', { event, ...params }, ...fields);
  assert.deepEqual(Object.keys(answer.result ?? {}), ['delivered'], JSON.stringify(answer));
  return answer.result.delivered;
}

// --- Who gets what

scenario('exact names, prefixes and everything; each event once', EVERYWHERE, async (hub) => {
  const exact = await subscriber(hub, 'build-done');
  const prefix = await subscriber(hub, 'build-*');
  const both = await subscriber(hub, 'build-done', 'build-*', 'b*', '*');
  const all = await subscriber(hub, '*');
  const other = await subscriber(hub, 'build-done-2', 'uild-*', 'Build-done');
  const source = await hub.peer();
  assert.equal(await reach(source, 'build-done'), 4);
  assert.equal(await reach(source, 'build-'), 3);
  assert.equal(await reach(source, 'x'), 2);
  for (const [peer, expected] of [
    [exact, ['build-done']],
    [prefix, ['build-done', 'build-']],
    [both, ['build-done', 'build-', 'x']],
    [all, ['build-done', 'build-', 'x']],
    [other, []],
  ]) {
    for (const event of expected) assert.equal((await peer.next()).json.params.event, event);
    await peer.silent('its events');
  }
});

scenario('a notification arrives byte for byte, with its header fields, at all but the source', EVERYWHERE, async (hub) => {
  const peers = [];
  for (let index = 0; index < 5; index++) peers.push(await subscriber(hub, 'tick'));
  const text = '{"params" : {"data":[1.50, {}],"event":"t\\u0069ck"},\t"method":"event","jsonrpc":"2.0"}';
  peers[0].send(text, 'Request-Id: r1', 'X-Y: z');
  for (const peer of peers.slice(1)) {
    const one = await peer.next();
    assert.equal(one.text, text);
    assert.deepEqual(one.fields.slice(1), [['Request-Id', 'r1'], ['X-Y', 'z']]);
    await peer.silent('one event');
  }
  await peers[0].silent('its own event');
});

scenario('a request is answered with how many got it, and its id is cut out', EVERYWHERE, async (hub) => {
  const one = await subscriber(hub, 'e');
  const two = await subscriber(hub, 'e*');
  const source = await hub.peer();
  const cases = [
    ['{"id":7,"method":"event","params":{"event":"e"}}', '{"method":"event","params":{"event":"e"}}'],
    ['{ "id" : 7 , "method":"event","params":{"event":"e"}}', '{  "method":"event","params":{"event":"e"}}'],
    ['{"method":"event","id":7,"params":{"event":"e"}}', '{"method":"event","params":{"event":"e"}}'],
    ['{"method":"event", "id":7 ,"params":{"event":"e","id":1}}', '{"method":"event", "params":{"event":"e","id":1}}'],
    ['{"method":"event","params":{"event":"e"},"id":7}', '{"method":"event","params":{"event":"e"}}'],
    ['{"method":"event","params":{"event":"e"} ,\n\t"id" :7 }', '{"method":"event","params":{"event":"e"}  }'],
  ];
  for (const [sent, expected] of cases) {
    source.send(sent, 'Request-Id: r');
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: 7, result: { delivered: 2 } });
    for (const peer of [one, two]) {
      const came = await peer.next();
      assert.equal(came.text, expected);
      assert.deepEqual(came.fields.slice(1), [['Request-Id', 'r']]);
    }
  }
  source.send('{"id":"\\u00e9 \\"x","method":"event","params":{"event":"e"}}');
  assert.match((await source.next()).text, /"id":"\\u00e9 \\"x","result":\{"delivered":2\}/);
});

scenario('nobody subscribed: no error, and counted', EVERYWHERE, async (hub) => {
  const source = await subscriber(hub, '*');
  assert.equal(await reach(source, 'x'), 0);
  publish(source, 'x');
  await source.silent('an event for nobody');
  const stats = (await source.ask('hub/stats')).result;
  assert.equal(stats.events_received, 2);
  assert.equal(stats.events_without_subscriber, 2);
  assert.equal(stats.events_delivered, 0);
});

scenario('an event must be a name', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  for (const params of [undefined, {}, { event: 1 }, { event: null }, { event: '' }, { event: 'x'.repeat(256) }, []]) {
    const error = assertError(await source.ask('event', params), -32602, JSON.stringify(params));
    assert.equal(error.data.field, 'params.event');
  }
  source.notify('event', {});
  await source.silent('a notification without an event');
  const all = await subscriber(hub, '*');
  assert.equal(await reach(source, 'x'.repeat(255)), 1);
  assert.equal((await all.next()).json.params.event.length, 255);
});

scenario('targetAgent decides alone', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const all = await subscriber(hub, '*');
  const source = await hub.peer();
  source.notify('event', { event: 'e', targetAgent: 'target' });
  assert.equal((await target.next()).json.params.event, 'e');
  assertError(await source.ask('event', { event: 'e', targetAgent: 'nobody' }), -32010);
  await all.silent('events with a target');
});

scenario('members of a batch are events too', EVERYWHERE, async (hub) => {
  const all = await subscriber(hub, '*');
  const source = await hub.peer();
  source.send('[{"method":"event","params":{"event":"a"}},{"id":1,"method":"event","params":{"event":"b"}}]', 'X-Y: z');
  assert.deepEqual((await source.next()).json, [{ jsonrpc: '2.0', id: 1, result: { delivered: 1 } }]);
  assert.equal((await all.next()).text, '{"method":"event","params":{"event":"a"}}');
  assert.equal((await all.next()).text, '{"method":"event","params":{"event":"b"}}');
});

scenario('events keep their place among what else a source sends', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target', { events: ['tick'] });
  const source = await hub.peer();
  const parts = [];
  for (let n = 0; n < 2000; n++) {
    const event = n % 3 === 0;
    const size = n % 17 === 0 ? 5000 : 10;
    const params = { n, pad: 'x'.repeat(size), ...(event ? { event: 'tick' } : { targetAgent: 'target' }) };
    parts.push(frame({ jsonrpc: '2.0', method: 'event', params }));
  }
  source.write(Buffer.concat(parts));
  for (let n = 0; n < 2000; n++) assert.equal((await target.next()).json.params.n, n);
});

scenario('events that lie side by side: other names, levels, priorities, forms and receivers between them', EVERYWHERE, async (hub) => {
  const manual = await hub.agent('manual', { events: ['a'], governanceLevel: 'manual' });
  const a = await subscriber(hub, 'a');
  const b = await subscriber(hub, 'b*');
  const all = await subscriber(hub, '*');
  const source = await hub.peer();
  const parts = [];
  const sent = [];
  for (let n = 0; n < 3000; n++) {
    const event = n % 50 < 40 ? 'a' : n % 50 < 45 ? 'b1' : 'b2';
    const fields = n % 97 === 0 ? ['Governance-Level: supervised'] : n % 31 === 0 ? ['Custom-A: b'] : [];
    const text = JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { event, n, ...(n % 301 === 0 ? { data: 'x'.repeat(20_000) } : {}) } });
    const loose = n % 53 === 0; // a length line that isn't canonical
    sent.push({ event, text, fields, supervised: n % 97 === 0 });
    parts.push(loose ? Buffer.from(`content-length: ${text.length}\r\n${fields.map((one) => `${one}\r\n`).join('')}\r\n${text}`) : frame(text, ...fields));
  }
  source.write(Buffer.concat(parts));
  const expect = async (peer, wanted) => {
    for (const one of sent.filter(wanted)) {
      const came = await peer.next();
      assert.equal(came.text, one.text);
      assert.deepEqual(came.fields.slice(1).map(([name, value]) => `${name}: ${value}`), one.fields);
    }
    await peer.silent('all of it');
  };
  await expect(a, (one) => one.event === 'a' && !one.supervised);
  await expect(b, (one) => one.event !== 'a' && !one.supervised);
  await expect(all, (one) => !one.supervised);
  await expect(manual, (one) => one.event === 'a');
  const stats = (await source.ask('hub/stats')).result;
  assert.equal(stats.events_received, 3000);
  assert.equal(stats.events_delivered, [(one) => one.event === 'a' && !one.supervised, (one) => one.event !== 'a' && !one.supervised, (one) => !one.supervised, (one) => one.event === 'a'].reduce((sum, wanted) => sum + sent.filter(wanted).length, 0));
});

scenario('the answer comes though the source has half-closed', EVERYWHERE, async (hub) => {
  const peers = [await subscriber(hub, 'e'), await subscriber(hub, 'e')];
  const source = await hub.peer();
  source.send('{"id":1,"method":"event","params":{"event":"e"}}');
  await source.finish();
  assert.deepEqual((await source.next()).json.result, { delivered: 2 });
  await source.gone();
  for (const peer of peers) await peer.next();
});

// --- Subscriptions

scenario('subscribing is idempotent and answers what is in force, in order', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  const call = async (method, events) => (await peer.ask(method, { events })).result?.events;
  assert.deepEqual(await call('hub/subscribe', ['b', 'a*']), ['b', 'a*']);
  assert.deepEqual(await call('hub/subscribe', ['a*', 'c', 'c', '\u00e9"\\']), ['b', 'a*', 'c', '\u00e9"\\']);
  assert.deepEqual(await call('hub/unsubscribe', ['b', 'nothing']), ['a*', 'c', '\u00e9"\\']);
  assert.deepEqual(await call('hub/unsubscribe', ['b']), ['a*', 'c', '\u00e9"\\']);
  assert.deepEqual(await call('hub/subscribe', []), ['a*', 'c', '\u00e9"\\']);
  peer.notify('hub/subscribe', { events: ['d'] });
  assert.deepEqual(await call('hub/unsubscribe', ['\u00e9"\\']), ['a*', 'c', 'd']);
  const source = await hub.peer();
  assert.equal(await reach(source, 'b'), 0);
  assert.equal(await reach(source, 'd'), 1);
});

scenario('what is no pattern is -32602, and nothing of the call is done', {}, async (hub) => {
  const peer = await hub.peer();
  const bad = [undefined, null, 'a', {}, [1], ['a', ''], ['a', 'b*c'], ['a', '**'], ['x'.repeat(256)], [['a']]];
  for (const events of bad) {
    for (const method of ['hub/subscribe', 'hub/unsubscribe']) {
      assertError(await peer.ask(method, { events }), -32602, JSON.stringify(events));
    }
  }
  assertError(await peer.ask('hub/subscribe'), -32602);
  assert.deepEqual((await peer.ask('hub/subscribe', { events: ['x'.repeat(255)] })).result.events.length, 1);
});

scenario('1,024 patterns a connection, whole or not at all', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  const names = (from, to) => Array.from({ length: to - from }, (_, index) => `e${from + index}`);
  assert.equal((await peer.ask('hub/subscribe', { events: names(0, 1023) })).result.events.length, 1023);
  const error = assertError(await peer.ask('hub/subscribe', { events: ['x', 'y'] }), -32602);
  assert.equal(error.data.limit, 1024);
  assert.equal((await peer.ask('hub/subscribe', { events: ['e0', 'e7', 'last'] })).result.events.length, 1024);
  assertError(await peer.ask('hub/subscribe', { events: ['one-more'] }), -32602);
  assert.equal((await peer.ask('hub/subscribe', { events: Array(1024).fill('e0') })).result.events.length, 1024);
  for (const method of ['hub/subscribe', 'hub/unsubscribe']) {
    const often = await peer.ask(method, { events: Array(1025).fill('e0') });
    assert.equal(assertError(often, -32602).data.limit, 1024);
  }
  assert.equal((await peer.ask('hub/subscribe', { events: names(0, 1023) })).result.events.length, 1024);
  const refused = await peer.ask('agent/register', { agentId: 'a', capabilities: { events: ['one-more'] } });
  assert.equal(assertError(refused, -32602).data.limit, 1024);
  await peer.register('a', { events: ['e0', 'last'] });
  const source = await hub.peer();
  assert.equal(await reach(source, 'y'), 0);
  assert.equal(await reach(source, 'last'), 1);
});

scenario('registrations on their way together can not pass the limit', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  const names = (letter) => Array.from({ length: 700 }, (_, index) => `${letter}${index}`);
  const register = (agentId, events) => peer.ask('agent/register', { agentId, capabilities: { events } });
  const answers = await Promise.all([register('a', names('a')), register('b', names('b'))]);
  assert.deepEqual(answers[0].result, { agentId: 'a', registered: true });
  assert.equal(assertError(answers[1], -32602).data.limit, 1024);
  const source = await hub.peer();
  assert.equal(await reach(source, 'a5'), 1);
  assert.equal(await reach(source, 'b5'), 0);
  assertError(await source.ask('agent/request', { targetAgent: 'b' }), -32010);
  const again = await register('a', names('c')); // takes the place of what it had
  assert.deepEqual(again.result, { agentId: 'a', registered: true });
  assert.equal(await reach(source, 'a5'), 0);
  assert.equal(await reach(source, 'c5'), 1);
});

// --- capabilities.events

scenario('agents list events in an array or an object, and keep them as long as they are there', EVERYWHERE, async (hub) => {
  const peer = await hub.agent('array', { events: ['a', 'both', 'pre*', 7] });
  await peer.register('object', { events: { o: true, both: 1, no: false, zero: 0, empty: '', nil: null } });
  const inForce = async () => (await peer.ask('hub/subscribe', { events: [] })).result.events;
  assert.deepEqual(await inForce(), ['a', 'both', 'pre*', 'o']);
  const source = await hub.peer();
  for (const [event, count] of [['a', 1], ['both', 1], ['prefix', 1], ['o', 1], ['no', 0], ['nil', 0]]) {
    assert.equal(await reach(source, event), count, event);
  }
  await peer.ask('hub/subscribe', { events: ['a', 'own'] });
  assert.deepEqual((await peer.ask('hub/unsubscribe', { events: ['both', 'own'] })).result.events, ['a', 'both', 'pre*', 'o']);
  await peer.register('array', { events: ['new', 'both'] });
  assert.deepEqual(await inForce(), ['a', 'both', 'o', 'new']);
  await peer.ask('agent/unregister', { agentId: 'object' });
  assert.deepEqual(await inForce(), ['a', 'both', 'new']);
  await peer.ask('shutdown');
  assert.deepEqual(await inForce(), ['a']);
  assert.equal(await reach(source, 'both'), 0);
  assert.equal(await reach(source, 'a'), 1);
});

scenario('capabilities.events that are no patterns are -32602', {}, async (hub) => {
  const peer = await hub.peer();
  for (const events of [['a*b'], [''], { '**': true }, ['x'.repeat(256)]]) {
    const answer = await peer.ask('agent/register', { agentId: 'a', capabilities: { events } });
    assert.equal(assertError(answer, -32602).data.field, 'params.capabilities.events');
  }
  await peer.register('a', { events: { 'a*b': false } });
  await peer.register('a', { events: true });
});

scenario('a takeover takes the events along', { ...EVERYWHERE, options: ['--takeover'] }, async (hub) => {
  const first = await hub.agent('agent', { events: ['e'] });
  const second = await hub.agent('agent', { events: ['e', 'f'] });
  assert.equal((await first.next()).json.method, 'hub/replaced');
  const source = await hub.peer();
  assert.equal(await reach(source, 'e'), 1);
  await first.silent('an event after the takeover');
  assert.equal((await second.next()).json.params.event, 'e');
});

scenario('subscribers that leave are no subscribers', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  const stays = await subscriber(hub, 'e');
  const agent = await hub.agent('agent', { events: ['e'] });
  const half = await subscriber(hub, 'e');
  assert.equal(await reach(source, 'e'), 3);
  agent.drop();
  await half.finish();
  await half.gone();
  let count = 3;
  while (count !== 1) count = await reach(source, 'e'); // the end of a connection takes a moment to be seen
  const events = (await stays.ask('hub/stats')).result;
  assert.equal(events.dropped_events_overloaded, 0);
});

// --- Governance and priority

scenario('an event that requires more than a subscriber supports passes it by', EVERYWHERE, async (hub) => {
  const none = await subscriber(hub, 'e');
  const session = await hub.peer();
  await session.ask('initialize', { governanceLevel: 'supervised' });
  await session.ask('hub/subscribe', { events: ['e'] });
  const agents = await hub.agent('loose', {}, { governanceLevel: 'autonomous' });
  await agents.register('strict', { events: ['e'] }, { governanceLevel: 'manual' });
  const source = await hub.peer();
  const level = (name) => `Governance-Level: ${name}`;
  assert.equal(await reach(source, 'e'), 3);
  assert.equal(await reach(source, 'e', {}, level('autonomous')), 3);
  assert.equal(await reach(source, 'e', {}, level('supervised')), 2);
  assert.equal(await reach(source, 'e', {}, level('human-in-the-loop')), 1);
  assert.equal(await reach(source, 'e', {}, level('manual')), 1);
  assert.equal(none.frames.filter(isEvent).length, 2);
  await agents.ask('agent/unregister', { agentId: 'strict' });
  await agents.ask('hub/subscribe', { events: ['e'] });
  assert.equal(await reach(source, 'e', {}, level('supervised')), 1);
  const stats = (await source.ask('hub/stats')).result;
  assert.equal(stats.dropped_events_governance, 1 + 2 + 2 + 2);
  assert.equal(await reach(source, 'e', {}, level('manual')), 0);
  assert.equal((await source.ask('hub/stats')).result.events_without_subscriber, 0);
});

scenario('initialize says that there are events', {}, async (hub) => {
  const peer = await hub.peer();
  assert.equal((await peer.ask('initialize', {})).result.capabilities.events, true);
});

// --- A subscriber that reads slowly

const SLOW = { ...EVERYWHERE, transports: ['unix'], options: ['--max-queue', '256K'] };

scenario('a slow subscriber misses events and is told how many, where the gap is', SLOW, async (hub) => {
  const slow = await subscriber(hub, 'e');
  const quick = await subscriber(hub, 'e');
  slow.socket.pause();
  const source = await hub.peer();
  const total = 400;
  let delivered = 0;
  for (let n = 0; n < total; n++) {
    delivered += await reach(source, 'e', { n, pad: 'x'.repeat(8000) });
    assert.equal((await quick.next()).json.params.n, n);
  }
  const missed = 2 * total - delivered;
  assert.ok(missed > 100, `${missed} missed`);
  slow.socket.resume();
  const came = [];
  let told = 0;
  while (came.length + told < total) {
    const { method, params } = (await slow.next()).json;
    if (method === 'event') {
      assert.equal(params.n, came.length + told, 'the place of the gap');
      came.push(params.n);
    } else {
      assert.equal(method, 'hub/dropped');
      assert.deepEqual(Object.keys(params), ['count']);
      told += params.count;
    }
  }
  assert.equal(told, missed);
  assert.equal(await reach(source, 'e', { n: total }), 2);
  assert.equal((await slow.next()).json.params.n, total);
  const stats = (await source.ask('hub/stats')).result;
  assert.equal(stats.dropped_events_overloaded, missed);
  assert.equal(stats.events_delivered, delivered + 2);
  assert.equal(stats.closed_slow_readers, 0);
});

scenario('of events that lie side by side a slow subscriber gets those that find room, to the frame', SLOW, async (hub) => {
  const slow = await subscriber(hub, 'e');
  slow.socket.pause();
  const source = await hub.peer();
  const total = 20_000;
  const parts = [];
  for (let n = 0; n < total; n++) parts.push(frame({ jsonrpc: '2.0', method: 'event', params: { event: 'e', n, pad: 'x'.repeat(n % 200) } }));
  source.write(Buffer.concat(parts));
  // The other shard may still be at it when this one answers.
  const missed = async () => (await source.ask('hub/stats')).result.dropped_events_overloaded;
  for (let asked = 0; (await missed()) <= 100; asked++) assert.ok(asked < 10_000, 'too few are missed');
  slow.socket.resume();
  let next = 0, told = 0;
  while (next < total) {
    const { method, params } = (await slow.next()).json;
    if (method === 'event') {
      assert.equal(params.n, next++);
    } else {
      assert.equal(method, 'hub/dropped');
      told += params.count;
      next += params.count;
    }
  }
  assert.equal(next, total);
  assert.equal(told, await missed());
  await slow.silent('all of it');
});

scenario('the gap is told before a later event if that comes first', SLOW, async (hub) => {
  const slow = await subscriber(hub, 'e');
  slow.socket.pause();
  const source = await hub.peer();
  let n = 0;
  while ((await reach(source, 'e', { n, pad: 'x'.repeat(8000) })) === 1) n++;
  // The subscriber reads again while events go on coming: now there is room, now there isn't, and the queue is rarely
  // empty.
  slow.socket.resume();
  let [told, came] = [0, 0];
  const reader = (async () => {
    for (;;) {
      const { method, params } = (await slow.next()).json;
      if (method === 'hub/dropped') told += params.count;
      else if (params.last) return;
      else assert.equal(params.n, came++ + told, 'the place of the gap');
    }
  })();
  const count = n + 3000;
  for (n += 1; n < count; n++) source.notify('event', { event: 'e', n, pad: 'x'.repeat(3000) });
  let missedLast = 0;
  const last = (async () => {
    while ((await reach(source, 'e', { last: true })) === 0) missedLast++;
  })();
  await Promise.all([reader, last]);
  assert.equal(came + told - missedLast, count);
});

// --- Memory

const residentBytes = (pid) => 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]);

// No subscriber reads, so that all of it waits in the hub: one body, and an entry in a queue for each.
scenario('a large event to a thousand is one copy and a thousand entries', { transports: ['unix'] }, async (hub) => {
  const count = 1000;
  const bytes = 1 << 20;
  const peers = await Promise.all(Array.from({ length: count }, () => subscriber(hub, 'large')));
  for (const peer of peers) peer.socket.pause();
  const source = await hub.peer();
  const held = async () => (await source.ask('hub/stats')).result;
  assert.equal(await reach(source, 'none'), 0);
  // The hub gives memory back in its own time, and no answer says when.
  const settled = async (bound) => {
    let now = await held();
    for (const until = Date.now() + 10_000; now.buffer_bytes > bound && Date.now() < until;) now = await held();
    return now;
  };
  const before = await settled(4 * bytes); // what receives are given at any time is some three MiB
  const residentBefore = residentBytes(before.pid);
  assert.equal(await reach(source, 'large', { pad: 'x'.repeat(bytes) }), count);
  const grown = (await held()).buffer_bytes - before.buffer_bytes;
  const resident = residentBytes(before.pid) - residentBefore;
  console.log(`# ${count} subscribers, one event of ${bytes} bytes: buffers grew by ${grown}, resident memory by ${resident}`);
  assert.ok(grown > bytes && grown < 2 * bytes + count * 1024, `${grown} bytes`);
  assert.ok(resident < 16 * bytes, `${resident} bytes resident`);
  const readers = peers.splice(0, 10);
  for (const peer of readers) peer.socket.resume();
  for (const peer of readers) assert.equal((await peer.next()).json.params.pad.length, bytes);
  for (const peer of peers) peer.drop();
  while ((await held()).connections > readers.length + 1);
  const rest = before.buffer_bytes + count * 1024, { buffer_bytes: left } = await settled(rest);
  assert.ok(left <= rest, `${left} bytes are left, of ${before.buffer_bytes} before`);
});
