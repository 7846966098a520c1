// The client over WebSocket, against a server of the test's own. The server does what the hub rarely does: pings in the
// middle of a message, fragments, refusals, closing.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import net from 'node:net';
import { test } from 'node:test';
import { listen } from './listeners.mjs';
import { within } from './peer.mjs';

const program = process.env.PATCHBAY;
const TEXT = 1, CONTINUATION = 0, CLOSE = 8, PING = 9, PONG = 10;

function frame(opcode, payload, whole = true) {
  const bytes = Buffer.from(payload), head = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 255];
  return Buffer.concat([Buffer.from([(whole ? 0x80 : 0) | opcode, ...head]), bytes]);
}

// A connection of a client's, whose frames come out one by one.
class Served {
  #bytes = Buffer.alloc(0);

  constructor(socket) {
    this.socket = socket;
    this.ended = new Promise((resolve) => socket.on('close', resolve).on('error', () => {}));
    socket.on('data', (bytes) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes]);
      this.wake?.();
    });
    socket.on('end', () => { this.over = true; this.wake?.(); });
  }

  async #until(has) {
    while (!has() && !this.over) await within(new Promise((resolve) => { this.wake = resolve; }), 'the client to say something');
    assert.ok(has(), `the client has closed behind ${this.#bytes.toString('latin1')}`);
  }

  async request() {
    await this.#until(() => this.#bytes.includes('\r\n\r\n'));
    const end = this.#bytes.indexOf('\r\n\r\n'), text = this.#bytes.toString('latin1', 0, end);
    this.#bytes = this.#bytes.subarray(end + 4);
    return text;
  }

  accept(request, first = '') {
    const key = /^Sec-WebSocket-Key: (\S+)$/im.exec(request)[1];
    const proof = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    this.socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nsec-websocket-accept:${proof}\r\n\r\n`), Buffer.from(first)]));
  }

  // The next frame, unmasked.
  async next() {
    await this.#until(() => this.#bytes.length >= 6 && this.#bytes.length >= this.#length()[1]);
    const [at, length] = this.#length(), opcode = this.#bytes[0] & 15;
    assert.equal(this.#bytes[0] & 0x70, 0);
    const mask = this.#bytes.subarray(at - 4, at), payload = Buffer.from(this.#bytes.subarray(at, length));
    payload.forEach((byte, index) => { payload[index] = byte ^ mask[index % 4]; });
    this.#bytes = this.#bytes.subarray(length);
    return { opcode, payload, mask: mask.toString('hex') };
  }

  #length() {
    const short = this.#bytes[1] & 127;
    assert.ok(this.#bytes[1] & 128, 'a client masks');
    if (short < 126) return [6, 6 + short];
    assert.equal(short, 126);
    return [8, 8 + this.#bytes.readUInt16BE(2)];
  }

  // The next message, as JSON.
  async message() {
    const { opcode, payload } = await this.next();
    assert.equal(opcode, TEXT);
    return JSON.parse(payload);
  }
}

// Runs the client against `serve`, and gives what came of it.
async function play(args, serve, { path = '', stdin = '' } = {}) {
  const failures = [], server = net.createServer({ allowHalfOpen: true }, (socket) => {
    const served = new Served(socket);
    serve(served).catch((error) => {
      failures.push(error);
      socket.destroy();
    });
  });
  await listen(server);
  const child = spawn(program, ['--hub', `ws://127.0.0.1:${server.address().port}${path}`, ...args]), said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => { said[name] += text; });
  child.stdin.end(stdin);
  const status = await within(new Promise((resolve) => child.on('close', resolve)), 'the client to end').finally(() => child.kill('SIGKILL'));
  server.close();
  if (failures.length) throw failures[0];
  return { status, ...said };
}

const answer = (id, result) => JSON.stringify({ jsonrpc: '2.0', id, result });

