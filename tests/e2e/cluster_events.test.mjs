// Events, and notifications to all who name them, over two hubs and a NATS server: one copy a hub, whatever patterns overlap.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Client, joined, until } from './cluster.mjs';
import { dial } from './hub.mjs';
import { assertError, frame } from './peer.mjs';
import { upgraded } from './websocket.mjs';

async function subscriber(hub, ...events) {
  const peer = await hub.peer();
  const { result } = await peer.ask('hub/subscribe', { events });
  assert.ok(result, 'subscribed');
  return peer;
}

const publish = (peer, event, n) => peer.notify('event', { event, data: { n } });
const got = async (peer) => (await peer.next()).json.params;

joined('an event reaches those who subscribed at every hub, as it was sent', { hubs: [[], [], []] }, async (x, y, z) => {
  const source = await x.peer();
  const all = [await subscriber(x, 'build-done'), await subscriber(y, 'build-*'), await subscriber(y, 'build-done', 'build-*', 'b*'), await subscriber(z, '*')];
  const other = await subscriber(y, 'build');
  const text = '{"jsonrpc":"2.0","method":"event","params":{"event":"build-done","data":{"a":1.0}}}';
  source.send(text);
  for (const peer of all) assert.equal((await peer.next()).text, text);
  for (const peer of [...all, other, source]) await peer.silent('an event');
});

joined('with an id it is answered by the subscribers here, and arrives without one', {}, async (x, y) => {
  const there = await subscriber(y, 'news');
  const here = await subscriber(x, 'news');
  const source = await x.peer();
  const answer = await source.ask('event', { event: 'news', data: 1 });
  assert.deepEqual(answer.result, { delivered: 1 });
  for (const peer of [here, there]) {
    const { json } = await peer.next();
    assert.ok(!('id' in json));
    assert.deepEqual(json.params, { event: 'news', data: 1 });
  }
});

joined('the source gets none of its own, from its hub or from the other', {}, async (x, y) => {
  const source = await subscriber(x, 'news');
  const there = await subscriber(y, 'news');
  publish(source, 'news', 1);
  assert.equal((await got(there)).data.n, 1);
  await source.silent('its own event');
});

joined('a publisher\'s events arrive in order', {}, async (x, y) => {
  const there = await subscriber(y, 'n-*', 'n-1', 'n-2');
  const source = await x.peer();
  for (let n = 0; n < 2000; n++) publish(source, `n-${n % 3}`, n);
  for (let n = 0; n < 2000; n++) assert.equal((await got(there)).data.n, n);
});

// The events come in one arrival or a few. Nothing that the server puts between them may reach a receiver.
joined('many at a time reach receivers of every wire as they were sent, with what is said among them',
  { hubs: [[], ['--http', '127.0.0.1:0', '--listen', 'tcp-lines://127.0.0.1:0']] }, async (x, y) => {
    const [frames, lines, web] = [await y.peer(), await dial(y.uri('tcp-lines')), await upgraded(y.uri('http'))];
    for (const peer of [frames, lines, web]) await peer.ask('hub/subscribe', { events: ['news'] });
    const agent = await y.agent('b', { events: ['news'] });
    const source = await x.peer();
    const texts = Array.from({ length: 300 }, (_, n) =>
      `{"jsonrpc":"2.0","method":"event","params":{"event":"news","data":${n}${n % 50 === 7 ? `,"more":"${'x'.repeat(2100)}"` : ' '.repeat(n % 5)}}}`);
    const asked = '{"jsonrpc":"2.0","method":"note","params":{"targetAgent":"b"}}';
    const fields = (n) => (n % 40 === 13 ? ['Request-Id: r'] : []);
    source.write(Buffer.concat(texts.flatMap((text, n) => [frame(text, ...fields(n)), ...(n % 60 === 30 ? [frame(asked)] : [])])));
    for (const [n, text] of texts.entries()) {
      const came = await frames.next();
      assert.equal(came.text, text);
      assert.deepEqual(came.fields.slice(1), fields(n).map((field) => field.split(': ')));
      for (const peer of [lines, web]) assert.equal((await peer.next()).text, text);
      assert.equal((await agent.next()).text, text);
      if (n % 60 === 30) assert.equal((await agent.next()).text, asked);
    }
  });

joined('who unsubscribes gets no more', {}, async (x, y) => {
  const there = await subscriber(y, 'one', 'two');
  const source = await x.peer();
  await there.ask('hub/unsubscribe', { events: ['one'] });
  publish(source, 'one', 1);
  publish(source, 'two', 2);
  assert.deepEqual(await got(there), { event: 'two', data: { n: 2 } });
});

joined('what asks after the answer to hub/subscribe finds it', { hubs: [[], []] }, async (x, y) => {
  const source = await x.peer();
  for (let n = 0; n < 50; n++) {
    const there = await subscriber(y, `once-${n}`);
    publish(source, `once-${n}`, n);
    assert.equal((await got(there)).data.n, n);
  }
});

joined('capabilities.events subscribe, too', {}, async (x, y) => {
  const there = await y.agent('b', { events: ['news'] });
  const source = await x.peer();
  publish(source, 'news', 1);
  assert.equal((await got(there)).data.n, 1);
});

joined('names of any bytes', {}, async (x, y) => {
  for (const name of ['a.b', 'a b', 'Ünïcode', '*', '>', 'x_y', 'A', 'tab\there']) {
    const there = await subscriber(y, name);
    const source = await x.peer();
    publish(source, name, 1);
    assert.equal((await got(there)).event, name);
  }
});

