// GET /events, read as the standard has it (WHATWG HTML, server-sent events): each event is one body, whatever line breaks
// stand in it.
import assert from 'node:assert/strict';
import { requestText } from './peer.mjs';
import { alone, Client, request, rpc, web } from './web.mjs';

const EVERYWHERE = { shards: [1, 2] };

// An event, as lines that end in LF, CR or CR LF make it up.
function eventOf(block) {
  const one = { data: [], names: [] };
  for (const line of block.split(/\r\n|\n|\r/)) {
    if (line === '' || line.startsWith(':')) continue;
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    one.names.push(name);
    if (name === 'data') one.data.push(value);
    else one[name] = value;
  }
  one.data = one.data.join('\n');
  return one;
}

class Events extends Client {
  // Subscribes to a query's patterns.
  static async open(hub, query, ...fields) {
    const client = await Client.open(hub);
    const events = new Events(client.detach());
    hub.peers.push(events);
    events.write(request(`GET /events?${query}`, ['Accept: text/event-stream', ...fields]));
    events.head = await events.response();
    assert.equal(events.head.status, 200);
    assert.equal(events.head.fields['content-type'], 'text/event-stream');
    return events;
  }

  // The next event. A block of comments alone is none: the hub sends one when a stream was silent for 15 s.
  async next(what = 'an event') {
    for (;;) {
      const one = await this.take((bytes) => {
        const end = bytes.indexOf('\n\n');
        if (end < 0) return null;
        return { whole: end + 2, value: eventOf(bytes.subarray(0, end + 1).toString()) };
      }, what);
      if (one.names.length > 0) return one;
    }
  }

  // The next event is what this body was, line breaks aside.
  async is(body) {
    const one = await this.next();
    assert.deepEqual(one.names.filter((name) => name !== 'data'), [], 'an event has no field but data');
    assert.equal(one.data, body.replace(/\r\n|\r/g, '\n'));
  }
}

const event = (name, more = {}) => JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { event: name, ...more } });

web('events of the patterns come, and no others', EVERYWHERE, async (hub) => {
  const one = await Events.open(hub, 'pattern=build-*&pattern=task-1');
  const all = await Events.open(hub, 'pattern=%2A&other=x');
  const source = await hub.peer();
  const bodies = ['build-1', 'other', 'task-10', 'task-1', 'build', 'build-'].map((name) => event(name));
  for (const body of bodies) source.send(body);
  for (const body of [bodies[0], bodies[3], bodies[5]]) await one.is(body);
  for (const body of bodies) await all.is(body);
  const delivered = await alone(hub, rpc(requestText(1, 'event', { event: 'build-9', x: 1 })));
  assert.deepEqual(delivered.json.result, { delivered: 2 });
  const cut = JSON.parse((await one.next()).data);
  assert.deepEqual(cut, { jsonrpc: '2.0', method: 'event', params: { event: 'build-9', x: 1 } });
});

web('patterns may be spelled with escapes', {}, async (hub) => {
  const name = 'a b&c=d+é/☃';
  const events = await Events.open(hub, `x&&pattern=${encodeURIComponent(name)}&`);
  const source = await hub.peer();
  const body = event(name);
  source.send(event('a'));
  source.send(body);
  await events.is(body);
  const plus = await Events.open(hub, 'pattern=a+b*');
  source.send(event('a b!'));
  await plus.is(event('a b!'));
});

web('no pattern, and a bad one, is 400', {}, async (hub) => {
  for (const query of ['', '?', '?pattern', '?pattern=', '?Pattern=a', '?patterns=a', '?pattern=a*b', '?pattern=**', '?pattern=*a', '?pattern=a&pattern=', '?pattern=%', '?pattern=%zz',
    '?pattern=%ff', '?pattern=%00', '?pattern=a%', `?pattern=${'x'.repeat(256)}`]) {
    const answer = await alone(hub, request(`GET /events${query}`));
    assert.equal(answer.status, 400, query);
    assert.match(answer.fields['content-type'], /^text\/plain/);
  }
  const many = (count) => Array.from({ length: count }, (_, n) => `pattern=${n}`).join('&');
  assert.equal((await alone(hub, request(`GET /events?${many(600)}&pattern=a*b`))).status, 400);
  await Events.open(hub, many(500));
  await Events.open(hub, `pattern=${'x'.repeat(255)}`);
  const { result } = await (await hub.peer()).ask('hub/stats');
  assert.equal(result.by_transport.sse, 2);
});