test('a request is asked and answered, around pings and in fragments', async () => {
  const { status, stdout } = await play(['send', 'a', 'x'], async (served) => {
    const request = await served.request();
    assert.match(request, /^GET \/ws HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/);
    assert.match(request, /^Sec-WebSocket-Protocol: hugai\.v2$/m);
    served.accept(request, frame(PING, 'early'));
    const frames = [await served.next(), await served.next()];
    const pong = frames.find(({ opcode }) => opcode === PONG), asked = frames.find(({ opcode }) => opcode === TEXT);
    assert.equal(String(pong.payload), 'early');
    assert.notEqual(pong.mask, asked.mask);
    const text = answer(JSON.parse(asked.payload).id, { a: 'b'.repeat(300) });
    served.socket.write(Buffer.concat([frame(TEXT, text.slice(0, 20), false), frame(PING, 'within'), frame(CONTINUATION, text.slice(20))]));
    assert.equal(String((await served.next()).payload), 'within');
    assert.equal((await served.next()).opcode, CLOSE);
    served.socket.end();
  });
  assert.deepEqual([status, JSON.parse(stdout)], [0, { a: 'b'.repeat(300) }]);
});

test('a notification has been read when the client ends', async () => {
  const { status } = await play(['publish', 'e', '{"n":\n1}', '--notify'], async (served) => {
    served.accept(await served.request());
    assert.deepEqual((await served.message()).params, { event: 'e', data: { n: 1 } });
    assert.equal((await served.next()).opcode, PING);
    served.socket.write(frame(PONG, ''));
    const { opcode, payload } = await served.next();
    assert.deepEqual([opcode, payload.readUInt16BE(0)], [CLOSE, 1000]);
    served.socket.end(frame(CLOSE, payload));
  });
  assert.equal(status, 0);
});

test('what is owed when the input ends still comes', async () => {
  const { status, stdout } = await play(['connect'], async (served) => {
    served.accept(await served.request());
    const { id } = await served.message();
    await new Promise((resolve) => setImmediate(resolve));
    served.socket.write(frame(TEXT, `{"jsonrpc":"2.0","id":${id},\n"result":7}`));
    assert.equal((await served.next()).opcode, PING);
    served.socket.write(frame(PONG, ''));
    await served.next();
    served.socket.end(frame(CLOSE, ''));
  }, { path: '/other', stdin: '{"jsonrpc":"2.0","id":5,"method":"m"}' });
  assert.deepEqual([status, stdout], [0, '{"jsonrpc":"2.0","id":5, "result":7}\n']);
});

test('a server that closes is a hub that went away', async () => {
  const { status, stderr } = await play(['stats'], async (served) => {
    served.accept(await served.request());
    await served.message();
    served.socket.write(frame(CLOSE, Buffer.from([1001 >> 8, 1001 & 255])));
    const { opcode, payload } = await served.next();
    assert.deepEqual([opcode, payload.readUInt16BE(0)], [CLOSE, 1001]);
    served.socket.end();
  });
  assert.equal(status, 3);
  assert.match(stderr, /the hub closed the connection/);
});

for (const [name, say] of [
  ['refuses', (served) => served.socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')],
  ['proves nothing', (served) => served.socket.end('HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n')],
  ['says nothing', (served) => served.socket.end()],
  ['never ends', (served) => served.socket.write(`HTTP/1.1 101 x\r\n${'a: b\r\n'.repeat(4000)}`)],
]) {
  test(`a server that ${name} is no hub`, async () => {
    const { status, stderr } = await play(['stats'], async (served) => {
      await served.request();
      say(served);
    });
    assert.equal(status, 3);
    assert.match(stderr, /the hub sent what is no message frame/);
  });
}

test('what is no such URI is an error of usage', async () => {
  for (const uri of ['ws://', 'ws://nowhere', 'ws://127.0.0.1:99999', 'ws://127.0.0.1:1/a b', 'ws://127.0.0.1:1/#x']) {
    const child = spawn(program, ['--hub', uri, 'stats']);
    assert.equal(await within(new Promise((resolve) => child.on('close', resolve)), uri), 2, uri);
  }
});