joined('an event that requires a level reaches those who support it', {}, async (x, y) => {
  const there = await y.agent('b', { events: ['news'] }, { governanceLevel: 'manual' });
  const loose = await y.agent('c', { events: ['news'] });
  const source = await x.peer();
  source.notify('event', { event: 'news', data: 1 }, 'Governance-Level: supervised');
  publish(source, 'news', 2);
  assert.equal((await got(there)).data, 1);
  assert.equal((await got(loose)).data.n, 2);
});

// --- Notifications to all who name them

const naming = (...names) => ({ events: names.map((name) => ({ name })) });

joined('a notification reaches all who name it at every hub, once, and not its source', { hubs: [[], [], []] }, async (x, y, z) => {
  const all = [await x.agent('a', naming('changed')), await y.agent('b', naming('changed', 'changed')), await y.agent('c', naming('changed')),
    await z.agent('d', { ...naming('changed'), methods: ['changed'] })];
  const source = await x.agent('s', naming('changed'));
  const offers = await y.agent('o', { methods: ['changed'] });
  for (let n = 0; n < 100; n++) source.notify('changed', { n });
  for (const peer of all) for (let n = 0; n < 100; n++) assert.deepEqual(await got(peer), { n });
  for (const peer of [...all, source, offers]) await peer.silent('a notification');
});

joined('who registers is told at once, and who leaves isn\'t any more', {}, async (x, y) => {
  const source = await x.peer();
  for (let n = 0; n < 20; n++) {
    const agent = await y.agent(`b-${n}`, naming(`one/${n}`, 'many'));
    source.notify(`one/${n}`, { n });
    assert.equal((await agent.next()).json.method, `one/${n}`);
    agent.drop();
  }
  const offers = await x.agent('o', { methods: ['many'] });
  await until('nobody names it', async () => {
    source.notify('many', {});
    source.notify('many', { targetAgent: 'o' });
    const first = (await offers.next()).json;
    if (!('targetAgent' in first.params)) await offers.next();
    return !('targetAgent' in first.params);
  });
});

joined('what nobody here names goes to who offers it here, and to all who name it elsewhere', {}, async (x, y) => {
  const named = await y.agent('b', naming('m')), offers = await x.agent('o', { methods: ['m'] });
  const source = await x.peer();
  for (let n = 0; n < 20; n++) {
    source.notify('m', { n });
    assert.deepEqual([await got(named), await got(offers)], [{ n }, { n }]);
  }
  for (const agent of [named, offers]) await agent.silent('it twice');
});

// What names it gets the copy for all, and not the one for who offers it.
joined('a hub where somebody names it drops the copy for one', {}, async (x, y) => {
  const named = await y.agent('b', { ...naming('m'), methods: ['m'] }), offers = await y.agent('o', { methods: ['m'] });
  const source = await x.peer();
  for (let n = 0; n < 20; n++) {
    source.notify('m', { n });
    assert.deepEqual(await got(named), { n });
  }
  for (const agent of [named, offers]) await agent.silent('it twice');
});

joined('it requires a level there as here', {}, async (x, y) => {
  const [strict, loose] = [await y.agent('b', naming('m'), { governanceLevel: 'manual' }), await y.agent('c', naming('m'))];
  const source = await x.peer();
  source.notify('m', { n: 1 }, 'Governance-Level: supervised');
  source.notify('m', { n: 2 });
  assert.deepEqual([await got(strict), await got(strict)], [{ n: 1 }, { n: 2 }]);
  assert.deepEqual(await got(loose), { n: 2 });
});

// --- What hubs alone say

joined('what the hub alone says to its peers can\'t be said to them from elsewhere', { hubs: [['--gate', 'manual']] }, async (x, broker) => {
  const realm = `1-${createHash('sha256').update('manual').digest('hex').slice(0, 16)}`;
  const agent = await x.agent('b', { methods: ['m'], ...naming('n') });
  const peer = await subscriber(x, 'approval-needed', '*');
  const client = await Client.join(broker);
  const counted = async () => (await peer.ask('hub/stats')).result.dropped_notifications_refused;
  const event = { jsonrpc: '2.0', method: 'event', params: { event: 'approval-needed', checkpoint: 'gate:deadbeef' } };
  const subjects = ['event.foo', 'event.approval-needed', 'agent.b', 'method.m', 'notice.n'];
  for (const subject of subjects) client.publish(`patchbay.test.${realm}.${subject}`, JSON.stringify(event));
  await until('they are counted', async () => (await counted()) === subjects.length);
  const addressed = { ...event, params: { ...event.params, targetAgent: 'b' } };
  client.publish(`patchbay.test.${realm}.agent.b`, JSON.stringify(addressed));
  await until('that is counted', async () => (await counted()) === subjects.length + 1);
  assertError(JSON.parse((await client.ask(`patchbay.test.${realm}.event.foo`, JSON.stringify({ ...event, id: 1 }))).text), -32001);
  // Nor does anybody decide from there.
  const decision = { jsonrpc: '2.0', id: 1, method: 'governance/approval', params: { checkpoint: `gate:${'0'.repeat(32)}`, decision: 'approved', artifact: {}, approver: 'b' } };
  for (const subject of ['agent.b', 'method.m'])
    assertError(JSON.parse((await client.ask(`patchbay.test.${realm}.${subject}`, JSON.stringify(decision))).text), -32001);
  for (const method of ['hub/replaced', 'hub/dropped', 'hub/approvals', 'hub/anything']) {
    const body = { jsonrpc: '2.0', method, params: { targetAgent: 'b', count: 1 } };
    for (const subject of subjects) {
      client.publish(`patchbay.test.${realm}.${subject}`, JSON.stringify(body));
      assertError(JSON.parse((await client.ask(`patchbay.test.${realm}.${subject}`, JSON.stringify({ ...body, id: 1 }))).text), -32601);
    }
  }
  await client.settled();
  for (const one of [peer, agent]) await one.silent('what was forged');
});
