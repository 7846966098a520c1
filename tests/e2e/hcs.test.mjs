// HCS from outside: a producer streams to clients that read at their own pace, leave and come back.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { scenario } from './hub.mjs';
import { frame } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };
const TEXT = 'x'.repeat(16 * 1024);

const chunk = (session_id, seq, lod, text = TEXT) => ({ type: 'chunk', session_id, seq, lod, text });
const control = (session_id, action) => ({ type: 'control', session_id, action });
const typed = (type) => (one) => one.json.type === type;

async function producerOf(hub, agentId = 'p') {
  return hub.agent(agentId, { hcs: true });
}

// Starts a session, and waits for the start at the producer.
async function open(producer, client, session_id, more = {}) {
  client.send({ type: 'start', request_id: `r-${session_id}`, session_id, ...more });
  return (await producer.find(typed('start'), 'a start')).json;
}

// The next frame, which must be this chunk.
async function expectChunk(client, seq) {
  const one = (await client.next(`chunk ${seq}`)).json;
  assert.equal(one.type, 'chunk', JSON.stringify(one).slice(0, 300));
  assert.equal(one.seq, seq);
}

// A counter or gauge of the hub's, once it is so.
async function until(peer, what, holds) {
  for (;;) {
    const { result } = await peer.ask('hub/stats');
    if (holds(result)) return result;
  }
}

scenario('every client gets every chunk, in order and once', EVERYWHERE, async (hub) => {
  const producer = await producerOf(hub);
  const clients = [];
  for (let index = 0; index < 8; index++) clients.push(await hub.peer());
  await open(producer, clients[0], 'all');
  for (const client of clients.slice(1)) client.send({ type: 'start', request_id: 'r', session_id: 'all' });
  await until(producer, 'all clients', (stats) => stats.hcs_clients === clients.length);
  for (let seq = 0; seq < 200; seq++) producer.send(chunk('all', seq, 'macro', TEXT.slice(0, (seq * 97) % TEXT.length)));
  producer.send({ type: 'complete', session_id: 'all' });
  await Promise.all(clients.map(async (client) => {
    for (let seq = 0; seq < 200; seq++) await expectChunk(client, seq);
    assert.equal((await client.next()).json.type, 'complete');
    await client.silent('the end of a session');
  }));
  const stats = await until(producer, 'no session', (all) => all.hcs_sessions === 0);
  assert.equal(stats.hcs_sessions_begun, 1);
  assert.equal(stats.hcs_sessions_ended, 1);
  assert.equal(stats.hcs_clients, 0);
});

// A consumer that doesn't read: chunks of the finest level are shed for it alone, and it is told which. The producer
// hears of that, since there is no other consumer.
scenario('fine chunks are shed for who reads slowly, and fetched later',
  { ...EVERYWHERE, options: ['--max-queue', '256K', '--session-history', '16M'] }, async (hub) => {
    const producer = await producerOf(hub);
    const slow = await hub.peer();
    await open(producer, slow, 'slow');
    slow.socket.pause();
    let seq = 0;
    for (let dropped = 0; dropped < 20;) {
      for (let count = 0; count < 50; count++) producer.send(chunk('slow', seq++, 'atomic'));
      dropped = (await producer.ask('hub/stats')).result.dropped_hcs_chunks_shed_atomic;
      assert.ok(seq < 20_000, 'nothing was ever shed');
    }
    const paused = (await producer.find(typed('control'), 'a pause')).json;
    assert.deepEqual([paused.action, paused.reason], ['pause', 'backpressure']);
    producer.send(chunk('slow', seq++, 'macro'));
    slow.socket.resume();
    const seen = [];
    const shed = [];
    const missed = () => shed.reduce((sum, one) => sum + one.atomic, 0);
    while (seen.at(-1) !== seq - 1 || seen.length + missed() < seq) {
      const one = (await slow.next('a chunk or relax')).json;
      if (one.type === 'chunk') {
        seen.push(one.seq);
      } else {
        assert.deepEqual([one.action, one.reason, one.request_id, one.shed.micro], ['relax', 'backpressure', 'r-slow', 0]);
        shed.push(one.shed);
      }
    }
    const missing = Array.from({ length: seq }, (_, at) => at).filter((at) => !seen.includes(at));
    assert.deepEqual(seen, [...seen].sort((one, other) => one - other));
    assert.equal(seen.length + missed(), seq);
    assert.deepEqual([missing[0], missing.at(-1)], [shed[0].from, shed.at(-1).to]);
    await producer.find((one) => one.json.action === 'resume', 'a resume');
    slow.send({ type: 'start', request_id: 'r-slow', session_id: 'slow', after_seq: missing[0] - 1 });
    for (let next = missing[0]; next < seq; next++) await expectChunk(slow, next);
    await slow.silent('what was fetched');
  });

