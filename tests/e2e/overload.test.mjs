// Overload: a slow reader suffers, and nobody else. The hub's memory stays within its bound, and near that the slowest
// readers are closed first. Large frames wait when memory is used up. One full queue holds up no other.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { scenario } from './hub.mjs';
import { assertError, frame, requestText } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };
const BOUND = 32 << 20;
const TIGHT = { ...EVERYWHERE, options: ['--max-memory', '32M', '--max-queue', '64M'] };

// Lets this process read, too: a write that the kernel takes at once doesn't.
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function stats(peer) {
  return (await peer.ask('hub/stats')).result;
}

// Texts of the hub's own and parcels are counted but never refused.
function within_bound(now) {
  assert.ok(now.buffer_bytes <= BOUND + BOUND / 8, `${now.buffer_bytes} bytes are held`);
}

// An agent that never reads.
async function deaf_agent(hub, agentId) {
  const agent = await hub.agent(agentId);
  agent.socket.pause();
  return agent;
}

scenario('near the memory bound the slowest readers are closed, the others served', TIGHT, async (hub) => {
  (await hub.agent('good')).serve(() => 'good');
  const deaf = await Promise.all(['deaf-1', 'deaf-2', 'deaf-3', 'deaf-4'].map((name) => deaf_agent(hub, name)));
  const [witness, bystander, flooder] = [await hub.peer(), await hub.peer(), await hub.peer()];
  const ended = { gone: 0, unknown: 0, full: 0 };
  let asked = 0, stop = false;
  const flood = (async () => {
    while (!stop && !flooder.closed) {
      const targetAgent = `deaf-${1 + ((asked >> 3) % 4)}`;
      await flooder.write(Buffer.concat(Array.from({ length: 8 }, () =>
        frame(requestText(asked++, 'm', { targetAgent, filler: 'x'.repeat(60_000) })))));
      await turn();
    }
  })();
  let rounds = 0, now;
  do {
    assert.equal((await bystander.ask('m', { targetAgent: 'good', n: rounds++ })).result, 'good');
    now = await stats(witness);
    within_bound(now);
  } while (now.closed_slow_readers < 4 && rounds < 100_000);
  stop = true;
  await flood;
  assert.equal(now.closed_slow_readers, 4, JSON.stringify(now));
  assert.equal(now.closed_no_memory, 0);
  for (let n = 0; n < asked; n++) {
    const { error } = (await flooder.next(`the end of request ${n} of ${asked}`)).json;
    ended[{ '-32050': 'gone', '-32010': 'unknown', '-32052': 'full' }[error.code]]++;
  }
  assert.equal(ended.gone + ended.unknown + ended.full, asked, JSON.stringify(ended));
  for (const agent of deaf) {
    agent.socket.resume();
    await agent.gone('a slow reader to be closed');
  }
  assert.equal((await bystander.ask('m', { targetAgent: 'good' })).result, 'good');
});

scenario('sources that never read their answers are closed, the target and the others served', TIGHT, async (hub) => {
  (await hub.agent('good')).serve((message) => message.params.filler ?? 'good');
  const [witness, bystander] = [await hub.peer(), await hub.peer()];
  const greedy = [await hub.peer(), await hub.peer()];
  const bytes = Buffer.concat(Array.from({ length: 16 }, (_, n) =>
    frame(requestText(n, 'm', { targetAgent: 'good', filler: 'x'.repeat(60_000) }))));
  const floods = greedy.map(async (peer) => {
    peer.socket.pause();
    while (!peer.closed && !peer.socket.destroyed) {
      await peer.write(bytes);
      await turn();
    }
  });
  let rounds = 0, now;
  do {
    assert.equal((await bystander.ask('m', { targetAgent: 'good' })).result, 'good');
    now = await stats(witness);
    within_bound(now);
  } while (now.closed_slow_readers < 2 && rounds++ < 100_000);
  assert.equal(now.closed_slow_readers, 2, JSON.stringify(now));
  for (const peer of greedy) {
    peer.socket.resume();
    await peer.gone('a greedy source to be closed');
    peer.drop();
  }
  await Promise.all(floods);
  assert.equal((await bystander.ask('m', { targetAgent: 'good' })).result, 'good');
});

