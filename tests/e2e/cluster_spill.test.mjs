// Where all members of a group here owe as much as --spill says, a request is offered to one hub elsewhere: who is there takes
// it only if it owes less; else it comes back, and is served here as if it had never gone. Whatever becomes of it, it ends once.
import assert from 'node:assert/strict';
import { joined, linked, until } from './cluster.mjs';
import { assertError, requestText } from './peer.mjs';

const SPILL = 3;
const hubs = [['--spill', String(SPILL)], ['--spill', String(SPILL)]];
const offers = { hubs };

async function count(hub, name) {
  const watch = await hub.peer();
  const { result } = await watch.ask('hub/stats');
  watch.drop();
  return result[name];
}

// Requests with these ids, from one source.
function ask(source, ids, method = 'work', params = {}) {
  for (const id of ids) source.send(requestText(id, method, params));
}

// What comes to an agent, which answers nothing yet.
async function take(agent, howMany) {
  const came = [];
  for (let n = 0; n < howMany; n++) came.push((await agent.next()).json);
  return came;
}

async function ends(source, howMany) {
  const ended = new Map();
  for (let n = 0; n < howMany; n++) {
    const { json } = await source.next();
    assert.ok(!ended.has(json.id), `request ${json.id} ended twice`);
    ended.set(json.id, json);
  }
  return ended;
}

const forms = [
  ['a method', { methods: ['work'] }, 'work', {}],
  ['@NAME', { review: true }, 'work', { targetAgent: '@review' }],
  ['a tool', { tools: ['lint'] }, 'tool/integration', { tool: 'lint', arguments: {} }],
  ['a command', { commands: ['deploy'] }, 'command/execute', { command: 'deploy' }],
];
joined('members here are preferred while one owes less than --spill; then whoever elsewhere owes less takes it', offers, async (x, y) => {
  for (const [form, capabilities, method, params] of forms) {
    const [here, there] = [await x.agent(`x-${method}`.replace('/', '-'), capabilities), await y.agent(`y-${method}`.replace('/', '-'), capabilities)];
    const source = await x.peer();
    ask(source, [1, 2, 3], method, params);
    const own = await take(here, SPILL);
    ask(source, [4, 5, 6], method, params); // there: 0, 1, 2 are owed, and here 3
    const others = await take(there, SPILL);
    await here.silent(`${form}: what others take`);
    ask(source, [7], method, params); // both owe 3
    own.push(...await take(here, 1));
    await there.silent(`${form}: what it would owe as much for`);
    ask(source, [8], method, params); // here 4, there 3
    others.push(...await take(there, 1));
    for (const { id } of own) here.reply(id, 'here');
    for (const { id } of others) there.reply(id, 'there');
    const ended = await ends(source, 8);
    assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8].map((id) => ended.get(id).result), ['here', 'here', 'here', 'there', 'there', 'there', 'here', 'there'], form);
    for (const peer of [here, there, source]) peer.drop();
    for (const [hub, agentId] of [[x, 'x'], [y, 'y']])
      await until('it has gone', async () => !JSON.stringify((await (await hub.peer()).ask('hub/agents')).result).includes(`"${agentId}-`));
  }
  assert.equal(await count(x, 'cluster_offers_returned'), forms.length);
  assert.equal(await count(y, 'cluster_offers_declined'), forms.length);
});

joined('one agent by its name, a notification, and what came from another hub go nowhere', offers, async (x, y) => {
  const here = await x.agent('a', { methods: ['work'] });
  const there = await y.agent('b', { methods: ['work'] });
  const source = await x.peer();
  ask(source, [1, 2, 3, 4, 5], 'work', { targetAgent: 'a' });
  source.notify('work', { n: 1 });
  assert.deepEqual((await take(here, 6)).map(({ params }) => params.n), [undefined, undefined, undefined, undefined, undefined, 1]);
  const far = await y.peer();
  ask(far, [1, 2, 3], 'work', { targetAgent: 'b' });
  await take(there, 3);
  ask(far, [4, 5], 'work', { targetAgent: 'a' }); // to x, whose own member owes much: it stays there
  await take(here, 2);
  await there.silent('what has come from there');
});