scenario('a pause holds what the queue may hold, and the rest comes from the history', { ...EVERYWHERE,
  options: ['--max-queue', '256K', '--session-history', '256K'] }, async (hub) => {
  const producer = await producerOf(hub);
  const client = await hub.peer();
  await open(producer, client, 'held');
  client.send(control('held', 'pause'));
  assert.equal((await producer.find(typed('control'), 'its pause')).json.action, 'pause');
  for (let seq = 0; seq < 100; seq++) producer.send(chunk('held', seq, 'atomic'));
  producer.send({ type: 'control', session_id: 'held', action: 'mark' });
  assert.equal((await client.next()).json.action, 'mark');
  client.send(control('held', 'resume'));
  let next = 0;
  let one;
  while ((one = (await client.next()).json).type === 'chunk') assert.equal(one.seq, next++);
  assert.deepEqual([one.action, one.gone.after_seq], ['flush', next - 1]);
  assert.ok(next * TEXT.length >= 200 * 1024 && next * TEXT.length <= 300 * 1024, `${next} were held`);
  const first = one.gone.first_seq;
  assert.ok((100 - first) * TEXT.length >= 200 * 1024 && (100 - first) * TEXT.length <= 256 * 1024, `from ${first}`);
  for (let seq = first; seq < 100; seq++) await expectChunk(client, seq);
});

scenario('near the memory bound what is held for those who have paused goes first, and is told', { shards: [1, 2], options: ['--max-memory', '64M'] }, async (hub) => {
  const producer = await producerOf(hub), sessions = Array.from({ length: 24 }, (_, k) => `s${k}`), clients = [];
  const text = 'x'.repeat(100_000);
  for (const session of sessions) {
    const client = await hub.peer();
    await open(producer, client, session, { targetAgent: 'p' });
    client.send(control(session, 'pause'));
    await producer.find(typed('control'), 'the pause');
    clients.push(client);
  }
  const listener = await hub.peer(), echo = await hub.agent('echo'), other = await hub.peer();
  assert.ok((await listener.ask('hub/subscribe', { events: ['e'] })).result);
  echo.answers = () => ({ ok: true });
  for (let seq = 0; seq < 44; seq++) // 105 MB in all
    for (const session of sessions) await producer.write(frame(chunk(session, seq, 'macro', text)));
  for (let n = 0; n < 5; n++) {
    assert.ok((await other.ask('work', { targetAgent: 'echo', pad: 'y'.repeat(2_000_000) })).result);
    assert.equal((await other.ask('event', { event: 'e', n })).result.delivered, 1);
    assert.equal((await listener.find((one) => one.json.method === 'event', 'an event')).json.params.n, n);
  }
  for (const [at, client] of clients.entries()) {
    client.send(control(sessions[at], 'resume'));
    for (let next = 0; next < 44;) {
      const { json } = await client.find((one) => ['chunk', 'control'].includes(one.json.type), 'chunks, or what is gone');
      if (json.type === 'control') next = json.gone.first_seq;
      else assert.equal(json.seq, next++);
    }
  }
});

