// A hub that says what no hub may say: what can't be read is survived, or ends the connection, and never the process.
import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { HubError, PlayedHub, agent, assertFails, client, close, failure, having, statesOf, until } from './kit.mjs';
import { contentLength } from '../../../tools/clients/node/lib/frame.js';
import { lines } from '../../../tools/clients/node/lib/lines.js';
import { webSocket } from '../../../tools/clients/node/lib/websocket.js';

const well = async (one) => assert.deepEqual(await one.call('hub/ping'), {});

test('a body that is no message is nothing', () => having(PlayedHub.start(), async (hub) => {
  const one = await agent(hub.uri, 'one'), states = statesOf(one);
  one.method('m', () => 1);
  const bodies = ['null', 'true', '7', '"text"', '[]', '[{"jsonrpc":"2.0","method":"m","id":1}]', '{}', '{"id":1}', '{"method":7,"id":1}', '{"method":null}',
    '{"jsonrpc":"2.0","id":99,"result":1}', '{"jsonrpc":"2.0","id":"1","result":1}', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
    '{"jsonrpc":"2.0","id":{},"method":"m"}', '{"jsonrpc":"2.0","id":null,"method":"m"}', '{', 'x', '\uffff', '{"__proto__":{"method":"m"},"id":2}', '[[[[', `${'['.repeat(1e6)}`,
    '{"method":"hub/replaced"}', '{"method":"hub/replaced","params":{"agentId":{}}}', '{"method":"hub/dropped","params":7}', '{"method":"event"}',
    '{"method":"event","params":{"event":7}}', '{"method":"$/cancelRequest"}', '{"method":"$/cancelRequest","params":null}', '{"method":"$/progress","params":{"token":{}}}'];
  for (const body of bodies) hub.peer.send(body);
  await well(one);
  assert.deepEqual(states.filter((state) => state !== 'replaced'), []);
  hub.peer.send('{"jsonrpc":"2.0","id":5,"method":"m"}');
  await until('it answers', () => hub.messages.some(({ id, result }) => id === 5 && result === 1));
  await close(one);
}));

test('an answer of any form ends its call', () => {
  const answers = {
    neither: '{"id":ID}', nothing: '{"id":ID,"result":null}', both: '{"id":ID,"result":1,"error":{"code":-1,"message":"x"}}', text: '{"id":ID,"error":"text"}',
    code: '{"id":ID,"error":{"code":1.5,"message":7}}', broken: '{"id":ID,"result":[1,}', last: '{"result":{"a":[1 2},x],"id":ID}', proto: '{"id":ID,"error":{"__proto__":{"code":-5},"message":"x"}}',
  };
  return having(PlayedHub.start((message, peer) => {
    if (!(message.method in answers)) return {};
    peer.send(answers[message.method].replace('ID', message.id));
    return undefined;
  }), async (hub) => {
    const one = await client(hub.uri), codes = { neither: -32603, both: -1, text: -32603, code: -32603, broken: -32603, last: -32603, proto: -32603 };
    for (const [name, code] of Object.entries(codes)) assert.ok(await assertFails(one.call(name), code, name) instanceof HubError);
    assert.equal(await one.call('nothing'), null);
    await close(one);
  });
});

test('a request whose depths are no JSON is answered', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri);
  hub.peer.send('{"jsonrpc":"2.0","id":"a\\"b","method":"m","params":{"x":[1,}}');
  const { error } = await until('it is answered', () => hub.messages.find(({ id }) => id === 'a"b'));
  assert.equal(error.code, -32700);
  await close(one);
}));