scenario('a full queue holds up no other target', { ...EVERYWHERE, options: ['--max-queue', '1M'] }, async (hub) => {
  (await hub.agent('good')).serve((message) => message.params.n);
  await deaf_agent(hub, 'deaf');
  const source = await hub.peer();
  const filler = 'x'.repeat(30_000);
  const results = [], refused = [];
  for (let n = 0; n < 600; n++) {
    source.write(Buffer.concat([
      frame(requestText(`deaf-${n}`, 'm', { targetAgent: 'deaf', filler })),
      frame(requestText(n, 'm', { targetAgent: 'good', n })),
    ]));
  }
  // The refusals come from the other shard, maybe later.
  while (results.length < 600 || refused.length <= 100) {
    const answer = (await source.next(`answer ${results.length}`)).json;
    if (typeof answer.id === 'number') results.push(answer.result);
    else refused.push(assertError(answer, -32052));
  }
  assert.deepEqual(results, Array.from({ length: 600 }, (_, n) => n));
  // Whichever shard found it full.
  for (const { data } of refused) assert.equal(data.agent, 'deaf', JSON.stringify(data));
});

scenario('large frames that stop half-way hold up large frames alone, until their time is up',
  { ...EVERYWHERE, options: ['--max-memory', '32M', '--frame-timeout', '2s'] }, async (hub) => {
    (await hub.agent('good')).serve(() => 'good');
    const [witness, bystander] = [await hub.peer(), await hub.peer()];
    const half = frame(requestText(1, 'm', { targetAgent: 'good', filler: 'x'.repeat(8_000_000) })).subarray(0, 100_000);
    const holders = await Promise.all([1, 2, 3].map(() => hub.peer()));
    for (const holder of holders) await holder.write(half);
    await witness.ask('hub/ping');
    const late = await hub.peer();
    late.send(requestText('late', 'm', { targetAgent: 'good', filler: 'x'.repeat(8_000_000) }));
    let now;
    do {
      assert.equal((await bystander.ask('m', { targetAgent: 'good' })).result, 'good');
      now = await stats(witness);
      within_bound(now);
    } while (now.receives_without_buffer === 0 && late.frames.length === 0);
    assert.equal(late.frames.length, 0, 'the large frame had to wait');
    for (const holder of holders) await holder.gone('one that stopped half-way to be closed');
    // The request began to wait when the others had begun to hold, so only the rest of its own time is left.
    const answer = await late.next('the answer to the large frame').catch(() => null);
    assert.ok(answer === null || answer.json.result === 'good');
    const again = await hub.peer();
    again.send(requestText('again', 'm', { targetAgent: 'good', filler: 'x'.repeat(8_000_000) }));
    assert.equal((await again.next()).json.result, 'good');
  });

scenario('large frames that wait until nobody can be served are given up',
  { ...EVERYWHERE, options: ['--max-memory', '16M', '--frame-timeout', '60s'] }, async (hub) => {
    (await hub.agent('good')).serve(() => 'good');
    const source = await hub.peer();
    const half = frame(requestText(1, 'm', { targetAgent: 'good', filler: 'x'.repeat(3_900_000) })).subarray(0, 2_000_000);
    const holders = await Promise.all(Array.from({ length: 40 }, () => hub.peer()));
    for (const holder of holders) holder.write(half);
    let now;
    do {
      assert.equal((await source.ask('m', { targetAgent: 'good' })).result, 'good');
      now = await stats(source);
      assert.ok(now.buffer_bytes <= 18 << 20, `${now.buffer_bytes} bytes are held`);
    } while (now.closed_no_memory === 0);
    assert.ok(now.receives_without_buffer > 0);
    for (const holder of holders) holder.drop();
    assert.equal((await source.ask('m', { targetAgent: 'good' })).result, 'good');
  });

