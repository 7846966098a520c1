// The hub keeps things for peers (registrations, subscriptions, requests under way) up to a quarter of --max-memory.
// Past that the answer is -32052, and nobody else is held up. All of it goes with its peer.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dial, scenario } from './hub.mjs';
import { alone, request } from './web.mjs';
import { assertError, frame, requestText } from './peer.mjs';

const SMALL = { shards: [1, 2], options: ['--max-memory', '32M'] };
const BOUND = 8 << 20;
const REST = 448 << 10; // what stays of a shard's first requests, and what shards have drawn and don't use

const stats = async (peer) => (await peer.ask('hub/stats')).result;
const about = (hub, what) => readFileSync(`/proc/${hub.process.pid}/${what}`, 'latin1');
// A sanitizer holds on to what the hub has given back.
const resident = (hub) =>
  /lib[at]san/.test(about(hub, 'maps')) ? 0 : Number(/VmRSS:\s+(\d+)/.exec(about(hub, 'status'))[1]) << 10;

// Someone who is served all along, and what was kept and resident before the others came.
async function prepare(hub) {
  (await hub.agent('good')).serve(() => 'good');
  const bystander = await hub.peer();
  await served(bystander);
  const { kept_bytes } = await stats(bystander);
  return { bystander, kept: kept_bytes, resident: resident(hub) };
}

async function served(bystander) {
  const answer = await bystander.ask('m', { targetAgent: 'good' });
  assert.equal(answer.result, 'good', JSON.stringify(answer));
}

async function within_bound(hub, before) {
  await served(before.bystander);
  const { kept_bytes } = await stats(before.bystander);
  assert.ok(kept_bytes <= BOUND, `${kept_bytes} bytes are kept`);
  const grown = resident(hub) - before.resident;
  assert.ok(grown < 32 << 20, `${grown} bytes more are resident`);
}

async function all_is_given_back({ bystander, kept }, rest = REST) {
  const until = Date.now() + 15_000;
  let now;
  do now = (await stats(bystander)).kept_bytes;
  while (now > kept + rest && Date.now() < until);
  assert.ok(now <= kept + rest, `${now} bytes are kept, and ${kept} were before`);
}

function assert_bounded(answer) {
  const { limit, fault } = assertError(answer, -32052).data;
  assert.equal(limit, fault ? BOUND / 2 : BOUND); // one address has half of it
}

scenario('registrations', SMALL, async (hub) => {
  const before = await prepare(hub);
  const holders = [];
  let registered = 0;
  // Names that nobody else has, and as many as 64 KiB hold.
  const offer = (agentId) => ({ methods: Array.from({ length: 4000 }, (_, n) => `${agentId}.${n}`), filler: 'x'.repeat(8000) });
  while (holders.length < 4) {
    const holder = await hub.peer();
    holders.push(holder);
    let number = 0, answer;
    do {
      const agentId = `h${holders.length}.${number++}`;
      answer = await holder.ask('agent/register', { agentId, capabilities: offer(agentId) });
      registered += 'result' in answer;
    } while ('result' in answer && number < 64);
    assert_bounded(answer);
    await within_bound(hub, before);
  }
  assert.ok(registered >= 2, `${registered} were registered`);
  // Refused patterns aren't there, earlier ones are, and an update that doesn't fit leaves the old state.
  const { result } = await before.bystander.ask('hub/agents', { capability: 'nobody' });
  assert.deepEqual(result, { agents: [] });
  const late = await hub.agent('late', { methods: ['late/old'] });
  assert_bounded(await late.ask('agent/register', { agentId: 'late', capabilities: offer('late') }));
  late.serve(({ method }) => method);
  // A peer that has as much as can be may give it back.
  const answer = await holders[0].ask('agent/unregister', { agentId: 'h1.0' });
  assert.deepEqual(answer.result, { agentId: 'h1.0', registered: false }, JSON.stringify(answer));
  assert.equal((await before.bystander.ask('late/old')).result, 'late/old');
  assertError(await before.bystander.ask('late.1'), -32601);
  assertError(await before.bystander.ask('m', { targetAgent: 'h1.63' }), -32010);
  for (const holder of holders) holder.drop();
  await all_is_given_back(before);
  await hub.agent('h1.0', offer('h1.0'));
});

scenario('subscriptions', SMALL, async (hub) => {
  const before = await prepare(hub);
  const holders = [];
  let answer;
  do {
    const holder = await hub.peer();
    holders.push(holder);
    const events = Array.from({ length: 1000 }, (_, n) => `${holders.length}-${n}-`.padEnd(255, 'x'));
    answer = await holder.ask('hub/subscribe', { events });
    await within_bound(hub, before);
  } while ('result' in answer && holders.length < 64);
  assert_bounded(answer);
  const refused = holders.at(-1);
  assert.deepEqual((await refused.ask('hub/unsubscribe', { events: [] })).result, { events: [] });
  // A peer that asks for little gets it.
  assert.deepEqual((await refused.ask('hub/subscribe', { events: ['little'] })).result, { events: ['little'] });
  await before.bystander.notify('event', { event: 'little' });
  assert.equal((await refused.next('an event')).json.params.event, 'little');
  for (const holder of holders) holder.drop();
  await all_is_given_back(before);
});