test('bytes that are no frame end the connection, which is opened again', () => having(PlayedHub.start(), async (hub) => {
  const one = await client(hub.uri), states = statesOf(one);
  const broken = ['HTTP/1.1 400 Bad Request\r\n\r\n', 'Content-Length: 0\r\n\r\n', 'Content-Length: +5\r\n\r\n{"a":}', 'Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}', 'X: y\r\n\r\n{}',
    'Content-Length: 99999999999\r\n\r\n', 'Content-Length: 4294967296\r\n\r\n', ': x\r\n\r\n', 'Content-Length : 2\r\n\r\n{}', 'x'.repeat(70_000), '\r\n\r\n', 'Content-Length: 2\n\r\n\r\n{}'];
  for (const [at, bytes] of broken.entries()) {
    hub.peer.write(Buffer.from(bytes));
    await until(`${bytes.slice(0, 30)} ends it`, () => states.length === 2 * (at + 1));
    await well(one);
  }
  hub.peer.write(Buffer.from('content-length:  2 \r\nX-Other: ü\r\n\r\n{}', 'latin1'));
  await well(one);
  assert.equal(states.length, 2 * broken.length);
  await close(one);
}));

// More than the kernel's buffers and the client's bound hold together.
const FLOODS_MAX = 100;
for (const [what, bodiesOf] of [
  ['asks', (id) => [`{"jsonrpc":"2.0","id":"${id}","method":"none"}`]],
  ['says what is broken', (id) => [`{"jsonrpc":"2.0","id":"${id}","method":"m","params":[1,}`]],
  ['asks what is for the client itself', (id) => [`{"jsonrpc":"2.0","id":"${id}","method":"$/cancelRequest","params":{"id":"x"}}`]],
  ['takes back what waits', (id) => [`{"jsonrpc":"2.0","id":"${id}","method":"slow"}`, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"${id}"}}`]],
]) {
  test(`a hub that ${what}, and never reads, is left`, { timeout: 60_000 }, () => having(PlayedHub.start(), async (hub) => {
    const one = await client(hub.uri, { concurrency: 1 }), states = statesOf(one), { peer } = hub;
    one.method('slow', () => new Promise(() => {}));
    peer.socket.pause();
    const bodies = Array.from({ length: 5000 }, (_, n) => bodiesOf(`${'i'.repeat(200)}${n}`)).flat();
    const flood = Buffer.concat(bodies.map((body) => peer.wire.write(body)));
    for (let floods = 0; states.length === 0 && !peer.socket.destroyed; floods++) {
      assert.ok(floods < FLOODS_MAX, 'the client keeps all of its answers');
      await peer.write(flood);
    }
    await until('it is back', () => states.includes('connected'));
    await well(one);
    await close(one);
  }));
}

test('a hub that pings over WebSocket, and never reads, is left', () => {
  const pings = Buffer.concat(Array.from({ length: 2000 }, () => Buffer.concat([Buffer.from([0x89, 125]), Buffer.alloc(125)])));
  const server = createServer().listen(0, '127.0.0.1').on('upgrade', (request, socket) => {
    const proof = createHash('sha1').update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${proof}\r\n\r\n`);
    socket.on('error', () => {});
    flood(socket);
  });
  let bytes = 0;
  function flood(socket) {
    if (socket.destroyed || (bytes += pings.length) > 200 * 1024 * 1024) return;
    socket.write(pings, (error) => { if (!error) flood(socket); });
  }
  const stop = () => { server.closeAllConnections(); server.close(); };
  return having(once(server, 'listening').then(() => ({ stop })), async () => {
    assert.match((await failure(client(`ws://127.0.0.1:${server.address().port}`), 'the connection')).message, /does not read|lost/);
    assert.ok(bytes < 100 * 1024 * 1024, `${bytes} bytes`);
  });
});

// --- The readers, whatever pieces the bytes come in

function readAll(codec, bytes, cut) {
  const reader = codec.reader(1 << 20), bodies = [], replies = [];
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + cut());
    reader.take(bytes.subarray(at, end), (text, count) => bodies.push([text, count]), (reply) => replies.push(reply));
    at = end;
  }
  return { bodies, replies };
}

