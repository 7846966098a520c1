// --validate strict: all of a body is JSON, messages are what JSON-RPC 2.0 and HugAI v2 say, and nobody sends in
// another one's name. Some messages that lazy validation lets pass are refused here, and nothing else changes.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, frame } from './peer.mjs';

const STRICT = { options: ['--validate', 'strict'] };
const LEVEL = { governanceLevel: 'supervised' };
const LEVELS = 'autonomous, supervised, human-in-the-loop or manual';

async function pair(hub) {
  const target = await hub.agent('target', {}, LEVEL);
  const source = await hub.agent('source', {}, LEVEL);
  return { target, source };
}

const counter = async (peer, name) => (await peer.ask('hub/stats')).result[name];

// Each body is answered with that error and id null, and the connection goes on.
async function allRefused(hub, code, bodies) {
  const { target, source } = await pair(hub);
  for (const body of bodies) {
    source.send(body);
    const answer = (await source.next(`the answer to ${body}`)).json;
    assertError(answer, code, String(body));
    assert.strictEqual(answer.id, null, String(body));
  }
  await source.silent('bodies that were refused');
  await target.silent('bodies that were refused');
}

scenario('initialize names the depth', STRICT, async (hub) => {
  const peer = await hub.peer();
  const params = { processId: null, agentId: 'a', capabilities: {}, governanceLevel: 'manual' };
  assert.equal((await peer.ask('initialize', params)).result.capabilities.validation, 'strict');
});

scenario('initialize names the other depth', {}, async (hub) => {
  assert.equal((await (await hub.peer()).ask('initialize', {})).result.capabilities.validation, 'lazy');
});

const call = (params) => `{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`;

scenario('JSON is judged as deep as it goes', { ...STRICT, shards: [1, 2] }, (hub) => allRefused(hub, -32700, [
  call('{"targetAgent":"target","x":[1 2]}'), call('{"targetAgent":"target","x":{"a":[{"b":01}]}}'),
  call('{"targetAgent":"target","x":[tru]}'), call('{"targetAgent":"target","x":"\\q"}'),
  call('{"targetAgent":"target","x":["\n"]}'), call('{"targetAgent":"target","x":{"a":1,}}'),
  call('{"targetAgent":"target","x":[{]}]}'), call('[{"a"}]'),
  '{"jsonrpc":"2.0","method":"m","params":{"targetAgent":"target","x":[1,]}}',
  '[{"jsonrpc":"2.0","id":1,"method":"hub/ping"},{"jsonrpc":"2.0","id":2,"method":"hub/ping","params":[1,,2]}]',
]));

scenario('what nests too deeply, and what is no UTF-8, is -32600', STRICT, (hub) => allRefused(hub, -32600, [
  call(`{"targetAgent":"target","x":${'['.repeat(2000)}${']'.repeat(2000)}}`),
  Buffer.from(call('{"targetAgent":"target","x":["\xff"]}'), 'latin1'),
]));

scenario('the fault has its offset in the frame', STRICT, async (hub) => {
  const peer = await hub.peer();
  const body = call('{"x":[1 2]}');
  peer.send(body);
  const { data } = assertError((await peer.next()).json, -32700);
  assert.equal(data.offset, frame(body).length - body.length + body.indexOf('2]'));
});

scenario('keys in another case are -32600', STRICT, (hub) => allRefused(hub, -32600, [
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping","ID":2}', '{"jsonrpc":"2.0","id":1,"method":"hub/ping","Method":"exit"}',
  '{"JSONRPC":"2.0","id":1,"method":"hub/ping"}', '{"jsonrpc":"2.0","Id":1,"method":"hub/ping"}',
  '{"jsonrpc":"2.0","id":1,"method":"hub/ping","Params":{}}', '{"jsonrpc":"2.0","id":1,"method":"hub/ping","rEsult":{}}',
  call('{"targetAgent":"target","TargetAgent":"other"}'), call('{"targetagent":"target"}'),
  call('{"targetAgent":"target","_Meta":{}}'), call('{"targetAgent":"target","_meta":{"ProgressToken":1}}'),
  call('{"targetAgent":"target","sourceA\\u0047ent":"x"}'), call('{"targetAgent":"target","to\\u212aen":1}'),
]));

