// The hub's own methods: initialize, initialized, shutdown, exit, hub/ping, hub/agents. No agent can take these names.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Hub, scenario } from './hub.mjs';
import { assertError, requestText } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };

scenario('hub/ping answers its params, or null', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  for (const params of [{ a: [1, { b: null }] }, [1, 'two', {}], {}, []]) {
    assert.deepEqual((await peer.ask('hub/ping', params)).result, params);
  }
  assert.strictEqual((await peer.ask('hub/ping')).result, null);
  peer.send('{"jsonrpc":"2.0","id":1,"method":"hub/ping","params":{ "n" : 1.0 , "s":"\\u0041"}}');
  assert.ok((await peer.next()).text.includes('{ "n" : 1.0 , "s":"\\u0041"}'), 'params come back byte for byte');
  peer.notify('hub/ping', { quiet: true });
  await peer.silent('a ping without id');
});

scenario('initialize opens a session and registers nothing', EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  const params = { processId: 1, agentId: 'me', capabilities: { testing: true }, governanceLevel: 'supervised' };
  const { result } = await peer.ask('initialize', params);
  assert.equal(result.serverInfo.name, 'patchbay');
  assert.equal(typeof result.serverInfo.version, 'string');
  assert.equal(result.protocolVersion, '2.0.0');
  assert.equal(result.agentId, 'me');
  assert.equal(result.governanceLevel, 'supervised');
  assert.ok(result.sessionId, 'a session id');
  assert.equal(typeof result.capabilities, 'object');
  const text = JSON.stringify(result.capabilities);
  assert.match(text, /lazy/, 'the validation depth');
  assert.match(text, /16777216/, 'the largest frame');
  peer.notify('initialized', {});
  peer.notify('initialized');
  await peer.silent('initialized');
  assert.deepEqual((await peer.ask('hub/agents')).result, { agents: [] });
  assertError(await peer.ask('agent/request', { targetAgent: 'me' }), -32010);
});

test('initialize names the features that are on, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'patchbay-methods-'));
  const write = (name, text) => { writeFileSync(join(folder, name), text); return join(folder, name); };
  const cases = [
    [[], {}],
    [['--http', '127.0.0.1:0'], { http: true }],
    [['--gate', 'manual'], { gate: 'manual' }],
    [['--takeover', '--audit', join(folder, 'journal')], { takeover: true, audit: true }],
    [['--nats', 'nats://127.0.0.1:1', '--cluster', 'x'], { cluster: true }],
    [['--config', write('mcp.ini', '[child tools]\ncommand = cat\nprotocol = mcp\nstart = on-demand\n')], { mcp: true }],
    [['--config', write('plain.ini', '[child tools]\ncommand = cat\nstart = on-demand\n')], {}],
    [['--users', write('users.ini', `[user u]\ntoken = sha256:${createHash('sha256').update('t').digest('hex')}\n`)], { users: true }],
  ];
  for (const [options, on] of cases) {
    const hub = await Hub.start(options);
    const { result } = await (await hub.peer()).ask('initialize', { token: 't' });
    const { validation, maxFrame, maxHeader, ...features } = result.capabilities;
    assert.deepEqual([validation, maxFrame, maxHeader], ['lazy', 16777216, 8192]);
    assert.deepEqual(features, { takeover: false, audit: false, events: true, ...on }, options.join(' '));
    await hub.stop();
  }
  rmSync(folder, { recursive: true, force: true });
});

scenario('two sessions have two ids', {}, async (hub) => {
  const ids = [];
  for (let n = 0; n < 2; n++) {
    const { result } = await (await hub.peer()).ask('initialize', { processId: null, agentId: 'same', capabilities: {} });
    ids.push(result.sessionId);
  }
  assert.notEqual(ids[0], ids[1]);
});

scenario('shutdown ends the registrations; what was forwarded goes on', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target', { methods: ['work'] });
  const source = await hub.peer();
  source.send(requestText(1, 'm', { targetAgent: 'target' }));
  const pending = (await target.next()).json;
  assert.strictEqual((await target.ask('shutdown')).result, null);
  assertError(await source.ask('m', { targetAgent: 'target' }), -32010);
  assertError(await source.ask('work', {}), -32601);
  target.reply(pending.id, 'still');
  assert.equal((await source.next()).json.result, 'still');
  await target.silent('shutdown');
});

scenario('exit closes the connection', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  source.send(requestText(1, 'm', { targetAgent: 'target' }));
  await target.next();
  target.notify('exit');
  await target.gone('the close after exit');
  assertError((await source.next()).json, -32050);
  assertError(await source.ask('m', { targetAgent: 'target' }), -32010);
});

scenario('hub/finish ends what a connection has registered, and the connection behind its answers', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.agent('source');
  for (const id of ['a', 'b']) source.send(requestText(id, 'm', { targetAgent: 'target' }));
  const [first, second] = [(await target.next()).json.id, (await target.next()).json.id];
  assert.equal((await source.ask('hub/finish')).result, null);
  source.send(requestText('c', 'm', { targetAgent: 'target' })); // nobody listens
  assert.ok([-32010, -32050].includes((await target.ask('m', { targetAgent: 'source' })).error.code)); // it goes, or has gone
  for (const [id, own] of [[first, 'a'], [second, 'b']]) {
    target.reply(id, own);
    let { json } = await source.next();
    if (json.method) ({ json } = await source.next()); // what the target asked before the name had gone everywhere
    assert.deepEqual(json, { jsonrpc: '2.0', id: own, result: own });
  }
  await source.gone('the close behind the answers');
  const idle = await hub.peer();
  idle.notify('hub/finish');
  await idle.gone('the close where nothing is owed');
  const array = await hub.peer();
  array.send([{ jsonrpc: '2.0', id: 1, method: 'hub/finish' }, { jsonrpc: '2.0', id: 2, method: 'hub/ping' }]);
  const answers = (await array.next()).json;
  assertError(answers.find((one) => one.id === 1), -32600);
  assert.equal((await array.ask('hub/ping')).result, null);
});

