// `latency` in hub/agents: how long each agent took for what it answered lately, from all shards.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { scenario } from './hub.mjs';
import { assertError } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2, 4] };

async function latencies(peer) {
  const { agents } = (await peer.ask('hub/agents')).result;
  return Object.fromEntries(agents.map(({ agentId, latency }) => [agentId, latency]));
}

scenario('an agent that answered has its count, its errors and its quantiles, each agent its own', EVERYWHERE, async (hub) => {
  const peer = await hub.agent('quick');
  await peer.ask('agent/register', { agentId: 'slow', capabilities: {} });
  await hub.agent('silent');
  const sources = await Promise.all([1, 2, 3, 4].map(() => hub.peer()));
  const answered = (async () => {
    for (let n = 0; n < 40; n++) {
      const { json } = await peer.next();
      if (json.params.targetAgent === 'slow') sleep(100).then(() => peer.reply(json.id));
      else if (json.params.n % 5 === 0) peer.send({ jsonrpc: '2.0', id: json.id, error: { code: 7, message: 'm' } });
      else peer.reply(json.id);
    }
  })();
  for (const target of ['quick', 'slow'])
    await Promise.all(Array.from({ length: 20 }, (_, n) => sources[n % 4].ask('work', { targetAgent: target, n })));
  await answered;
  const { quick, slow, silent } = await latencies(sources[0]);
  assert.equal(silent, null);
  assert.deepEqual([quick.count, quick.errors, slow.count, slow.errors], [20, 4, 20, 0]);
  assert.deepEqual(Object.keys(slow), ['count', 'errors', 'p50Ms', 'p99Ms']);
  assert.ok(slow.p50Ms > 75 && slow.p99Ms < 1000 && slow.p50Ms <= slow.p99Ms, JSON.stringify(slow));
  assert.ok(quick.p50Ms < 75 && quick.p50Ms > 0, JSON.stringify(quick));
});

scenario('what the hub answered itself does not count, and an agent that registers again goes on', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const asked = source.ask('work', { targetAgent: 'target' }, 'Custom-Timeout-Ms: 500');
  await target.next();
  assertError(await asked, -32051);
  assert.equal((await latencies(source)).target, null);
  target.serve(() => 'done');
  await source.ask('work', { targetAgent: 'target' });
  await target.ask('agent/register', { agentId: 'target', capabilities: { methods: ['m'] } });
  await source.ask('m', {});
  assert.equal((await latencies(source)).target.count, 2);
  await target.ask('agent/unregister', { agentId: 'target' });
  await target.ask('agent/register', { agentId: 'target', capabilities: {} });
  assert.equal((await latencies(source)).target, null);
});

scenario('a request outlives its agent', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const sources = await Promise.all([1, 2, 3].map(() => hub.peer()));
  const asked = sources.map((source) => source.ask('work', { targetAgent: 'target' }));
  const ids = [];
  for (const _ of sources) ids.push((await target.next()).json.id);
  await target.ask('agent/unregister', { agentId: 'target' });
  for (const id of ids) target.reply(id, 'late');
  for (const answer of await Promise.all(asked)) assert.equal(answer.result, 'late');
  await target.ask('agent/register', { agentId: 'target', capabilities: {} });
  assert.equal((await latencies(sources[0])).target, null);
});