scenario('keys in another case elsewhere are free', STRICT, async (hub) => {
  const { target, source } = await pair(hub);
  const params = { targetAgent: 'target', Task: 1, context: { ID: 1, TargetAgent: 2 }, Method: 3 };
  source.send({ jsonrpc: '2.0', id: 9, method: 'm', params });
  assert.deepEqual((await target.next()).json.params, params);
});

scenario('the version is required', { ...STRICT, shards: [1, 2] }, async (hub) => {
  const { target, source } = await pair(hub);
  for (const version of ['', '"jsonrpc":"1.0",', '"jsonrpc":2.0,', '"jsonrpc":null,']) {
    for (const method of ['hub/ping', 'm']) {
      source.send(`{${version}"id":"v","method":"${method}","params":{"targetAgent":"target"}}`);
      const answer = (await source.next()).json;
      assert.deepEqual(assertError(answer, -32602, version).data, { field: 'jsonrpc', expected: '2.0' });
      assert.equal(answer.id, 'v');
    }
  }
  await target.silent('requests of no version');
});

// Each method: params that fit, and for each of its fields what must be there.
const METHODS = {
  initialize: [{ processId: 1, agentId: 'i', capabilities: {}, governanceLevel: 'manual' },
    { processId: 'number or null', agentId: 'string', capabilities: 'object or array', governanceLevel: LEVELS }],
  'agent/register': [{ agentId: 'again', capabilities: [], governanceLevel: 'autonomous' },
    { agentId: 'string', capabilities: 'object or array', governanceLevel: LEVELS }],
  'agent/request': [{ sourceAgent: 'source', targetAgent: 'target', task: 't' },
    { sourceAgent: 'string', targetAgent: 'string', task: 'string' }],
  event: [{ event: 'e', data: {} }, { event: 'string' }],
  'governance/approval': [{ checkpoint: 'c', artifact: {}, approver: 'target', decision: 'approved' },
    { checkpoint: 'string', artifact: 'object', approver: 'string', decision: 'approved, rejected or needs_revision' }],
  'tool/integration': [{ tool: 't', action: 'a', targetAgent: 'target' }, { tool: 'string', action: 'string' }],
  'audit/log': [{ action: 'a', actor: 'b', timestamp: 't', targetAgent: 'target' },
    { action: 'string', actor: 'string', timestamp: 'string' }],
};

scenario('each method has its required fields', STRICT, async (hub) => {
  const { target, source } = await pair(hub);
  target.serve(() => 'served');
  for (const [method, [fits, fields]] of Object.entries(METHODS)) {
    const good = await source.ask(method, fits);
    if (good.error) assert.notEqual(good.error.code, -32602, `${method} ${JSON.stringify(good)}`);
    for (const [name, expected] of Object.entries(fields)) {
      for (const value of [undefined, true]) {
        const answer = await source.ask(method, { ...fits, [name]: value });
        assert.deepEqual(assertError(answer, -32602, `${method} ${name}`).data, { field: `params.${name}`, expected });
      }
    }
    assert.deepEqual(assertError(await source.ask(method, [1]), -32602).data, { field: 'params', expected: 'object' });
  }
});

scenario('some fields have allowed values', STRICT, async (hub) => {
  const { target, source } = await pair(hub);
  target.serve(() => 'served');
  const request = { sourceAgent: 'source', targetAgent: 'target', task: 't' };
  for (const priority of ['low', 'medium', 'high', 'critical'])
    assert.equal((await source.ask('agent/request', { ...request, priority })).result, 'served');
  for (const priority of ['High', '', null])
    assert.deepEqual(assertError(await source.ask('agent/request', { ...request, priority }), -32602).data,
      { field: 'params.priority', expected: 'low, medium, high or critical' });
  const inside = { agentId: 'inside', capabilities: { governanceLevel: 'manual' } };
  assert.ok((await source.ask('agent/register', inside)).result);
});

