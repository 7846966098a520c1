// Rule 7: a message without a targetAgent goes to an agent that offers its method: the one with the fewest pending
// requests, ties in turn. Agents are reachable from every shard.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, requestText } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };

async function three(hub) {
  const workers = [];
  for (const name of ['a', 'b', 'c']) workers.push(await hub.agent(name, { methods: ['work', 'rest'] }));
  return workers;
}

scenario('a method is offered by a list in capabilities', EVERYWHERE, async (hub) => {
  const target = await hub.agent('worker', { methods: ['editor/getMessage', 'x', '名前'] });
  const source = await hub.peer();
  const notification = '{"jsonrpc":"2.0","method":"x","params":[1.0]}';
  source.send(notification);
  assert.equal((await target.next()).text, notification);
  target.serve((message) => message.method);
  for (const method of ['editor/getMessage', 'x', '名前']) assert.equal((await source.ask(method)).result, method);
  assertError(await source.ask('editor/getMessag', {}), -32601);
  assertError(await source.ask('methods', {}), -32601);
});

scenario('a method is offered by an object in capabilities', EVERYWHERE, async (hub) => {
  (await hub.agent('worker', { methods: { work: true, format: { tabs: 2 } } })).serve((message) => message.method);
  const source = await hub.peer();
  assert.equal((await source.ask('work', {})).result, 'work');
  assert.equal((await source.ask('format', {})).result, 'format');
  assertError(await source.ask('tabs', {}), -32601);
});

scenario('the worker with the fewest pending requests gets the next', EVERYWHERE, async (hub) => {
  const workers = await three(hub);
  const source = await hub.peer();
  const held = [[], [], []];
  const pushNext = async (n) => {
    source.send(requestText(n, 'work', { n }));
    const first = await Promise.race(workers.map(async (worker, at) => {
      const one = await worker.find((frame) => frame.json.params?.n === n, `request ${n}`).catch(() => new Promise(() => {}));
      return { at, id: one.json.id };
    }));
    held[first.at].push(first.id);
  };
  for (let n = 0; n < 9; n++) await pushNext(n);
  assert.deepEqual(held.map((ids) => ids.length), [3, 3, 3]);
  for (const id of held[1].splice(0)) {
    workers[1].reply(id);
    await source.next();
  }
  for (let n = 9; n < 12; n++) await pushNext(n);
  assert.deepEqual(held.map((ids) => ids.length), [3, 3, 3], 'the idle worker caught up');
});

scenario('ties are broken in turn', EVERYWHERE, async (hub) => {
  const workers = await three(hub);
  workers.forEach((worker, at) => worker.serve(() => at));
  const source = await hub.peer();
  const counts = [0, 0, 0];
  for (let n = 0; n < 30; n++) counts[(await source.ask('work', {})).result]++;
  assert.ok(counts.every((count) => count >= 8), `30 requests went ${counts.join(', ')}`);
});

scenario('a worker that leaves is not asked any more', EVERYWHERE, async (hub) => {
  const workers = await three(hub);
  workers.forEach((worker, at) => worker.serve(() => at));
  const source = await hub.peer();
  await workers[0].finish();
  await workers[0].gone();
  for (let n = 0; n < 6; n++) assert.notEqual((await source.ask('work', {})).result, 0);
  await workers[1].ask('agent/unregister', { agentId: 'b' });
  for (let n = 0; n < 3; n++) assert.equal((await source.ask('rest', {})).result, 2);
  await workers[2].ask('shutdown');
  assertError(await source.ask('work', {}), -32601);
});

scenario('targetAgent decides alone, whoever offers the method', EVERYWHERE, async (hub) => {
  (await hub.agent('offers', { methods: ['work'] })).serve(() => 'offers');
  (await hub.agent('named')).serve(() => 'named');
  const source = await hub.peer();
  assert.equal((await source.ask('work', { targetAgent: 'named' })).result, 'named');
  assertError(await source.ask('work', { targetAgent: 'nobody' }), -32010);
  assert.equal((await source.ask('work', { context: { targetAgent: 'named' } })).result, 'offers');
  assert.equal((await source.ask('work', [{ targetAgent: 'named' }])).result, 'offers');
});

scenario('eight sources reach eight agents, whichever shard they are on', EVERYWHERE, async (hub) => {
  const names = Array.from({ length: 8 }, (_, n) => `agent-${n}`);
  for (const name of names) (await hub.agent(name)).serve((message) => `${name} ${message.params.n}`);
  const sources = await Promise.all(names.map(() => hub.peer()));
  await Promise.all(sources.map(async (source) => {
    for (const [n, name] of names.entries()) {
      assert.equal((await source.ask('m', { targetAgent: name, n })).result, `${name} ${n}`);
    }
  }));
});

