// Faults survived for real: processes killed in the middle of a frame, connections reset by the thousand, no descriptor
// or memory left. Also a hub that stands still for a while. Each time the others are served meanwhile, requests to the
// lost ones end, and afterwards all is as before.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { dial, scenario } from './hub.mjs';
import { assertError, frame, requestText, within } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };
const VICTIM = fileURLToPath(new URL('victim.mjs', import.meta.url));

async function stats(peer) {
  return (await peer.ask('hub/stats')).result;
}

// Asks until the counters are as wanted; each asking is a round trip, so there is nothing to sleep for.
async function until(peer, wanted, what) {
  const give_up = Date.now() + 20_000;
  for (;;) {
    const now = await stats(peer);
    if (wanted(now)) return now;
    assert.ok(Date.now() < give_up, `${what}: ${JSON.stringify(now)}`);
  }
}

async function victim(hub, agentId, mode) {
  const child = spawn(process.execPath, [VICTIM, hub.uri(), agentId, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ready = new Promise((resolve, reject) => {
    child.stdout.on('data', resolve);
    child.once('exit', (code) => reject(new Error(`the victim ended with ${code}`)));
  });
  ready.catch(() => {});
  child.gone = new Promise((resolve) => child.once('exit', resolve));
  await within(ready, `${agentId} to be ready`);
  return child;
}

scenario('agents killed in the middle of a frame, deaf, or in full flood', EVERYWHERE, async (hub) => {
  (await hub.agent('good')).serve(() => 'good');
  const source = await hub.peer();
  const modes = ['mid-frame', 'deaf', 'flood'];
  const children = await Promise.all(modes.map((mode) => victim(hub, mode, mode)));
  try {
    // For the agent that reads nothing, one frame waits in the queue, and some frames have gone.
    for (const [n, mode] of modes.entries()) source.send(requestText(n, 'm', { targetAgent: mode, filler: 'x'.repeat(200_000) }));
    for (let n = 0; n < 20; n++) assert.equal((await source.ask('m', { targetAgent: 'good' })).result, 'good');
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
  await Promise.all(children.map((child) => child.gone));
  const ended = new Set();
  while (ended.size < 3) {
    const answer = (await source.next('the end of what a killed agent owed')).json;
    // A peer that floods itself and reads too little is closed by the hub, perhaps before it is killed.
    const codes = answer.id === 2 ? [-32050, -32052, -32010] : [-32050, -32052];
    assert.ok(codes.includes(answer.error?.code), JSON.stringify(answer));
    ended.add(answer.id);
  }
  await until(source, (now) => now.connections === 2 && now.agents === 1, 'the dead are gone');
  for (const mode of modes) assertError(await source.ask('m', { targetAgent: mode }), -32010);
});

scenario('3,000 connections, reset in the middle of what they say', { ...EVERYWHERE, transports: ['tcp'] }, async (hub) => {
  (await hub.agent('good')).serve(() => 'good');
  const source = await hub.peer();
  const before = await stats(source);
  const bytes = Buffer.concat([
    frame(requestText(1, 'm', { targetAgent: 'good' })),
    frame(requestText(2, 'agent/register', { agentId: 'passing' })),
    frame(requestText(3, 'm', { targetAgent: 'good', filler: 'x'.repeat(40_000) })),
  ]);
  for (let round = 0; round < 60; round++) {
    const peers = await Promise.all(Array.from({ length: 50 }, () => dial(hub.uri())));
    await Promise.all(peers.map((peer, n) => peer.write(bytes.subarray(0, (n * 907 + round * 131) % bytes.length))));
    for (const peer of peers) peer.socket.resetAndDestroy();
    assert.equal((await source.ask('m', { targetAgent: 'good' })).result, 'good');
  }
  const after = await until(source, (now) => now.connections === 2 && now.agents === 1, 'all are gone');
  assert.equal(after.connections_opened - before.connections_opened, 3000);
  assert.equal(after.connections_closed - before.connections_closed, 3000);
});

// The limit is enough for the start, and the hub inherits descriptors that it can't know of when it bounds its connections.
const FEW_DESCRIPTORS = ['prlimit', '--nofile=60', 'bash', '-c', 'for ((n = 10; n < 54; n++)); do eval "exec $n</dev/null"; done; exec "$@"', 'hub'];

scenario('no descriptor left: who is in is served, who waits comes in when there is room again', { ...EVERYWHERE, under: FEW_DESCRIPTORS }, async (hub) => {
  (await hub.agent('good')).serve(() => 'good');
  const source = await hub.peer();
  const before = await stats(source);
  const crowd = await Promise.all(Array.from({ length: 60 }, () => dial(hub.uri())));
  await until(source, (now) => now.accepts_failed > before.accepts_failed, 'an accept fails');
  const asking = crowd.map((peer) => peer.ask('m', { targetAgent: 'good' }));
  for (const one of asking) one.catch(() => {});
  const failed = (await stats(source)).accepts_failed, began = Date.now();
  for (let n = 0; n < 100; n++) assert.equal((await source.ask('m', { targetAgent: 'good' })).result, 'good');
  const tried = (await stats(source)).accepts_failed - failed;
  assert.ok(tried < 50 + (Date.now() - began) / 20, 'the hub tries again and again');
  // As those inside leave, those outside come in.
  const served = new Set();
  while (served.size < crowd.length) {
    const [index] = await within(Promise.race(asking.map(async (one, n) => (served.has(n) ? new Promise(() => {}) : [n, await one]))),
      `the next of ${crowd.length - served.size}`);
    served.add(index);
    crowd[index].drop();
  }
  assert.equal((await source.ask('m', { targetAgent: 'good' })).result, 'good');
  assert.match(hub.stderr, /^patchbayd: no file descriptor is left/m);
});

// Peers that leave large frames unfinished hold memory: as much as the hub may have, in the end.
scenario('no memory left: it is the large frames that wait, and all is well when they are gone',
  { ...EVERYWHERE, options: ['--max-memory', '16M', '--frame-timeout', '60s'] }, async (hub) => {
    (await hub.agent('good')).serve(() => 'good');
    const source = await hub.peer();
    const bytes = frame(requestText(1, 'm', { targetAgent: 'good', filler: 'x'.repeat(3_900_000) }));
    const holders = [];
    for (let n = 0; n < 8; n++) {
      const peer = await dial(hub.uri());
      holders.push(peer);
      peer.write(bytes.subarray(0, 2_000_000));
      // A small one may find the last of the memory taken for a moment; then it is refused, and served in the next.
      let answer;
      do answer = await source.ask('m', { targetAgent: 'good' });
      while (answer.error?.code === -32052 && !peer.closed);
      assert.equal(answer.result, 'good', `with ${n} unfinished frames: ${JSON.stringify(answer)}`);
      assert.ok((await stats(source)).buffer_bytes <= 16 << 20);
    }
    await until(source, (now) => now.receives_without_buffer > 0, 'somebody waits for memory');
    for (const peer of holders) peer.drop();
    await until(source, (now) => now.connections === 2, 'all are gone');
    const again = await hub.peer();
    again.write(bytes);
    assert.equal((await again.next('the answer to a large request')).json.result, 'good');
  });

scenario('a hub that stands still for a while has lost nothing', EVERYWHERE, async (hub) => {
  (await hub.agent('good')).serve((message) => message.params.n);
  const sources = await Promise.all(Array.from({ length: 20 }, () => hub.peer()));
  hub.process.kill('SIGSTOP');
  for (const source of sources) {
    for (let n = 0; n < 200; n++) source.send(requestText(n, 'm', { targetAgent: 'good', n, filler: 'x'.repeat(n) }));
  }
  const late = await Promise.all(Array.from({ length: 200 }, () => dial(hub.uri())));
  for (const [n, peer] of late.entries()) {
    peer.send(requestText(n, 'hub/ping', n));
    if (n % 3 === 0) peer.drop();
  }
  hub.process.kill('SIGCONT');
  for (const source of sources) {
    for (let n = 0; n < 200; n++) assert.deepEqual((await source.next(`answer ${n}`)).json, { jsonrpc: '2.0', id: n, result: n });
  }
  for (const [n, peer] of late.entries()) {
    if (n % 3 !== 0) assert.equal((await peer.next()).json.result, n);
    peer.drop();
  }
});

// The clock leaps while the hub doesn't run, as it does for one that was suspended: all that is due is due at once.
scenario('the clock leaps', { shards: [1, 2], transports: ['tcp'], options: ['--request-timeout', '200ms', '--frame-timeout', '200ms'] }, async (hub) => {
  const target = await hub.agent('target');
  const sources = await Promise.all(Array.from({ length: 10 }, () => hub.peer()));
  for (const source of sources) {
    for (let n = 0; n < 100; n++) source.send(requestText(n, 'm', { targetAgent: 'target', n }));
  }
  const half = await hub.peer();
  half.write('Content-Length: 10\r\n\r\n{');
  await target.next('a request');
  hub.process.kill('SIGSTOP');
  const stopped = Date.now();
  await within(new Promise((resolve) => {
    const look = () => (Date.now() - stopped > 1000 ? resolve() : setImmediate(look));
    look();
  }), 'a second to pass');
  hub.process.kill('SIGCONT');
  for (const source of sources) {
    for (let n = 0; n < 100; n++) assertError((await source.next()).json, -32051);
    await source.silent('all of them');
  }
  await half.gone();
  const ended = (await stats(sources[0])).requests_timed_out;
  assert.equal(ended, 1000);
});

// More arrivals at once than the ring has room for completions (16,384): what doesn't fit is kept by the kernel and comes
// later. The hub stands still until all of them are there.
scenario('more arrivals at once than there are completions', { shards: [1], transports: ['unix'] }, async (hub) => {
  const count = 17_000;
  const watcher = await hub.peer();
  const peers = [];
  while (peers.length < count) {
    const some = Math.min(500, count - peers.length);
    peers.push(...await Promise.all(Array.from({ length: some }, () => hub.peer())));
  }
  await until(watcher, (now) => now.connections === count + 1, 'all are there');
  hub.process.kill('SIGSTOP');
  await Promise.all(peers.map((peer, n) => peer.send(requestText(n, 'hub/ping', n))));
  hub.process.kill('SIGCONT');
  for (const [n, peer] of peers.entries()) assert.equal((await peer.next()).json.result, n);
  await watcher.silent('all of it');
});
