// Peers that send and don't read: their cost to the hub before a credential, with one, and over a limit.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { frame, within } from './peer.mjs';
import { known, tokenOf, withUsers } from './users.mjs';
import { Client, JSON_TYPE, request } from './web.mjs';
import { PING, upgrade, wsFrame } from './websocket.mjs';

const MIB = 1 << 20;
const users = { boss: { admin: true }, limited: { rate: '10/s' }, free: {} };
const options = ['--shards', '2', '--listen', 'tcp://127.0.0.1:0', '--max-queue', '256K'];
const ask = { jsonrpc: '2.0', id: 1, method: 'x' };

// Writes so many bytes and more, and reads nothing.
function flood(socket, piece, bytes) {
  const burst = Buffer.concat(Array.from({ length: Math.ceil(65536 / piece.length) }, () => piece));
  socket.pause();
  for (let sent = 0; sent < bytes; sent += burst.length) socket.write(burst);
  return Math.ceil(bytes / burst.length) * burst.length;
}

// How much the hub has received once it reads no more for a second.
async function settled(boss) {
  for (let before = -1, still = 0; ;) {
    const { result } = await boss.ask('hub/stats');
    still = result.bytes_received - before < 100_000 ? still + 1 : 0;
    if (still === 10) return result.bytes_received;
    before = result.bytes_received;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// A socket on the hub's HTTP, behind its upgrade to WebSocket.
async function webSocket(hub, ...fields) {
  const { hostname, port } = new URL(hub.uri('http')), socket = connect(Number(port), hostname);
  socket.write(upgrade(fields));
  const [head] = await once(socket, 'data');
  assert.match(head.toString('latin1'), /^HTTP\/1\.1 101 /);
  return socket;
}

const kinds = {
  'frames without a credential': [async (hub) => (await hub.peer('tcp')).socket, frame(ask)],
  'requests of HTTP without a credential': [async (hub) => (await Client.open(hub)).socket, request('POST /rpc', [JSON_TYPE], ask)],
  'GET /healthz': [async (hub) => (await Client.open(hub)).socket, request('GET /healthz')],
  'pings without a credential': [(hub) => webSocket(hub), wsFrame(PING, 'p'.repeat(125))],
  'pings over the rate': [(hub) => webSocket(hub, `Authorization: Bearer ${tokenOf('limited')}`), wsFrame(PING, 'p'.repeat(125))],
  'frames over the rate': [async (hub) => (await known(hub, 'limited', 'tcp')).socket, frame(ask)],
};

for (const [kind, [open, piece]] of Object.entries(kinds))
  withUsers(`${kind} are read no further than their answers are`, users, { transport: 'http', options }, async (hub) => {
    const boss = await known(hub, 'boss', 'tcp'), socket = await open(hub);
    const sent = flood(socket, piece, 64 * MIB), received = await settled(boss);
    assert.ok(received < 32 * MIB, `${received} of ${sent} bytes were read`); // what the kernel's buffers hold of answers
    socket.destroy();
  });

withUsers('who was held back and reads is read on', users, { transport: 'http', options }, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp'), limited = await known(hub, 'limited', 'tcp');
  let answered = 0;
  const count = 200_000, bytes = frame(ask);
  limited.socket.removeAllListeners('data');
  const sent = flood(limited.socket, bytes, count * bytes.length);
  const before = await settled(boss);
  assert.ok(before < sent);
  const all = new Promise((resolve) => limited.socket.on('data', (data) => {
    answered += data.toString('latin1').split('Content-Length').length - 1;
    if (answered >= sent / bytes.length - 100) resolve(); // a name may be cut by the end of what came
  }));
  limited.socket.resume();
  await within(all, 'the answers');
});

withUsers('who is known and reads nothing is closed once four times its queue, or 16 MiB, wait', users, { transport: 'tcp', options }, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp'), free = await known(hub, 'free', 'tcp');
  flood(free.socket, frame({ ...ask, method: 'hub/ping', params: { pad: 'x'.repeat(2000) } }), 256 * MIB);
  const { result } = await within((async () => {
    for (;;) {
      const answer = await boss.ask('hub/stats');
      if (answer.result.closed_slow_readers) return answer;
    }
  })(), 'the reader to be closed');
  assert.ok(result.bytes_received < 128 * MIB, `${result.bytes_received} bytes were read`);
  free.socket.destroy();
});

withUsers('of an array so many members are answered before one that bears a credential, and the rest by one answer', users, { options }, async (hub) => {
  const array = (count, at) => Array.from({ length: count }, (_, index) => (index === at
    ? { jsonrpc: '2.0', id: index, method: 'initialize', params: { token: tokenOf('free') } } : { jsonrpc: '2.0', id: index, method: 'hub/ping' }));
  const stranger = await hub.peer('tcp');
  stranger.send(array(200, -1));
  const refused = JSON.parse((await stranger.next()).body);
  assert.equal(refused.length, 65);
  assert.deepEqual(refused.map(({ id, error }) => [id, error.code]), [...Array.from({ length: 64 }, (_, index) => [index, -32054]), [null, -32054]]);
  assert.equal(refused[64].error.data.limit, 64);
  const late = await hub.peer('tcp');
  late.send(array(200, 64));
  assert.equal(JSON.parse((await late.next()).body).length, 65);
  const early = await hub.peer('tcp');
  early.send(array(200, 63));
  const answers = JSON.parse((await early.next()).body);
  assert.equal(answers.length, 200);
  assert.deepEqual(answers.filter(({ error }) => error).map(({ id }) => id), Array.from({ length: 63 }, (_, index) => index));
});
