// The memory that the hub holds for what isn't whole or isn't over. These are frames that are half there, arrays and
// pipelined requests that wait for one answer more, and messages that the gate holds. What is measured is resident
// memory.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { scenario } from './hub.mjs';
import { frame } from './peer.mjs';
import { known, withUsers } from './users.mjs';
import { JSON_TYPE, request } from './web.mjs';

const KIB = 1 << 10, MIB = 1 << 20;
const resident = (hub) => Number(readFileSync(`/proc/${hub.process.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) * KIB;
const plain = { shards: [1], transports: ['tcp'] };

async function open(hub, scheme) {
  const { hostname, port } = new URL(hub.uri(scheme)), socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

const ask = (id) => ({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent: 'target' } });

// Returns the most by which the hub's memory has grown while `work` ran.
async function growth(hub, work) {
  const before = resident(hub);
  let peak = before;
  const looks = setInterval(() => { peak = Math.max(peak, resident(hub)); }, 5);
  await work();
  clearInterval(looks);
  return Math.max(peak, resident(hub)) - before;
}

withUsers('a frame that is half there without a credential holds 96 KiB at most for each connection', { boss: { admin: true } }, {},
  async (hub) => {
    const boss = await known(hub, 'boss', 'tcp'), sockets = [], COUNT = 64, FRAME = 64 * KIB;
    await boss.ask('hub/stats');
    const grown = await growth(hub, async () => {
      for (let count = 0; count < COUNT; count++) {
        const socket = await open(hub, 'tcp');
        socket.write(Buffer.concat([Buffer.from(`Content-Length: ${FRAME}\r\n\r\n`), Buffer.alloc(FRAME - 1, ' ')]));
        sockets.push(socket);
      }
      while ((await boss.ask('hub/stats')).result.bytes_received < COUNT * FRAME);
    });
    assert.ok(grown <= COUNT * 96 * KIB, `${Math.round(grown / COUNT / KIB)} KiB a connection`);
    for (const socket of sockets) socket.destroy();
  });

// The target answers all of `count` requests with 500 KB each, but for one.
async function answerButOne(target, count) {
  const requests = [];
  while (requests.length < count) requests.push((await target.find((body) => body.json.method === 'work', 'work')).json);
  for (const { id } of requests.slice(1)) target.send({ jsonrpc: '2.0', id, result: 'x'.repeat(500_000) });
}

for (const [kind, scheme, piece] of [
  ['an array', 'tcp', (count) => frame(Array.from({ length: count }, (_, id) => ask(id)))],
  ['pipelined requests', 'http', (count) => Buffer.concat(Array.from({ length: count }, (_, id) => Buffer.from(request('POST /rpc', [JSON_TYPE], ask(id)))))],
])
  scenario(`${kind} that wait for one answer more hold 24 MiB at most`,
    { ...plain, options: ['--max-queue', '256K', '--http', '127.0.0.1:0'] }, async (hub) => {
      const target = await hub.agent('target'), other = await hub.agent('other'), COUNT = 100;
      const grown = await growth(hub, async () => {
        const socket = await open(hub, scheme);
        socket.resume();
        socket.write(piece(COUNT));
        await answerButOne(target, COUNT);
        while ((await other.ask('hub/stats')).result.responses_received < COUNT - 1);
      });
      assert.ok(grown <= 24 * MIB, `${(grown / MIB).toFixed(1)} MiB`);
    });

scenario('messages that the gate holds take a quarter of --max-memory at most',
  { ...plain, options: ['--gate', 'manual', '--max-memory', '64M', '--max-held', '4000'] }, async (hub) => {
    await hub.agent('target');
    const source = await hub.peer('tcp'), other = await hub.peer('tcp'), COUNT = 400;
    let refused = 0;
    const grown = await growth(hub, async () => {
      for (let id = 0; id < COUNT; id++)
        source.send({ ...ask(id), params: { targetAgent: 'target', x: 'x'.repeat(100_000) } }, 'Governance-Level: manual');
      while (!refused) refused += 'error' in (await source.next()).json;
      await other.ask('hub/ping');
    });
    assert.ok(grown <= 16 * MIB, `${(grown / MIB).toFixed(1)} MiB`);
  });

scenario('peers that send more than the hub reads leave its memory, and receive buffers for others', plain, async (hub) => {
  const witness = await hub.peer('tcp'), COUNT = 200, sockets = [];
  const pings = Buffer.concat(Array.from({ length: 1500 }, (_, id) => frame({ jsonrpc: '2.0', id, method: 'hub/ping' })));
  for (let count = 0; count < COUNT; count++) sockets.push(await open(hub, 'tcp'));
  for (const socket of sockets) {
    socket.write(pings);
    socket.resume();
  }
  let now, most = 0;
  do {
    now = (await witness.ask('hub/stats')).result;
    most = Math.max(most, now.receive_buffers);
  } while (now.bytes_received < COUNT * pings.length);
  assert.ok(most <= 256, `${most} receive buffers`);
  for (const socket of sockets) socket.destroy();
});