// Frames of a server, in fragments.
function served(text, fragments) {
  const payload = Buffer.from(text), size = Math.max(1, Math.ceil(payload.length / fragments)), frames = [];
  for (let at = 0; at < payload.length || frames.length === 0; at += size) {
    const part = payload.subarray(at, at + size), isLast = at + size >= payload.length;
    const head = part.length > 65535 ? [127, 0, 0, 0, 0, part.length >> 24, part.length >> 16, part.length >> 8, part.length] : part.length > 125 ? [126, part.length >> 8, part.length] : [part.length];
    frames.push(Buffer.from([(isLast ? 0x80 : 0) | (frames.length === 0 ? 1 : 0), ...head]), part, Buffer.from([0x89, 1, 0x70]));
  }
  return Buffer.concat(frames);
}

const TEXTS = ['{}', '{"text":"é€𝄞"}', JSON.stringify({ a: 'x'.repeat(126) }), JSON.stringify({ a: 'x'.repeat(70_000) }), '{"b":1}'];
const WIRES = {
  frames: [contentLength, Buffer.concat(TEXTS.map((text, at) => Buffer.from(`${at % 2 ? 'X-Field: 1\r\n' : ''}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)))],
  lines: [lines, Buffer.from(`\n${TEXTS.join('\n \r\n')}\r\n`)],
  websocket: [webSocket, Buffer.concat(TEXTS.map((text, at) => served(text, at + 1)))],
};
for (const [name, [codec, bytes]] of Object.entries(WIRES)) {
  test(`${name}: bodies are the same in whatever pieces they come`, () => {
    for (const cut of [() => bytes.length, () => 1, () => randomInt(1, 10), () => randomInt(1, 5000)]) {
      const { bodies, replies } = readAll(codec, bytes, cut);
      assert.deepEqual(bodies.map(([text]) => text.trim()), TEXTS);
      for (const [text, count] of bodies) assert.equal(count, Buffer.byteLength(text));
      if (name === 'websocket') assert.ok(replies.length >= TEXTS.length);
    }
  });
}

test('random bytes are a fault or nothing, never anything else', () => {
  for (let round = 0; round < 2000; round++) {
    const bytes = Buffer.from(Array.from({ length: randomInt(1, 60) }, () => randomInt(256)));
    for (const codec of [contentLength, lines, webSocket]) {
      try {
        readAll(codec, bytes, () => randomInt(1, 20));
      } catch (error) {
        assert.match(error.message, /^the hub sent /, error.stack);
      }
    }
  }
});

test('WebSocket: each fault is told with its code', () => {
  const faults = { 1002: ['c1017b', '8181', '8300', '0901', '897e0080', '800161', '01016101016 2'.replace(' ', '')], 1003: ['82017b'], 1007: ['8101ff'], 1009: ['817f0000000000200000'] };
  for (const [code, all] of Object.entries(faults)) {
    for (const hex of all) {
      assert.throws(() => readAll(webSocket, Buffer.from(hex, 'hex'), () => 100), (error) => {
        const { farewell } = error, mask = farewell.subarray(2, 6);
        assert.equal(farewell[0], 0x88);
        assert.equal((farewell[6] ^ mask[0]) << 8 | (farewell[7] ^ mask[1]), Number(code), hex);
        return true;
      });
    }
  }
  const reader = webSocket.reader(1 << 20), replies = [];
  assert.equal(reader.take(Buffer.from('880203e8', 'hex'), assert.fail, (reply) => replies.push(reply)), true);
  assert.equal(replies.length, 1);
  assert.throws(() => readAll(webSocket, Buffer.alloc(20_000, '0000', 'hex'), () => 1000), /the hub sent fragments/);
  const many = Buffer.concat([Buffer.from('010161', 'hex'), ...Array.from({ length: 5000 }, () => Buffer.from('0000', 'hex'))]);
  assert.throws(() => readAll(webSocket, many, () => 1000), /in more than 4096 fragments/);
});
