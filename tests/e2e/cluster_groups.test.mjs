// Groups over several hubs: members elsewhere are found, hubs are weighed by theirs, and who leaves is found no more.
import assert from 'node:assert/strict';
import { joined } from './cluster.mjs';
import { assertError } from './peer.mjs';

joined('several members elsewhere: hubs are weighed by theirs', { hubs: [[], [], []], shards: [1] }, async (x, y, z) => {
  const came = { y: 0, z: 0 };
  for (let n = 0; n < 6; n++) (await y.agent(`y-${n}`, { methods: ['work'] })).serve(() => 'y');
  (await z.agent('z-0', { methods: ['work'] })).serve(() => 'z');
  const source = await x.peer();
  for (let n = 0; n < 210; n++) came[(await source.ask('work', {})).result]++;
  assert.ok(came.y > 140 && came.z > 5, JSON.stringify(came)); // of 210, 180 and 30 were to be expected
});

joined('the last member leaves: -32601, -32002 or -32010 as locally', {}, async (x, y) => {
  const agent = (await y.agent('b', { methods: ['work'], tools: ['lint'], review: true })).serve(() => 1);
  const source = await x.peer();
  assert.equal((await source.ask('work', {})).result, 1);
  await agent.ask('agent/register', { agentId: 'b', capabilities: {} });
  assertError(await source.ask('work', {}), -32601);
  assertError(await source.ask('tool/integration', { tool: 'lint', arguments: {} }), -32002);
  assertError(await source.ask('work', { targetAgent: '@review' }), -32010);
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
});

joined('100 members are one group', { shards: [1] }, async (x, y) => {
  const agents = [];
  for (let n = 0; n < 100; n++) agents.push((await y.agent(`m-${n}`, { methods: ['work'] })).serve(() => n));
  const source = await x.peer();
  const seen = new Set();
  for (let n = 0; n < 200; n++) seen.add((await source.ask('work', {})).result);
  assert.equal(seen.size, 100);
});