scenario('an agent is reachable from everywhere once its registration is answered', EVERYWHERE, async (hub) => {
  const sources = await Promise.all(Array.from({ length: 6 }, () => hub.peer()));
  for (let round = 0; round < 20; round++) {
    const target = (await hub.agent(`round-${round}`, { methods: [`method-${round}`] })).serve(() => round);
    const answers = await Promise.all(sources.map((source, n) =>
      n % 2 === 0 ? source.ask('m', { targetAgent: `round-${round}` }) : source.ask(`method-${round}`, {})));
    assert.deepEqual(answers.map((answer) => answer.result), sources.map(() => round));
    target.drop();
  }
});

scenario('two agents on one connection offer one method', EVERYWHERE, async (hub) => {
  const both = await hub.agent('one', { methods: ['work'] });
  await both.register('two', { methods: ['work'] });
  both.serve(() => 'done');
  const source = await hub.peer();
  for (let n = 0; n < 4; n++) assert.equal((await source.ask('work', {})).result, 'done');
  await both.ask('agent/unregister', { agentId: 'one' });
  assert.equal((await source.ask('work', {})).result, 'done');
});

scenario('one name registered by many at once: one wins', EVERYWHERE, async (hub) => {
  for (let round = 0; round < 10; round++) {
    const rivals = await Promise.all(Array.from({ length: 6 }, () => hub.peer()));
    const answers = await Promise.all(rivals.map((rival, n) => {
      rival.serve(() => n);
      return rival.ask('agent/register', { agentId: `prize-${round}`, capabilities: {} });
    }));
    const winner = answers.findIndex((answer) => answer.result);
    assert.equal(answers.filter((answer) => answer.result).length, 1);
    for (const answer of answers.filter((one) => one.error)) assertError(answer, -32053);
    for (const rival of rivals) {
      assert.equal((await rival.ask('m', { targetAgent: `prize-${round}` })).result, winner);
    }
  }
});

scenario('@capability goes to an agent that has it, never on the source\'s own connection', EVERYWHERE, async (hub) => {
  const object = await hub.agent('object', { review: true, testing: 0 });
  const list = await hub.agent('list', ['review', 'testing']);
  const tasks = await hub.agent('tasks', { tasks: ['design', 'review'] });
  for (const agent of [object, list, tasks]) agent.serve(() => agent === object ? 'object' : agent === list ? 'list' : 'tasks');
  const source = await hub.peer();
  const answers = new Set();
  for (let n = 0; n < 6; n++) answers.add((await source.ask('any', { targetAgent: '@review' })).result);
  assert.deepEqual([...answers].sort(), ['list', 'object', 'tasks']);
  assert.equal((await source.ask('any', { targetAgent: '@testing' })).result, 'list');
  assert.equal((await source.ask('any', { targetAgent: '@design' })).result, 'tasks');
  assertError(await list.ask('any', { targetAgent: '@testing' }), -32010);
  for (const name of ['@nothing', '@', '@@review']) assertError(await source.ask('any', { targetAgent: name }), -32010);
});

scenario('tool/integration goes to an agent that offers the tool, else -32002', EVERYWHERE, async (hub) => {
  (await hub.agent('ci', { tools: ['ci-pipeline'] })).serve((message) => message.params.action);
  const source = await hub.peer();
  assert.equal((await source.ask('tool/integration', { tool: 'ci-pipeline', action: 'run-tests' })).result, 'run-tests');
  const refused = await source.ask('tool/integration', { tool: 'cd-pipeline', action: 'x' });
  assertError(refused, -32002);
  assert.equal(refused.error.data.tool, 'cd-pipeline');
  assertError(await source.ask('tool/integration', { action: 'x' }), -32602);
  assertError(await source.ask('tool/integration', { tool: 7 }), -32602);
});

scenario('governance/approval goes to its approver, else by method', EVERYWHERE, async (hub) => {
  (await hub.agent('user-123')).serve(() => 'the approver');
  (await hub.agent('board', { methods: ['governance/approval'] })).serve(() => 'the board');
  const source = await hub.peer();
  assert.equal((await source.ask('governance/approval', { approver: 'user-123' })).result, 'the approver');
  assert.equal((await source.ask('governance/approval', { approver: 'user-9' })).result, 'the board');
  assert.equal((await source.ask('governance/approval', {})).result, 'the board');
});
