// Peers that send and don't read, by the memory that the hub has for each: before a credential and over a limit, on each
// transport. What is measured is resident memory, so that buffers count that nothing else does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import tls from 'node:tls';
import { serving, trusted } from './certificates.mjs';
import { frame } from './peer.mjs';
import { known, tokenOf, withUsers } from './users.mjs';
import { JSON_TYPE, request } from './web.mjs';
import { PING, TEXT, upgrade, wsFrame } from './websocket.mjs';

const KIB = 1 << 10, PEERS = 40, SECONDS = 1.5;
const users = { boss: { admin: true }, limited: { rate: '10/s', connections: 100 } };
const options = ['--shards', '2', '--listen', 'tcp://127.0.0.1:0', '--listen', 'tcp-lines://127.0.0.1:0', ...serving,
  '--listen', 'tls://127.0.0.1:0', '--max-memory', '256M'];
const ask = { jsonrpc: '2.0', id: 1, method: 'x' };
const token = () => ({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { token: tokenOf('limited') } });

const resident = (hub) => Number(readFileSync(`/proc/${hub.process.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) * KIB;

async function plain(hub, scheme) {
  const { hostname, port } = new URL(hub.uri(scheme)), socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

async function secure(hub) {
  const { hostname, port } = new URL(hub.uri('tls'));
  const socket = tls.connect({ host: hostname, port: Number(port), ca: trusted });
  await once(socket, 'secureConnect');
  return socket;
}

async function webSocket(hub, ...fields) {
  const socket = await plain(hub, 'http');
  socket.write(upgrade(fields));
  const [head] = await once(socket, 'data');
  assert.match(head.toString('latin1'), /^HTTP\/1\.1 101 /);
  return socket;
}

// Has a socket show the credential of the user with limits.
async function shown(socket) {
  socket.write(frame(token()));
  await once(socket, 'data');
  return socket;
}

const kinds = {
  'frames without a credential': [(hub) => plain(hub, 'tcp'), frame(ask)],
  'lines without a credential': [(hub) => plain(hub, 'tcp-lines'), Buffer.from(`${JSON.stringify(ask)}\n`)],
  'frames over TLS without a credential': [secure, frame(ask), 256],
  'messages of WebSocket without a credential': [(hub) => webSocket(hub), wsFrame(TEXT, JSON.stringify(ask))],
  'pings without a credential': [(hub) => webSocket(hub), wsFrame(PING, 'p'.repeat(125))],
  'pings of nothing without a credential': [(hub) => webSocket(hub), wsFrame(PING, '')],
  'requests of HTTP without a credential': [(hub) => plain(hub, 'http'), request('POST /rpc', [JSON_TYPE], ask)],
  'GET /healthz': [(hub) => plain(hub, 'http'), request('GET /healthz')],
  'arrays without a credential': [(hub) => plain(hub, 'tcp'), frame(Array(1000).fill(ask))],
  'arrays over TLS without a credential': [secure, frame(Array(1000).fill(ask)), 384],
  'frames over the rate': [async (hub) => shown(await plain(hub, 'tcp')), frame(ask)],
  'frames over TLS over the rate': [async (hub) => shown(await secure(hub)), frame(ask), 256],
  'pings over the rate': [(hub) => webSocket(hub, `Authorization: Bearer ${tokenOf('limited')}`), wsFrame(PING, 'p'.repeat(125))],
  'arrays over the rate': [async (hub) => shown(await plain(hub, 'tcp')), frame(Array(1000).fill(ask)), 640],
};

// Fills the hub for a while, and never has more than a burst wait here.
function flood(socket, piece, until) {
  const burst = Buffer.concat(Array.from({ length: Math.ceil(65536 / piece.length) }, () => piece));
  socket.pause();
  socket.on('error', () => {});
  const go = () => {
    while (Date.now() < until && !socket.destroyed && socket.write(burst));
    if (Date.now() < until && !socket.destroyed) socket.once('drain', go);
  };
  go();
}

for (const [kind, [open, piece, most = 192]] of Object.entries(kinds))
  withUsers(`${kind} that nobody reads hold ${most} KiB at most for each connection`, users, { transport: 'http', options }, async (hub) => {
    const boss = await known(hub, 'boss', 'tcp');
    await boss.ask('hub/stats');
    const before = resident(hub), sockets = [];
    for (let count = 0; count < PEERS; count++) sockets.push(await open(hub));
    const until = Date.now() + SECONDS * 1000;
    for (const socket of sockets) flood(socket, piece, until);
    let peak = 0;
    while (Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      peak = Math.max(peak, resident(hub) - before);
    }
    assert.ok('result' in await boss.ask('hub/stats'));
    assert.ok(peak <= PEERS * most * KIB, `${Math.round(peak / PEERS / KIB)} KiB a connection`);
    for (const socket of sockets) socket.destroy();
  });