scenario('a notification that is refused is counted', { ...STRICT, shards: [1, 2] }, async (hub) => {
  const { target, source } = await pair(hub);
  const before = await counter(source, 'dropped_notifications_refused');
  source.notify('event', { data: {} });
  source.notify('agent/request', { targetAgent: 'target', task: 't' });
  source.notify('m', { targetAgent: 'target', sourceAgent: 'target' });
  source.send({ method: 'm', params: { targetAgent: 'target' } });
  await source.silent('notifications that were refused');
  assert.equal(await counter(source, 'dropped_notifications_refused'), before + 4);
  await target.silent('notifications that were refused');
});

scenario('a source is an agent of the connection that names it', { ...STRICT, shards: [1, 2] }, async (hub) => {
  const { target, source } = await pair(hub);
  target.serve(() => 'served');
  const ask = (sourceAgent, peer = source) => peer.ask('m', { targetAgent: 'target', sourceAgent });
  assert.equal((await ask('source')).result, 'served');
  assert.equal((await ask(undefined)).result, 'served');
  await source.register('second', {}, LEVEL);
  assert.equal((await ask('second')).result, 'served');
  for (const name of ['target', 'nobody', '', 'x'.repeat(300)])
    assert.equal(assertError(await ask(name), -32001, name).data.field, 'params.sourceAgent');
  assert.deepEqual(assertError(await ask(7), -32602).data, { field: 'params.sourceAgent', expected: 'string' });
  assertError(await ask('source', await hub.peer()), -32001);
  await source.ask('agent/unregister', { agentId: 'second' });
  assertError(await ask('second'), -32001);
  assertError(await source.ask('hub/ping', { sourceAgent: 'target' }), -32001);
});

scenario('lazy validation lets all of that pass', {}, async (hub) => {
  const target = (await hub.agent('target')).serve(() => 'served');
  const source = await hub.peer();
  assert.equal((await source.ask('agent/request', { targetAgent: 'target', sourceAgent: 'target' })).result, 'served');
  source.send('{"id":"x","method":"m","params":{"targetAgent":"target","TargetAgent":1,"x":[1 2]}}');
  target.answers = undefined;
  assert.match((await target.next()).text, /"x":\[1 2\]/);
});

// A response that strict validation refuses ends its request with an internal error.
scenario('a broken response ends its request', { ...STRICT, shards: [1, 2] }, async (hub) => {
  const { target, source } = await pair(hub);
  const broken = [(id) => `{"jsonrpc":"2.0","id":${id},"result":[1 2]}`, (id) => `{"id":${id},"result":1}`,
    (id) => `{"jsonrpc":"1.0","id":${id},"result":1}`, (id) => `{"jsonrpc":"2.0","id":${id},"result":1,"ID":7}`,
    (id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":01}}`,
    (id) => Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":["\xff"]}`, 'latin1')];
  for (const body of broken) {
    const answer = source.ask('m', { targetAgent: 'target' });
    target.send(body((await target.next()).json.id));
    assertError(await answer, -32603, String(body(0)));
  }
  assert.equal(await counter(source, 'dropped_responses_broken'), broken.length);
});

scenario('members of a batch are judged each by itself', STRICT, async (hub) => {
  const { target, source } = await pair(hub);
  target.serve(() => 'served');
  const params = { targetAgent: 'target' };
  source.send([{ jsonrpc: '2.0', id: 1, method: 'm', params }, { id: 2, method: 'm', params },
    { jsonrpc: '2.0', id: 3, method: 'event', params: {} }, { jsonrpc: '2.0', id: 4, method: 'm', Method: 'n', params }]);
  const answers = new Map((await source.next()).json.map((answer) => [answer.id, answer]));
  assert.equal(answers.get(1).result, 'served');
  assert.equal(assertError(answers.get(2), -32602).data.field, 'jsonrpc');
  assert.equal(assertError(answers.get(3), -32602).data.field, 'params.event');
  assertError(answers.get(null), -32600);
  assert.equal(answers.size, 4);
});

scenario('initialize comes first where it is required', { options: ['--validate', 'strict', '--require-initialize'] },
  async (hub) => {
    const peer = await hub.peer();
    assertError(await peer.ask('event', {}), -32054);
    assertError(await peer.ask('initialize', {}), -32602);
    assertError(await peer.ask('hub/ping'), -32054);
  });