scenario('hub/agents tells of every agent on every shard', EVERYWHERE, async (hub) => {
  const before = Date.now();
  const target = await hub.agent('busy', { methods: ['work'], testing: true }, { governanceLevel: 'supervised' });
  await hub.agent('idle', ['review', 'design']);
  const asker = await hub.agent('asker', { tasks: ['review'] });
  asker.send(requestText(1, 'work', {}));
  const { id } = (await target.next()).json;
  const { agents } = (await asker.ask('hub/agents', {})).result;
  const by = Object.fromEntries(agents.map((agent) => [agent.agentId, agent]));
  assert.deepEqual(Object.keys(by).sort(), ['asker', 'busy', 'idle']);
  assert.deepEqual(by.busy.capabilities, { methods: ['work'], testing: true });
  assert.deepEqual(by.idle.capabilities, ['review', 'design']);
  assert.deepEqual([by.busy.governanceLevel, by.idle.governanceLevel], ['supervised', 'autonomous']);
  assert.deepEqual([by.busy.pending, by.idle.pending], [1, 0]);
  const since = new Date(by.busy.connectedSince).getTime();
  assert.ok(since >= before - 60_000 && since <= Date.now() + 60_000, `connectedSince ${by.busy.connectedSince}`);
  target.reply(id);
  await asker.next();
});

scenario('hub/agents tells as much as a frame may hold, and no byte more', { options: ['--max-frame', '2000'] }, async (hub) => {
  const peer = await hub.peer();
  await peer.register('one', { note: '' });
  await peer.register('two', {}, { governanceLevel: 'human-in-the-loop' });
  const bytes = JSON.stringify((await peer.ask('hub/agents')).result).length;
  await peer.register('one', { note: 'x'.repeat(2000 - bytes) });
  assert.equal(JSON.stringify((await peer.ask('hub/agents')).result).length, 2000);
  await peer.register('one', { note: 'x'.repeat(2001 - bytes) });
  assertError(await peer.ask('hub/agents'), -32055);
});

scenario('hub/agents filters by capability', EVERYWHERE, async (hub) => {
  await hub.agent('object', { review: true, design: false });
  await hub.agent('array', ['review']);
  await hub.agent('tasks', { tasks: ['review', 'design'] });
  await hub.agent('none', { review: 0, other: 'review' });
  const peer = await hub.peer();
  const names = async (capability) =>
    (await peer.ask('hub/agents', { capability })).result.agents.map((agent) => agent.agentId).sort();
  assert.deepEqual(await names('review'), ['array', 'object', 'tasks']);
  assert.deepEqual(await names('design'), ['tasks']);
  assert.deepEqual(await names('nothing'), []);
});

const RESERVED = ['hub/ping', 'hub/mine', '$/cancelRequest', '$/mine', 'rpc.discover', 'initialize', 'initialized', 'exit',
  'shutdown', 'agent/register', 'agent/unregister'];

scenario("the hub's own names can not be offered", EVERYWHERE, async (hub) => {
  const peer = await hub.peer();
  const other = await hub.peer();
  for (const method of RESERVED) {
    const answer = await peer.ask('agent/register', { agentId: 'thief', capabilities: { methods: ['fine', method] } });
    assert.ok(answer.error, `${method} was offered: ${JSON.stringify(answer)}`);
  }
  assertError(await other.ask('fine', {}), -32601);
  assertError(await other.ask('hub/mine', {}), -32601);
  assert.equal((await other.ask('hub/ping', 'mine')).result, 'mine');
});

scenario('they are answered by the hub whatever params say', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  assert.deepEqual((await source.ask('hub/ping', { targetAgent: 'target' })).result, { targetAgent: 'target' });
  assert.equal((await source.ask('hub/agents', { targetAgent: 'target' })).result.agents.length, 1);
  const answer = await source.ask('agent/register', { targetAgent: 'target', agentId: 'me', capabilities: {} });
  assert.deepEqual(answer.result, { agentId: 'me', registered: true });
  await target.silent("the hub's own methods");
});

scenario('the level of an agent: its own field, or the one in its capabilities', EVERYWHERE, async (hub) => {
  const levels = ['autonomous', 'supervised', 'human-in-the-loop', 'manual'];
  const source = await hub.peer();
  for (const [own, level] of levels.entries()) {
    const more = own % 2 === 0 ? { governanceLevel: level } : {};
    const capabilities = own % 2 === 0 ? {} : { governanceLevel: level };
    (await hub.agent(`agent-${own}`, capabilities, more)).serve(() => level);
    for (const [required, text] of levels.entries()) {
      const answer = await source.ask('m', { targetAgent: `agent-${own}` }, `Governance-Level: ${text}`);
      if (required <= own) {
        assert.equal(answer.result, level);
        continue;
      }
      const data = JSON.stringify(assertError(answer, -32011, `${text} to ${level}`).data);
      assert.ok(data.includes(text) && data.includes(level), data);
    }
  }
  const bad = await source.ask('agent/register', { agentId: 'x', capabilities: {}, governanceLevel: 'strict' });
  assertError(bad, -32602);
});