scenario('flush drops what waits in the queue', { ...EVERYWHERE, options: ['--max-queue', '64M'] }, async (hub) => {
  const producer = await producerOf(hub);
  const client = await hub.peer();
  await open(producer, client, 'flushed');
  client.socket.pause();
  for (let seq = 0; seq < 1000; seq++) producer.send(chunk('flushed', seq, 'macro'));
  await until(producer, 'all came', (stats) => stats.hcs_frames_delivered === 1000);
  client.send(control('flushed', 'flush'));
  await until(producer, 'flushed', (stats) => stats.dropped_hcs_chunks_flushed > 0);
  producer.send(chunk('flushed', 1000, 'macro'));
  client.socket.resume();
  let seen = 0;
  let one;
  while ((one = (await client.next()).json).seq < 1000) assert.equal(one.seq, seen++);
  const { result } = await producer.ask('hub/stats');
  assert.ok(seen < 1000);
  assert.equal(result.dropped_hcs_chunks_flushed, 1000 - seen);
});

scenario('a producer that dies ends its sessions, and another may be had', EVERYWHERE, async (hub) => {
  const producer = await producerOf(hub);
  const clients = await Promise.all([hub.peer(), hub.peer()]);
  await open(producer, clients[0], 'one');
  await open(producer, clients[1], 'two');
  producer.drop();
  for (const client of clients) {
    const end = (await client.next('the end')).json;
    assert.deepEqual([end.type, end.code, end.retriable], ['error', 'STREAM_TIMEOUT', true]);
    assert.deepEqual(end.options.map((option) => option.action), ['retry', 'backoff']);
    assert.ok(!('refused' in end));
  }
  const other = await producerOf(hub, 'q');
  await open(other, clients[0], 'three');
});

scenario('many sessions of one client keep apart', EVERYWHERE, async (hub) => {
  const producer = await producerOf(hub);
  const client = await hub.peer();
  const names = Array.from({ length: 100 }, (_, index) => `many-${index}`);
  for (const name of names) client.send({ type: 'start', request_id: name, session_id: name });
  for (let count = 0; count < names.length; count++) await producer.find(typed('start'), 'a start');
  for (let seq = 0; seq < 5; seq++) for (const name of names) producer.send(chunk(name, seq, 'macro', name));
  for (const name of names) producer.send({ type: 'complete', session_id: name });
  const next = new Map(names.map((name) => [name, 0]));
  for (let count = 0; count < names.length * 6; count++) {
    const one = (await client.next()).json;
    const expected = next.get(one.session_id);
    assert.equal(one.type === 'complete' ? 5 : one.seq, expected);
    next.set(one.session_id, expected + 1);
  }
});

scenario('what the hub makes up can be joined', EVERYWHERE, async (hub) => {
  const producer = await producerOf(hub);
  const [one, two] = await Promise.all([hub.peer(), hub.peer()]);
  const names = new Set();
  for (let index = 0; index < 50; index++) {
    one.send({ type: 'start', request_id: 'same' });
    names.add((await producer.find(typed('start'), 'a start')).json.session_id);
  }
  assert.equal(names.size, 50);
  for (const name of names) assert.match(name, /^[0-9a-f]{32}$/);
  const [name] = names;
  producer.send(chunk(name, 0, 'macro'));
  await expectChunk(one, 0);
  two.send({ type: 'start', request_id: 'other', session_id: name });
  await expectChunk(two, 0);
});