joined('nobody elsewhere: served here as if it had never gone, with its fields, its time, its id and its reports', offers, async (x, y) => {
  const here = await x.agent('a', { methods: ['work'] });
  const source = await x.peer();
  ask(source, [1, 2, 3]);
  const first = await take(here, 3);
  const text = '{"jsonrpc":"2.0","method":"work","params":{"a":[1.0, 2],"workDoneToken":"t"},"id":"mine"}';
  source.send(text, 'Request-Id: r 1', 'X-Same: 1', 'X-Same: 2', 'Custom-Timeout-Ms: 60000');
  const came = await here.next();
  assert.deepEqual(came.fields.slice(1), [['Request-Id', 'r 1'], ['X-Same', '1'], ['X-Same', '2'], ['Custom-Timeout-Ms', '60000']]);
  const { id, params: { workDoneToken } } = came.json;
  assert.equal(came.text, `{"jsonrpc":"2.0","method":"work","params":{"a":[1.0, 2],"workDoneToken":${JSON.stringify(workDoneToken)}},"id":${id}}`);
  here.notify('$/progress', { token: workDoneToken, value: 1 });
  assert.deepEqual((await source.next()).json.params, { token: 't', value: 1 });
  here.send(`{"id":${id},"jsonrpc":"2.0",  "result":{"x":1.0}}`);
  assert.equal((await source.next()).text, '{"id":"mine","jsonrpc":"2.0",  "result":{"x":1.0}}');
  for (const one of first) here.reply(one.id, 1);
  await ends(source, 3);
  assert.equal(await count(x, 'cluster_requests_unheard'), 0);
  assert.ok(await count(x, 'cluster_offers_returned') >= 1);
  assert.equal(await count(y, 'cluster_offers_declined'), 0);
});

joined('who elsewhere can\'t take it for any other reason hands it back, too', { hubs: [hubs[0], [...hubs[1], '--validate', 'strict', '--max-frame', '64K']] }, async (x, y) => {
  const here = await x.agent('a', { methods: ['governance/review'] });
  await y.agent('b', { methods: ['governance/review'] }, { governanceLevel: 'autonomous' }); // and yet nothing of what comes is what it is said to be
  const source = await x.peer();
  ask(source, [1, 2, 3], 'governance/review', {});
  await take(here, 3);
  source.send('{"jsonrpc":"1.0","id":4,"method":"governance/review","params":{}}'); // strict: no JSON-RPC 2.0
  const [{ id, jsonrpc }] = await take(here, 1);
  assert.equal(jsonrpc, '1.0');
  here.reply(id, 'here');
  assert.equal((await source.next()).json.result, 'here');
  ask(source, [5], 'governance/review', { big: 'x'.repeat(100_000) });
  here.reply((await take(here, 1))[0].id, 'large');
  assert.equal((await source.next()).json.result, 'large');
  source.send(requestText(6, 'governance/review', {}), 'Governance-Level: manual'); // nobody supports that: it goes as ever
  assertError((await source.next()).json, -32011);
});

joined('a body over max_payload stays here', { hubs, shards: [1] }, async (x, y) => {
  const here = await x.agent('a', { methods: ['work'] });
  const there = await y.agent('b', { methods: ['work'] });
  const source = await x.peer();
  ask(source, [1, 2, 3]);
  await take(here, 3);
  ask(source, [4], 'work', { big: 'x'.repeat(1_048_576) });
  here.reply((await take(here, 1))[0].id, 'here');
  assert.equal((await source.next()).json.result, 'here');
  await there.silent('too large a body');
});

joined('cancelled while another hub has it; a link that is lost while it has', offers, async (x, y, broker) => {
  const here = await x.agent('a', { methods: ['work'] });
  const there = await y.agent('b', { methods: ['work'] });
  const source = await x.peer();
  ask(source, [1, 2, 3]);
  const own = await take(here, 3);
  ask(source, [4, 5]);
  const [first] = await take(there, 2);
  source.notify('$/cancelRequest', { id: 4 });
  assert.deepEqual((await there.next()).json, { jsonrpc: '2.0', method: '$/cancelRequest', params: { id: first.id } });
  there.reply(first.id, 'cancelled');
  assert.equal((await source.next()).json.result, 'cancelled');
  await broker.kill();
  const { json } = await source.next();
  assert.equal(json.id, 5);
  assertError(json, -32050);
  ask(source, [6]); // without a link all stays here
  own.push(...await take(here, 1));
  await broker.again();
  await Promise.all([linked(x), linked(y)]);
  for (const { id } of own) here.reply(id, 'here');
  assert.equal((await ends(source, 4)).size, 4);
  await source.silent('more ends');
});

// More than all can do: each request is answered once, whoever gets it.
joined('under load nothing is lost, and nothing ends twice', { hubs: [...hubs, hubs[0]], shards: [2] }, async (x, y, z) => {
  for (const [at, hub] of [x, y, z].entries()) (await hub.agent(`a-${at}`, { methods: ['work'] })).serve(() => 1);
  const sources = [await x.peer(), await y.peer(), await z.peer()];
  const answers = await Promise.all(sources.flatMap((source) => Array.from({ length: 400 }, () => source.ask('work', {}))));
  assert.ok(answers.every(({ result }) => result === 1));
  assert.ok(await count(x, 'cluster_offers_returned') > 0 && await count(x, 'cluster_requests_offered') > 0);
});
