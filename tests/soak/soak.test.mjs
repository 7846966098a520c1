// Minutes of mixed load (SOAK_SECONDS, 10 by default) with peers that die, stall, send garbage and come back. All
// along, peers that keep to the rules are served, and each of their requests ends once and rightly. In the end the hub
// holds no more than at the beginning, and its counters add up.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Hub, dial } from '../e2e/hub.mjs';
import { frame, requestText } from '../e2e/peer.mjs';

const SECONDS = Number(process.env.SOAK_SECONDS ?? 10);
const OPTIONS = ['--max-memory', '64M', '--max-queue', '1M', '--frame-timeout', '2s', '--request-timeout', '3s', '--takeover'];
const ENDS = ['responses_forwarded', 'requests_timed_out', 'requests_abandoned_by_source', 'requests_ended_by_target_leaving',
  'requests_cancelled_in_queue'];

let state = Number(process.env.SOAK_SEED ?? 1);
function pick(below) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const filler = (bytes) => 'x'.repeat(bytes);
const size = () => (pick(20) ? pick(3000) : pick(3) ? pick(60_000) : pick(600_000));

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

function rss(hub) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${hub.process.pid}/status`, 'utf8'))[1]) * 1024;
}

async function stats(peer) {
  return (await peer.ask('hub/stats')).result;
}

// --- Those who keep to the rules

// Asks agents that are there, and some that may be: each answer must be the right one.
async function source(hub, run, books) {
  const peer = await dial(hub.uri(pick(2) ? 'tcp' : 'unix'));
  for (let n = 0; run.on; n++) {
    const good = pick(10) > 0;
    const params = { targetAgent: good ? `good-${pick(3)}` : `bad-${pick(4)}`, n, filler: filler(size()) };
    books.asked++;
    const answer = await peer.ask('m', params, ...(pick(50) ? [] : ['Custom-Timeout-Ms: 20']));
    if ('result' in answer) {
      if (good) assert.deepEqual(answer.result, { n, bytes: params.filler.length });
      books.answered++;
    } else {
      assert.ok([-32010, -32050, -32051, -32052].includes(answer.error.code), JSON.stringify(answer));
      assert.ok(!good || [-32051, -32052].includes(answer.error.code), `a good agent: ${JSON.stringify(answer)}`);
      books.refused++;
    }
    if (pick(20) === 0) peer.notify('event', { event: 'soak', filler: filler(pick(2000)) });
    await turn();
  }
  peer.drop();
}

async function good_agent(hub, name) {
  const peer = await dial(hub.uri('tcp'));
  await peer.register(name, { events: ['soak'] });
  return peer.serve(({ params }) => ({ n: params.n, bytes: params.filler?.length }));
}

// --- Those who don't

const misdeeds = [
  // An agent that answers some, and goes in the middle of a frame.
  async (hub, name) => {
    const peer = await dial(hub.uri('tcp'));
    peer.serve(() => 1);
    await peer.ask('agent/register', { agentId: name });
    await pause(pick(100));
    await peer.write(frame(requestText(1, 'm', { targetAgent: 'good-0', filler: filler(size() + 10) })).subarray(0, 60 + pick(200)));
    return peer;
  },
  // A peer that stops reading for a while, or for good.
  async (hub, name) => {
    const peer = await dial(hub.uri(pick(2) ? 'tcp' : 'unix'));
    await peer.ask('agent/register', { agentId: name, capabilities: { events: ['*'] } });
    peer.socket.pause();
    await pause(pick(800));
    if (pick(2)) peer.socket.resume();
    return peer;
  },
  // Garbage: framing that isn't, bodies that aren't, answers that nobody wants.
  async (hub) => {
    const peer = await dial(hub.uri('tcp'));
    const bytes = Buffer.from(Array.from({ length: pick(400) }, () => pick(256)));
    const lines = ['GET / HTTP/1.1\r\n\r\n', 'Content-Length: +5\r\n\r\nhello', bytes, frame(bytes.length ? bytes : 'x'),
      frame('{"id":1,"result":2}'), frame('[1,{"method":"m"},{"id":7,"method":"hub/ping"}]'), frame('{"id":1,"id":2,"method":"m"}')];
    for (let n = 0; n < 3; n++) await peer.write(Buffer.from(lines[pick(lines.length)]));
    return peer;
  },
  // Asks much, cancels some of it, half-closes or reads nothing.
  async (hub) => {
    const peer = await dial(hub.uri('unix'));
    if (pick(3) === 0) peer.socket.pause();
    for (let id = 0; id < 30; id++) {
      peer.send(requestText(id, 'm', { targetAgent: pick(2) ? 'good-1' : `bad-${pick(4)}`, filler: filler(pick(9000)) }));
      if (pick(4) === 0) peer.notify('$/cancelRequest', { id: pick(id + 1) });
    }
    if (pick(2)) peer.socket.end();
    await pause(pick(50));
    return peer;
  },
];

async function rogue(hub, run) {
  while (run.on) {
    const peer = await misdeeds[pick(misdeeds.length)](hub, `bad-${pick(4)}`).catch(() => null);
    if (pick(2) && peer?.socket.remoteAddress) peer.socket.resetAndDestroy();
    peer?.drop();
    await turn();
  }
}

// --- The books

async function settled(witness, wanted) {
  for (const until = Date.now() + 20_000; ;) {
    const now = await stats(witness);
    const ended = ENDS.reduce((sum, name) => sum + now[name], 0);
    const agents = (await witness.ask('hub/agents')).result.agents;
    if (now.connections === wanted && agents.every((one) => one.pending === 0)) return { now, ended, agents };
    assert.ok(Date.now() < until, `the hub does not come to rest: ${JSON.stringify(now)}`);
    await pause(20);
  }
}

// All of it for so long; then everybody but the agents and the witness has gone.
async function load(hub, witness, books, seconds) {
  const run = { on: true };
  const busy = Promise.all([...Array.from({ length: 6 }, () => source(hub, run, books)),
    ...Array.from({ length: 6 }, () => rogue(hub, run))]);
  busy.catch(() => (run.on = false));
  const samples = [];
  for (const until = Date.now() + seconds * 1000; run.on && Date.now() < until;) {
    await pause(SECONDS * 10);
    samples.push(rss(hub));
  }
  run.on = false;
  await busy;
  return { samples, ...(await settled(witness, 4)) };
}

// The resident memory of an idle hub: each second the hub gives back memory that it didn't need.
async function resident_at_rest(hub, witness) {
  for (const until = Date.now() + (SECONDS < 60 ? 0 : 4000); Date.now() < until; await pause(100)) await stats(witness);
  return rss(hub);
}

// A run of tests with several shards alone (PATCHBAY_SHARDS) has these.
for (const shards of process.env.PATCHBAY_SHARDS ? [Number(process.env.PATCHBAY_SHARDS)] : [1, 2]) {
  test(`${SECONDS} s of everything (--shards ${shards})`, { timeout: (SECONDS + 120) * 1000 }, async () => {
    const hub = await Hub.start([...OPTIONS, '--shards', String(shards)]);
    const agents = await Promise.all([0, 1, 2].map((n) => good_agent(hub, `good-${n}`)));
    const witness = await dial(hub.uri('unix'));
    const books = { asked: 0, answered: 0, refused: 0 };
    const first = await load(hub, witness, books, SECONDS / 10);
    const resident = [await resident_at_rest(hub, witness)];
    const { samples, now, ended } = await load(hub, witness, books, SECONDS * 0.9);
    resident.push(await resident_at_rest(hub, witness));
    assert.equal(books.answered + books.refused, books.asked);
    assert.equal(now.connections_opened - now.connections_closed, 4);
    // A request that its target's own shard turned away, or that a broken answer ended, ends by an error alone.
    const otherwise = now.requests_forwarded - ended;
    assert.ok(otherwise >= 0 && otherwise <= (shards === 1 ? now.dropped_responses_broken : now.errors_by_hub),
      `${otherwise} requests ended in no known way: ${JSON.stringify(now)}`);
    assert.ok(now.buffer_bytes < 24 << 20, `${now.buffer_bytes} bytes are held at rest`);
    const mebibytes = (bytes) => (bytes / (1 << 20)).toFixed(1);
    console.log(`# ${JSON.stringify(books)}; ${now.connections_opened} connections, ${now.frames_received} frames; `
      + `resident MiB ${mebibytes(median(first.samples))} in the first tenth, ${mebibytes(median(samples.slice(-10)))} in the last; `
      + `at rest ${resident.map(mebibytes).join(' after the first, ')} at the end`);
    if (SECONDS >= 600) assert.ok(resident[1] <= resident[0] * 1.05, 'it grows');
    for (const peer of [...agents, witness]) peer.drop();
    await hub.stop();
  });
}