scenario('a hub that ends tells clients of what has not ended', { ...EVERYWHERE, options: ['--drain-timeout', '300ms'] },
  async (hub) => {
    const producer = await producerOf(hub);
    const [client, late] = await Promise.all([hub.peer(), hub.peer()]);
    await open(producer, client, 'cut');
    hub.process.kill('SIGTERM');
    let refused;
    do {
      late.send({ type: 'start', request_id: 'late', session_id: 'cut-late' });
      late.send({ type: 'ack', session_id: 'cut-nobody' });
      refused = (await late.next()).json;
    } while (refused.refused !== 'start');
    assert.deepEqual([refused.code, refused.retriable], ['INTERNAL', true]);
    const end = (await client.next('the end')).json;
    assert.deepEqual([end.type, end.code, end.retriable], ['error', 'INTERNAL', true]);
    for (const peer of hub.peers) peer.end.then(() => peer.drop());
    await hub.ended();
  });

scenario('a session that ends in time lets the hub end well', { ...EVERYWHERE, options: ['--drain-timeout', '60s'] }, async (hub) => {
  const producer = await producerOf(hub);
  const client = await hub.peer();
  await open(producer, client, 'whole');
  hub.process.kill('SIGTERM');
  producer.send(chunk('whole', 0, 'macro'));
  producer.send({ type: 'complete', session_id: 'whole' });
  await expectChunk(client, 0);
  assert.equal((await client.next()).json.type, 'complete');
  for (const peer of hub.peers) peer.end.then(() => peer.drop());
  await hub.ended();
});

// Histories are bounded in all, too: what lies there is given up before anybody is closed.
scenario('histories of many sessions stay within memory', { options: ['--max-memory', '64M', '--session-history', '8M'] }, async (hub) => {
  const producer = await producerOf(hub);
  const client = await hub.peer();
  for (let index = 0; index < 20; index++) {
    await open(producer, client, `memory-${index}`);
    for (let seq = 0; seq < 100; seq++) producer.send(chunk(`memory-${index}`, seq, 'macro'));
    for (let seq = 0; seq < 100; seq++) await expectChunk(client, seq);
  }
  const { result } = await producer.ask('hub/stats');
  assert.ok(result.hcs_history_bytes > 0 && result.hcs_history_bytes <= 8 * 1024 * 1024, `${result.hcs_history_bytes}`);
  assert.equal(result.closed_slow_readers + result.closed_no_memory, 0);
});

// A start is a few bytes, and a history many: what one packet of them has the hub send, and hold, is bounded.
scenario('who starts again and again before it reads has little of the history sent each time', EVERYWHERE, async (hub) => {
  const CHUNKS = 3000, STARTS = 200;
  const producer = await producerOf(hub);
  const first = await hub.peer(), client = await hub.peer();
  await open(producer, first, 'again');
  for (let seq = 0; seq < CHUNKS; seq++) producer.send(chunk('again', seq, 'macro', ''));
  for (let seq = 0; seq < CHUNKS; seq++) await expectChunk(first, seq);
  const start = { type: 'start', request_id: 'r', session_id: 'again' };
  client.write(Buffer.concat(Array(STARTS).fill(frame(start))));
  let expected = 0;
  while (expected < CHUNKS) {
    const { json } = await client.next(`chunk ${expected}`);
    if (json.type === 'error') {
      assert.equal(json.refused, 'start'); // its queue is full by now
      continue;
    }
    assert.ok(json.seq === expected || json.seq === 0, `${json.seq}, not ${expected}`);
    expected = json.seq + 1;
  }
  const { result } = await producer.ask('hub/stats');
  assert.ok(result.hcs_frames_delivered < CHUNKS * STARTS / 8, `${result.hcs_frames_delivered} were given`);
});

