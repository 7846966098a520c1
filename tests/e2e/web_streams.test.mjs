// WebSocket and server-sent events, byte by byte: fragments, control frames between them, faults and the codes that
// tell them, and bodies whose lines are split.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { scenario } from './hub.mjs';
import { within } from './peer.mjs';

const ON_TCP = { transports: ['tcp'], options: ['--http', '127.0.0.1:0'] };
const FIN = 0x80, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10;
const GET = (path, fields = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`;

// A connection to the hub's HTTP of which bytes are awaited.
class Stream {
  bytes = Buffer.alloc(0);

  static async open(hub, request) {
    const stream = new Stream();
    stream.socket = net.connect(Number(new URL(hub.uri('http')).port), '127.0.0.1');
    stream.socket.on('error', () => {}).on('data', (bytes) => {
      stream.bytes = Buffer.concat([stream.bytes, bytes]);
      stream.wake?.();
    });
    stream.socket.write(request);
    stream.head = await stream.until((bytes) => (bytes.includes('\r\n\r\n') ? bytes.indexOf('\r\n\r\n') + 4 : 0), 'the head');
    return stream;
  }

  // The first bytes, as many as `length` says; 0: more must come.
  async until(length, what) {
    for (;;) {
      const count = length(this.bytes);
      if (count && count <= this.bytes.length) {
        const taken = this.bytes.subarray(0, count);
        this.bytes = this.bytes.subarray(count);
        return taken;
      }
      await within(new Promise((resolve) => (this.wake = resolve)), what);
    }
  }

  take(count, what) {
    return this.until(() => count, what);
  }
}

class Socket {
  static async open(hub) {
    const socket = new Socket();
    socket.stream = await Stream.open(hub, GET('/ws', 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
      + 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'));
    assert.match(socket.stream.head.toString(), /^HTTP\/1\.1 101 [^]*\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/i);
    return socket;
  }

  send(...frames) {
    this.stream.socket.write(Buffer.concat(frames));
  }

  async next() {
    const [first, length] = await this.stream.take(2, 'a frame');
    const count = length < 126 ? length : (await this.stream.take(2, 'its length')).readUInt16BE();
    return [first, count ? await this.stream.take(count, 'its payload') : Buffer.alloc(0)];
  }

  async hears(first, payload) {
    const [opcode, bytes] = await this.next();
    assert.deepEqual([opcode, bytes.toString('latin1')], [first, payload]);
  }
}

function masked(first, payload = '') {
  const bytes = Buffer.from(payload), mask = randomBytes(4);
  const length = bytes.length < 126 ? [0x80 | bytes.length] : [0xfe, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([first, ...length]), mask, bytes.map((byte, at) => byte ^ mask[at % 4])]);
}

const PONG_OF_HUB = '{"jsonrpc":"2.0","id":1,"result":null}';
const FRAGMENTS = ['{"jsonrpc":"2.0",', '"id":1,', '', '"method":"hub/ping"}'];

scenario('a message in fragments, with control frames between them, however it is cut', ON_TCP, async (hub) => {
  const socket = await Socket.open(hub);
  const bytes = Buffer.concat([masked(TEXT, FRAGMENTS[0]), masked(FIN | PING, 'p'), masked(0, FRAGMENTS[1]), masked(FIN | PONG),
    masked(0, FRAGMENTS[2]), masked(FIN, FRAGMENTS[3])]);
  for (const step of [1, 7, bytes.length]) {
    for (let at = 0; at < bytes.length; at += step) socket.send(bytes.subarray(at, at + step));
    await socket.hears(FIN | PONG, 'p');
    await socket.hears(FIN | TEXT, PONG_OF_HUB);
  }
});

scenario('what may come for ever within a message takes no memory', { ...ON_TCP, options: [...ON_TCP.options, '--max-frame', '64'] },
  async (hub) => {
    const socket = await Socket.open(hub);
    socket.send(masked(TEXT, FRAGMENTS[0]));
    const gap = Buffer.concat([masked(0), masked(FIN | PONG, 'x'.repeat(100))]);
    for (let turn = 0; turn < 100; turn++) socket.send(Buffer.concat(Array(100).fill(gap)));
    socket.send(masked(FIN, FRAGMENTS.slice(1).join('')));
    await socket.hears(FIN | TEXT, PONG_OF_HUB);
  });

scenario('a message with nothing in it is no JSON, and the connection goes on', ON_TCP, async (hub) => {
  const socket = await Socket.open(hub);
  socket.send(masked(FIN | TEXT), masked(FIN | TEXT, FRAGMENTS.join('')));
  assert.equal(JSON.parse((await socket.next())[1]).error.code, -32700);
  await socket.hears(FIN | TEXT, PONG_OF_HUB);
});

scenario('a fault is told by its code', { ...ON_TCP, options: [...ON_TCP.options, '--max-frame', '64'] }, async (hub) => {
  for (const [bytes, code] of [
    [masked(FIN | BINARY, '{}'), 1003],
    [masked(FIN | TEXT, Buffer.from([0xff])), 1007],
    [masked(FIN | TEXT, 'x'.repeat(65)), 1009],
    [Buffer.concat([masked(TEXT, 'x'.repeat(64)), masked(0, 'x')]), 1009],
    [masked(0xc1, '{}'), 1002],
    [Buffer.from([FIN | TEXT, 2, 0x7b, 0x7d]), 1002],
    [masked(FIN, '{}'), 1002],
    [masked(FIN | CLOSE, Buffer.from([3])), 1002],
    [masked(FIN | CLOSE, Buffer.from([3, 0xe8])), 1000],
  ]) {
    const socket = await Socket.open(hub);
    socket.send(bytes);
    const [first, payload] = await socket.next();
    assert.deepEqual([first, payload.readUInt16BE()], [FIN | CLOSE, code]);
  }
});

scenario("the lines of an event's body are split, of one by itself and of many side by side", ON_TCP, async (hub) => {
  const events = await Stream.open(hub, GET('/events?pattern=build-*'));
  const others = await hub.peer(), source = await hub.peer();
  await others.ask('hub/subscribe', { events: ['build-*'] });
  const bodies = [' ', '\n', '\r\n', '\r', '\n\r', ' '].map((gap) => `{"jsonrpc":"2.0",${gap}"method":"event","params":{"event":"build-1"}${gap}}`);
  const expected = bodies.map((body) => `${body.split(/\r\n|\r|\n/).map((text) => `data: ${text}\n`).join('')}\n`).join('');
  const frames = bodies.map((body) => `Content-Length: ${body.length}\r\n\r\n${body}`);
  for (const parts of [frames, [frames.join('')]]) {
    for (const part of parts) source.write(part);
    assert.equal((await events.take(expected.length, 'the events')).toString(), expected);
    for (const body of bodies) assert.equal((await others.next()).text, body);
  }
});

scenario('events that came over WebSocket side by side, in fragments, large ones and others among them, reach receivers of every kind', ON_TCP, async (hub) => {
  const streamed = await Stream.open(hub, GET('/events?pattern=build-*'));
  const framed = await hub.peer(), socket = await Socket.open(hub), source = await Socket.open(hub);
  await framed.ask('hub/subscribe', { events: ['build-*'] });
  socket.send(masked(FIN | TEXT, '{"jsonrpc":"2.0","id":1,"method":"hub/subscribe","params":{"events":["build-*"]}}'));
  await socket.next();
  const bodies = Array.from({ length: 300 }, (_, n) =>
    JSON.stringify({ jsonrpc: '2.0', method: 'event', params: { event: `build-${n % 90 > 80}`, n, pad: 'x'.repeat(n % 70 === 69 ? 5000 : n % 200) } }));
  const inFragments = (body) => [masked(TEXT, body.slice(0, 30)), masked(FIN | PING), masked(FIN, body.slice(30))];
  source.send(...bodies.flatMap((body, n) => (n % 50 < 5 ? inFragments(body) : [masked(FIN | TEXT, body)])));
  const expected = bodies.map((body) => `data: ${body}\n\n`).join('');
  assert.equal((await streamed.take(expected.length, 'the events')).toString(), expected);
  for (const body of bodies) {
    assert.equal((await framed.next()).text, body);
    await socket.hears(FIN | TEXT, body);
  }
});