web('line breaks in a body become data lines, and nothing else can', EVERYWHERE, async (hub) => {
  const events = await Events.open(hub, 'pattern=*');
  const source = await hub.peer();
  const with_ = (text) => `{"jsonrpc":"2.0",${text}"method":"event","params":{"event":"e"}}`;
  const bodies = ['\n', '\r', '\r\n', '\n\n', '\r\r', '\n\r', '\r\n\r\n', '\n\r\n\r', '\r\n\n', `${'\n'.repeat(500)}`, `${'\r\n'.repeat(500)}`].map(with_);
  // The hub steps over what lies deep, where a break may stand in a string.
  bodies.push(`\r\n ${with_('')}\n`, `\n\n${with_('')}\r`, with_(`"x":"${'y'.repeat(100_000)}",\r\n`), `{"jsonrpc":"2.0","method":"event","params":{"event":"e","x":{"deep":"\nid: 5\r\rretry: 1\n\n"}}}`);
  for (const body of bodies) {
    source.send(body);
    await events.is(body);
  }
});

web('all that is published is one event each, side by side and apart', EVERYWHERE, async (hub) => {
  const readers = [await Events.open(hub, 'pattern=*'), await Events.open(hub, 'pattern=a*'), await Events.open(hub, 'pattern=*&pattern=a')];
  const source = await hub.peer();
  const bodies = Array.from({ length: 500 }, (_, n) => event('abc', { n, text: 'x'.repeat((n * 37) % 5000) }));
  for (const body of bodies) source.send(body);
  for (const reader of readers) for (const body of bodies) await reader.is(body);
});

web('behind an answer it comes on the same connection, and what is sent then is not heard', EVERYWHERE, async (hub) => {
  const client = await Client.open(hub);
  await client.lives();
  const events = new Events(client.detach());
  hub.peers.push(events);
  events.write(request('GET /events?pattern=*'), rpc(event('mine')));
  assert.equal((await events.response()).status, 200);
  events.write(rpc(event('mine')), Buffer.alloc(100_000));
  (await hub.peer()).send(event('e'));
  await events.is(event('e'));
});

web('a reader that leaves is no subscriber any more', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  for (const leave of ['drop', 'finish']) {
    const events = await Events.open(hub, 'pattern=*');
    assert.deepEqual((await source.ask('event', { event: 'e' })).result, { delivered: 1 });
    await events.next();
    events[leave]();
    while ((await source.ask('event', { event: 'e' })).result.delivered > 0);
    events.drop();
    assert.equal((await source.ask('hub/stats')).result.connections, 1);
  }
});

web('a slow reader alone misses events, and is told how many', { ...EVERYWHERE, options: ['--max-queue', '256K'] }, async (hub) => {
  const [slow, quick] = [await Events.open(hub, 'pattern=*'), await Events.open(hub, 'pattern=*')];
  slow.socket.pause();
  const source = await hub.peer();
  const count = 600;
  const text = 'x'.repeat(50_000);
  for (let n = 0; n < count; n++) {
    source.send(event('e', { n, text }));
    await quick.is(event('e', { n, text }));
  }
  slow.socket.resume();
  let [heard, missed, last] = [0, 0, -1];
  while (heard + missed < count) {
    const one = await slow.next();
    const { method, params } = JSON.parse(one.data);
    assert.equal(one.event, method === 'hub/dropped' ? 'dropped' : undefined);
    if (method === 'hub/dropped') missed += params.count;
    else {
      assert.ok(params.n > last);
      last = params.n;
      heard++;
    }
  }
  assert.ok(missed > 0);
  assert.equal(heard + missed, count);
});

web('an origin that is allowed by name may read', { options: ['--allow-origin', 'https://app.example'] }, async (hub) => {
  const events = await Events.open(hub, 'pattern=*', 'Origin: https://app.example', 'Last-Event-ID: 5');
  assert.equal(events.head.fields['access-control-allow-origin'], 'https://app.example');
  assert.equal((await alone(hub, request('GET /events?pattern=*', ['Origin: https://evil.example']))).status, 403);
});

web('streams end with the hub', { ...EVERYWHERE, options: ['--drain-timeout', '60s'] }, async (hub) => {
  const events = await Events.open(hub, 'pattern=*');
  hub.process.kill('SIGTERM');
  assert.equal(await events.gone(), 'end');
  await hub.ended();
});

web('a reader of HTTP/1.0 gets the stream, too', {}, async (hub) => {
  const client = await Client.open(hub);
  client.write('GET /events?pattern=* HTTP/1.0\r\nHost: localhost\r\n\r\n');
  assert.equal((await client.response()).status, 200);
});
