// Who is at all hubs: hub/agents with `cluster`, and how the client shows it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { promisify } from 'node:util';
import { joined, until } from './cluster.mjs';
import { assertError } from './peer.mjs';
import { Played } from './played.mjs';

const folder = mkdtempSync(join(tmpdir(), 'patchbay-nats-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const small = join(folder, 'small.conf');
writeFileSync(small, 'max_payload: 65536\n');

const client = (...args) => promisify(execFile)(process.env.PATCHBAY, args);

// Hubs know each other a moment after they have come.
async function all(peer, count, params = {}) {
  let result;
  await until(`${count} agents are listed`, async () => {
    ({ result } = await peer.ask('hub/agents', { ...params, cluster: true }));
    return result.complete && result.agents.length === count;
  });
  return result;
}

joined('the agents of all hubs, each with its hub', { hubs: [[], [], []] }, async (x, y, z) => {
  const watch = await x.peer();
  const ids = ['a', 'b', 'c', 'd'], hubs = [x, y, y, z];
  const agents = await Promise.all(ids.map((id, at) => hubs[at].agent(id, { [`at-${at}`]: true, odd: at % 2 === 1 })));
  const { agents: shown } = await all(watch, 4);
  const byId = new Map(shown.map((one) => [one.agentId, one]));
  assert.deepEqual([...byId.keys()].sort(), ids);
  for (const one of shown) assert.match(one.hub, /^[0-9a-f]{32}-[1-9][0-9]*$/);
  assert.equal(byId.get('b').hub, byId.get('c').hub);
  assert.equal(new Set(shown.map((one) => one.hub)).size, 3);
  assert.deepEqual(byId.get('d').capabilities, { 'at-3': true, odd: true });
  assert.equal(byId.get('d').pending, 0);
  assert.deepEqual((await all(watch, 2, { capability: 'odd' })).agents.map((one) => one.agentId).sort(), ['b', 'd']);
  assert.deepEqual((await all(watch, 0, { capability: 'no/body' })).agents, []);
  // Without `cluster` it is this hub's alone, as ever.
  assert.deepEqual((await watch.ask('hub/agents', {})).result.agents.map((one) => [one.agentId, one.hub]), [['a', undefined]]);
  assertError(await watch.ask('hub/agents', { cluster: 1 }), -32602);
  // A hub that answers late is left out.
  await until('the table has all of them', async () => {
    const table = (await client('--hub', x.uri('tcp'), 'agents', '--cluster')).stdout.trimEnd().split('\n');
    assert.match(table[0], /^HUB NAME +HUB {34}AGENT /);
    for (const row of table.slice(1)) assert.match(row, /^\S+ +(?=.{37}[a-z])[0-9a-f]{32}-[1-9][0-9]* +[a-z] /);
    return table.length === 5;
  });
  await until('the list is complete', async () =>
    JSON.parse((await client('--hub', y.uri('tcp'), 'agents', '--cluster', '--json')).stdout).complete === true);
  for (const agent of agents) agent.drop();
});

joined('a list that no message of the server\'s holds comes in parts; what no message holds is left out',
  { broker: ['-c', small], shards: [1] }, async (x, y) => {
    const watch = await x.peer(), there = await y.peer();
    const big = 'x'.repeat(30_000);
    for (let at = 0; at < 40; at++)
      assert.ok((await there.ask('agent/register', { agentId: `b-${at}`, capabilities: { big, [`at-${at}`]: true } })).result);
    const { agents } = await all(watch, 40);
    assert.deepEqual(new Set(agents.map((one) => one.agentId)), new Set(Array.from({ length: 40 }, (_, at) => `b-${at}`)));
    assert.ok(agents.every((one) => one.capabilities.big === big));
    await there.ask('agent/register', { agentId: 'huge', capabilities: { big: 'x'.repeat(65_400) } });
    await until('all but one are listed', async () => {
      const { result } = await watch.ask('hub/agents', { cluster: true });
      assert.ok(result.agents.every((one) => one.agentId !== 'huge'));
      return result.agents.length === 40 && !result.complete;
    });
  });

joined('lists of a batch have the room of one message together', { hubs: [['--max-frame', '64K'], []] }, async (x, y) => {
  const watch = await x.peer();
  await y.agent('b', { big: 'x'.repeat(25_000) });
  await all(watch, 1);
  let answers;
  await until('no hub was late', async () => {
    watch.send(`[${[1, 2, 3].map((id) => `{"jsonrpc":"2.0","id":${id},"method":"hub/agents","params":{"cluster":true}}`).join(',')}]`);
    answers = (await watch.next('the array')).json;
    return answers.every(({ result, error }) => error || result.agents.length === 1);
  });
  assert.deepEqual(answers.map(({ error }) => error?.code).sort(), [-32055, undefined, undefined]);
  assert.equal(answers.find(({ error }) => error).error.data.limit, 65536);
});

joined('a hub that beats and doesn\'t answer makes the list incomplete, within a second', { shards: [1, 2] }, async (x, y, broker) => {
  const watch = await x.peer();
  await y.agent('b');
  await all(watch, 1);
  const silent = await Played.join(broker);
  let result, took;
  await until('it alone is missing', async () => {
    silent.beat();
    await silent.client.settled();
    const begun = Date.now();
    ({ result } = await watch.ask('hub/agents', { cluster: true }));
    took = Date.now() - begun;
    return !result.complete && result.agents.length === 1;
  });
  assert.ok(took < 3000, `${took} ms`);
  silent.drop();
  await broker.kill();
  await until('there is no link', async () => (await watch.ask('hub/stats')).result.cluster_link === 0);
  result = (await watch.ask('hub/agents', { cluster: true })).result;
  assert.deepEqual([result.agents, result.complete], [[], false]);
});

joined('a hub that ends in good order says so: the next list is complete at once', { hubs: [[], [], []] }, async (x, y, z) => {
  const watch = await x.peer();
  await (await x.peer()).register('a');
  await (await z.peer()).register('c');
  await all(watch, 2);
  await z.stop();
  await until('it has gone', async () => (await watch.ask('work', { targetAgent: 'c' })).error?.code === -32010);
  const begun = performance.now();
  const { result } = await watch.ask('hub/agents', { cluster: true });
  assert.deepEqual([result.agents.map((agent) => agent.agentId), result.complete], [['a'], true]);
  assert.ok(performance.now() - begun < 800);
});
