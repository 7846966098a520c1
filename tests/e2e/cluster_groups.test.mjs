// Groups over several hubs: members elsewhere are found, hubs are weighed by theirs, and who leaves is found no more.
import assert from 'node:assert/strict';
import { joined, until } from './cluster.mjs';
import { assertError, frame } from './peer.mjs';

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

// Of two hubs with members chance draws the one that gets the request. A refusal by that hub is the answer.
joined('what its hub refuses a request is its answer, and no other hub is asked', { hubs: [[], []] }, async (x, y) => {
  const of = { tool: ['tool/integration', { tool: 'lint', arguments: {} }], method: ['work', {}], group: ['ask', { targetAgent: '@review' }], command: ['command/execute', { command: 'deploy' }] };
  const agent = await y.agent('loose', { tools: ['lint'], methods: ['work'], review: true, commands: ['deploy'] });
  const source = await x.peer();
  for (const [method, params] of Object.values(of)) {
    const { error } = await source.ask(method, params, 'Governance-Level: manual');
    assert.equal(error.code, -32011);
    assert.equal(error.data.required, 'manual');
  }
  await agent.silent('a request that requires more than it supports');
});

joined('cancelled, or its source gone: nobody at another hub is left with it', { hubs: [[], [], []], shards: [1, 2] }, async (x, y, z) => {
  await y.agent('y', { methods: ['work'] });
  await z.agent('z', { methods: ['work'] });
  const watch = await x.peer();
  await until('both are known', async () => (await watch.ask('hub/agents', { cluster: true })).result.agents.length === 2);
  const stays = await x.peer(), goes = await x.peer();
  for (let n = 0; n < 50; n++) {
    stays.send({ jsonrpc: '2.0', id: n, method: 'work', params: {} }, 'Governance-Level: manual');
    stays.send({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: n } });
    goes.send({ jsonrpc: '2.0', id: n, method: 'work', params: {} }, 'Governance-Level: manual');
  }
  goes.drop();
  for (let n = 0; n < 50; n++) assert.ok([-32011, -32800].includes((await stays.next()).json.error.code));
  await until('nothing is under way', async () => (await watch.ask('hub/stats')).result.pending === 0);
});

// It goes to who is here by any rule, else to whom it names; nobody waits for what comes of it.
for (const shards of [1, 4])
  joined(`a notification goes to who is here, else to whom it names first, ${shards} shards`, { shards: [shards] }, async (x, y) => {
    const here = await x.agent('any', { methods: ['command/execute'] });
    const there = await y.agent('c', { commands: ['deploy'], methods: ['governance/approval'] }), bob = await y.agent('bob');
    const source = await x.peer();
    source.notify('command/execute', { command: 'deploy', n: 1 });
    assert.equal((await here.next()).json.params.n, 1);
    source.notify('governance/approval', { checkpoint: 'c', artifact: {}, approver: 'bob', decision: 'approved', n: 2 });
    assert.equal((await bob.next()).json.params.n, 2);
    source.notify('governance/approval', { checkpoint: 'c', artifact: {}, approver: 'alice', decision: 'approved', n: 3 });
    here.drop();
    await until('it has left', async () => (await source.ask('hub/agents')).result.agents.length === 0);
    source.notify('command/execute', { command: 'deploy', n: 4 });
    assert.equal((await there.next()).json.params.n, 4);
    await there.silent('what names somebody else');
  });

// It counts when all of its batch has been routed, be it that some of that waits.
joined('a batch of which members wait, and another one is an exit, is routed to its end', { shards: [1, 2] }, async (x, y) => {
  const agent = await x.agent('o', { methods: ['command/execute'] });
  const order = (n) => ({ jsonrpc: '2.0', method: 'command/execute', params: { command: 'nothing', n } });
  const note = (n) => ({ jsonrpc: '2.0', method: 'note', params: { targetAgent: 'o', n } }), exit = { jsonrpc: '2.0', method: 'exit' };
  const batches = [[exit, order(0), note(1), note(2)], [order(0), exit, note(1), note(2)], [order(0), note(1), order(2), exit], [exit, note(0), note(1), order(2)]];
  for (const batch of batches) {
    const source = await x.peer();
    source.write(Buffer.concat([frame(JSON.stringify(batch)), frame(JSON.stringify(note('behind the exit')))]));
    for (let n = 0; n < 3; n++) assert.equal((await agent.next()).json.params.n, n);
    await assert.rejects(source.next(), /the hub closed the connection|the hub had closed/);
  }
  await agent.silent('what was said behind them');
  assert.ok(y);
});