scenario('flush drops what is queued, each time', { ...EVERYWHERE, options: ['--max-queue', '64M'] }, async (hub) => {
  const MANY = 1500, MORE = 100;
  const producer = await producerOf(hub), client = await hub.peer();
  await open(producer, client, 'flushed');
  client.socket.pause();
  const flushed = async (sent, least) => {
    await until(producer, 'all are queued', (stats) => stats.hcs_frames_delivered >= sent);
    client.send(control('flushed', 'flush'));
    client.send(control('flushed', 'flush'));
    let last = -1; // another shard may be in the middle of it
    await until(producer, 'a flush', ({ dropped_hcs_chunks_flushed: now }) => {
      const settled = now >= least && now === last;
      last = now;
      return settled;
    });
    return last;
  };
  for (let seq = 0; seq < MANY; seq++) producer.send(chunk('flushed', seq, 'macro'));
  const first = await flushed(MANY, 1);
  for (let seq = MANY; seq < MANY + MORE; seq++) producer.send(chunk('flushed', seq, 'macro'));
  await flushed(MANY + MORE, first + MORE);
  client.socket.resume();
});

// A program that the hub keeps: its name outlives it, its sessions don't.
const STREAMER = `
import json, os, sys
def read():
    count = 0
    while (line := sys.stdin.buffer.readline()) != b'\\r\\n':
        if not line: sys.exit(0)
        if line.lower().startswith(b'content-length:'): count = int(line.split(b':')[1])
    return json.loads(sys.stdin.buffer.read(count))
def write(body):
    text = json.dumps(body).encode()
    sys.stdout.buffer.write(b'Content-Length: %d\\r\\n\\r\\n' % len(text) + text)
    sys.stdout.buffer.flush()
while True:
    message = read()
    if message.get('method') == 'initialize':
        write({'jsonrpc': '2.0', 'id': message['id'], 'result': {'name': 'p', 'version': '1', 'capabilities': {'hcs': True}}})
    elif message.get('method') == 'shutdown':
        write({'jsonrpc': '2.0', 'id': message['id'], 'result': None})
    elif message.get('type') == 'start' and message['session_id'].startswith('mute'):
        os._exit(1)
    elif message.get('type') == 'start':
        write({'type': 'init', 'session_id': message['session_id']})
        write({'type': 'chunk', 'session_id': message['session_id'], 'seq': 0})
    elif message.get('type') == 'ack':
        os._exit(1)
`;
const directory = mkdtempSync(join(tmpdir(), 'patchbay-hcs-'));
after(() => rmSync(directory, { recursive: true, force: true }));
writeFileSync(join(directory, 'streamer.py'), STREAMER);
const KEPT = { ...EVERYWHERE, options: ['--extension', `p=/usr/bin/env XDG_DATA_HOME=${directory} python3 ${join(directory, 'streamer.py')}`] };

scenario('sessions of a program that the hub keeps end with it, and the next one has its own', KEPT, async (hub) => {
  const client = await hub.peer();
  // The child offers nothing before it has answered initialize. A child that ends is still an agent for a moment.
  const start = async (name, unlike) => {
    for (let n = 0;; n++) {
      const session = `${name}-${n}`;
      client.send({ type: 'start', request_id: 'r', session_id: session, targetAgent: 'p' });
      const { json } = await client.find((one) => ['init', 'error'].includes(one.json.type), 'init, or why not');
      if (json.code === unlike) continue;
      assert.equal(json.session_id, session);
      return json;
    }
  };
  const begin = async (name) => {
    for (let n = 0;; n++) {
      const json = await start(`${name}-${n}`, 'INVALID_REQUEST');
      if (json.type === 'init') return json.session_id;
      assert.equal(json.message, 'the producer has ended'); // the one before took it with it
    }
  };
  const mute = await start('mute', 'INVALID_REQUEST');
  assert.deepEqual([mute.code, mute.message, mute.retriable], ['STREAM_TIMEOUT', 'the producer has ended', true]);
  for (const name of ['first', 'second']) {
    const session = await begin(name);
    await client.find(typed('chunk'), 'a chunk');
    client.send({ type: 'ack', request_id: 'r', session_id: session, seq: 0 });
    const { json } = await client.find((one) => one.json.code === 'STREAM_TIMEOUT', 'its end');
    assert.deepEqual([json.session_id, json.retriable], [session, true]);
  }
});