scenario('answers that wait in batches for one that does not come are given up near the memory bound, and the others served',
  { ...EVERYWHERE, options: ['--max-memory', '16M'] }, async (hub) => {
    const silent = await hub.agent('silent');
    (await hub.agent('good')).serve(() => 'good');
    const witness = await hub.peer();
    const member = (id, method, params) => requestText(id, method, params);
    const batch = frame(`[${member(1, 'm', { targetAgent: 'silent' })},${member(2, 'hub/ping', ['x'.repeat(900_000)])}]`);
    const little = frame(`[${member(1, 'm', { targetAgent: 'silent' })},${member(2, 'hub/ping', ['x'.repeat(9_000)])}]`);
    const holders = await Promise.all(Array.from({ length: 60 }, () => hub.peer()));
    // The last ones hold much in many batches.
    holders.forEach((holder, n) => holder.write(n < 50 ? batch : Buffer.concat(Array(100).fill(little))));
    let now;
    do {
      const answer = await witness.ask('m', { targetAgent: 'good', filler: 'x'.repeat(100_000) });
      assert.equal(answer.result, 'good');
      now = await stats(witness);
      assert.ok(now.buffer_bytes <= 18 << 20, `${now.buffer_bytes} bytes are held`);
      // A message that finds no memory at once is refused. A connection that holds memory too long is closed.
    } while (now.closed_no_memory + now.errors_by_hub < 40);
    for (const holder of holders) holder.drop();
    silent.drop();
    assert.equal((await witness.ask('m', { targetAgent: 'good' })).result, 'good');
  });

// Four shards take and give back by turns: what the allocator keeps for one, the others can't have.
scenario('resident memory stays near the bound while subscribers on many shards read nothing',
  { shards: [4], options: ['--max-memory', '64M'] }, async (hub) => {
    const readers = await Promise.all(Array.from({ length: 200 }, () => hub.peer()));
    for (const reader of readers) {
      await reader.ask('hub/subscribe', { events: ['*'] });
      reader.socket.pause();
    }
    const publishers = await Promise.all(Array.from({ length: 8 }, () => hub.peer()));
    const events = Buffer.concat(Array.from({ length: 500 }, (_, n) =>
      frame({ method: 'event', params: { event: `e${n}`, data: 'x'.repeat(1000) } })));
    const end = Date.now() + 4000;
    await Promise.all(publishers.map(async (publisher) => {
      while (Date.now() < end && !publisher.closed) {
        await publisher.write(events);
        await turn();
      }
    }));
    const about = (file) => readFileSync(`/proc/${hub.process.pid}/${file}`, 'latin1');
    const peak = 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(about('status'))[1]);
    // A sanitizer holds on to what the hub has given back.
    assert.ok(peak <= 120 << 20 || /lib[at]san/.test(about('maps')), `${peak} bytes were resident`);
    for (const publisher of publishers) assert.equal(publisher.closed, false, 'a publisher was closed');
    for (const reader of readers) reader.drop();
  });

scenario('what a burst needed goes back, though nobody has anything to do afterwards', EVERYWHERE, async (hub) => {
  const witness = await hub.peer();
  const rest = (await stats(witness)).buffer_bytes;
  const [reader, ...sources] = await Promise.all(Array.from({ length: 4 }, () => hub.peer()));
  await reader.register('reader', { events: ['burst'] });
  reader.socket.pause();
  const event = frame({ method: 'event', params: { event: 'burst', filler: 'x'.repeat(16_000) } });
  for (const peer of sources) await peer.write(Buffer.concat(Array.from({ length: 60 }, () => event)));
  while ((await stats(witness)).events_received < 180) await turn();
  assert.ok((await stats(witness)).buffer_bytes > rest + (1 << 20));
  reader.socket.resume();
  for (let n = 0; n < 180; n++) await reader.next('an event');
  // The witness keeps one shard alone awake.
  const until = Date.now() + 10_000;
  let now;
  do now = (await stats(witness)).buffer_bytes;
  while (now > rest + (256 << 10) && Date.now() < until);
  assert.ok(now <= rest + (256 << 10), `${now} bytes are held, and ${rest} were before`);
});

scenario('a large batch takes no memory but its own', EVERYWHERE, async (hub) => {
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${hub.process.pid}/status`, 'latin1'))[1]) << 10;
  const peer = await hub.peer();
  await peer.silent('nothing');
  const before = resident();
  peer.send(`[${'1,'.repeat(8_000_000)}1]`);
  assertError((await peer.next('the refusal of a large batch')).json, -32600);
  assert.ok(resident() < before + (64 << 20), `${resident()} bytes are resident, and ${before} were before`);
});