scenario('requests under way', SMALL, async (hub) => {
  const before = await prepare(hub);
  const silent = await hub.agent('silent');
  const sources = [];
  const token = (n) => `${n}`.padEnd(254, 't');
  const request = (n) => frame(requestText(`${n}`.padEnd(254, 'i'), 'm', {
    targetAgent: 'silent', workDoneToken: token(n), partialResultToken: token(n), _meta: { progressToken: token(n) } }));
  let taken = 0;
  while (sources.length < 3) {
    const source = await hub.peer();
    sources.push(source);
    let sent = 0;
    // A refused request is the first to be answered.
    const refused = source.next('a refusal');
    let answer = null;
    refused.then((one) => { answer = one.json; }, () => {});
    while (!answer && sent < 65_536) {
      await source.write(Buffer.concat(Array.from({ length: 64 }, () => request(sent++))));
      await within_bound(hub, before);
    }
    await refused;
    assert_bounded(answer);
    assert.equal(answer.error.data.agent, 'silent');
    taken += sent;
  }
  assert.ok(taken > 3000, `${taken} requests were sent`);
  for (const peer of [...sources, silent]) peer.drop();
  await all_is_given_back(before);
  const again = await hub.agent('silent');
  await before.bystander.write(request(1));
  await again.next('a request that is taken again');
});

// The answers of each are held together; what that took lies ready for the next ones for a moment.
scenario('batches', SMALL, async (hub) => {
  const { bystander } = await prepare(hub), source = await hub.peer(), COUNT = 1000;
  const target = await hub.agent('silent');
  await served(source); // its shard's first requests
  const { kept_bytes: kept } = await stats(bystander);
  source.write(Buffer.concat(Array.from({ length: COUNT }, (_, id) => frame(`[${requestText(id, 'm', { targetAgent: 'silent' })}]`))));
  for (let n = 0; n < COUNT; n++) await target.next();
  assert.ok((await stats(bystander)).kept_bytes > kept + (64 << 10));
  target.drop();
  for (let n = 0; n < COUNT; n++) assertError((await source.next()).json[0], -32050);
  await all_is_given_back({ bystander, kept }, 64 << 10);
});

async function elsewhere(hub) {
  const peer = await dial(hub.uri('tcp'), '127.0.0.2');
  hub.peers.push(peer);
  return peer;
}

scenario('what many connections keep leaves what others need to be there, and the little that they want', { shards: [1, 2], transports: ['tcp'], options: ['--max-memory', '64M', '--http', '127.0.0.1:0'] }, async (hub) => {
  const holders = [];
  for (let vain = 0, n = 0; vain < 5 && holders.length < 150;) {
    const holder = await hub.peer();
    holders.push(holder);
    let taken = 0;
    for (const size of [30_000, 5000, 500, 10])
      for (let more = true; more && taken < 64; n++) {
        const answer = await holder.ask('agent/register', { agentId: `a${n}`, capabilities: { x: 'y'.repeat(size) }, governanceLevel: 'autonomous' });
        more = 'result' in answer;
        taken += more;
      }
    for (let m = 0; m < 50 && 'result' in (await holder.ask('hub/subscribe', { events: [`${n}-${m}-`.padEnd(200, 'z')] })); m++) taken++;
    vain = taken ? 0 : vain + 1;
  }
  // Nobody at this address gets more than half of it, and is told that.
  const { data } = assertError(await (await hub.peer()).ask('agent/register', { agentId: 'more', capabilities: { x: 'y'.repeat(30_000) } }), -32052);
  assert.match(data.fault, /^half of what the hub keeps/);
  assert.equal(data.limit, 8 << 20);
  assert.equal((await alone(hub, request('GET /healthz'))).status, 200);
  assert.equal((await alone(hub, request('GET /metrics'))).status, 200);
  for (let n = 0; n < 6; n++) {
    const little = n % 2 ? await hub.peer() : await elsewhere(hub);
    await little.register(`little-${n}`, { methods: ['a', 'b'] });
    assert.ok((await little.ask('hub/subscribe', { events: ['e', 'f-*'] })).result);
    const source = await elsewhere(hub), asked = source.ask('work', { targetAgent: `little-${n}` });
    const { json } = await little.find((one) => one.json.method === 'work', 'a request');
    little.reply(json.id, 'done');
    assert.equal((await asked).result, 'done');
  }
  for (const holder of holders) holder.drop();
});
