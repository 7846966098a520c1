// The gate against a real hub: messages held over each transport, with `patchbay approvals` (PATCHBAY) as the
// operator's client. A hub that drains owes nothing in the end.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { Broker, joining, linked } from './cluster.mjs';
import { Hub, scenario } from './hub.mjs';
import { assertError, within } from './peer.mjs';
import { upgraded } from './websocket.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the client to test');
const MANUAL = 'Governance-Level: manual', OPTIONS = ['--gate', 'manual', '--http', '127.0.0.1:0'];

// Runs the client to its end.
function patchbay(hub, ...args) {
  const run = new Promise((resolve) => {
    execFile(program, ['--hub', hub.uri('tcp'), ...args], (error, stdout, stderr) => {
      resolve({ status: error ? error.code : 0, stdout, stderr });
    });
  });
  return within(run, `patchbay ${args.join(' ')}`);
}

async function approver(hub) {
  const peer = await hub.peer('tcp');
  await peer.ask('hub/subscribe', { events: ['approval-needed'] });
  return peer;
}

// The next message that is held, as those who may approve are told.
async function held(peer) {
  const { json } = await peer.find((body) => body.json.params?.event === 'approval-needed', 'approval-needed');
  return json.params.data;
}

const deploy = (id, more = {}) => ({ jsonrpc: '2.0', id, method: 'deploy', params: { targetAgent: 'b', ...more } });

scenario('what a WebSocket, a POST and a stream of frames send is held alike', { shards: [1, 2], transports: ['tcp'], options: OPTIONS }, async (hub) => {
  const agent = await hub.agent('b');
  agent.serve(() => 'done');
  const human = await approver(hub);
  const framed = await hub.peer('tcp');
  const socket = await upgraded(hub.uri('http'), [MANUAL]);
  hub.peers.push(socket);
  framed.send(deploy(1), MANUAL);
  socket.send(deploy(2));
  const posted = fetch(`${hub.uri('http')}/rpc`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'Governance-Level': 'manual' }, body: JSON.stringify(deploy(3)),
  });
  const waiting = [await held(human), await held(human), await held(human)];
  assert.deepEqual(waiting.map(({ artifact }) => JSON.parse(artifact.preview).id).sort(), [1, 2, 3]);
  const { result } = await human.ask('hub/approvals');
  assert.deepEqual(result.approvals.map(({ checkpoint }) => checkpoint).sort(), waiting.map(({ checkpoint }) => checkpoint).sort());
  for (const { checkpoint } of waiting) {
    assert.match(checkpoint, /^gate:[0-9a-f]{32}$/);
    const answer = await human.ask('governance/approval', { checkpoint, artifact: {}, approver: 'u', decision: 'approved' });
    assert.deepEqual(answer.result, { checkpoint, applied: true });
  }
  assert.deepEqual((await framed.next()).json.result, 'done');
  assert.deepEqual((await socket.next()).json.result, 'done');
  assert.deepEqual((await (await posted).json()).result, 'done');
});

scenario('the client lists, without control characters, and decides', { shards: [2], transports: ['tcp'], options: OPTIONS }, async (hub) => {
  (await hub.agent('b')).serve(() => 'done');
  const human = await approver(hub), source = await hub.peer('tcp');
  assert.deepEqual(await patchbay(hub, 'approvals'), { status: 0, stdout: '', stderr: '' });
  source.send(deploy(1, { text: 'x\u009b2J\u202e', ['deep']: { quiet: true } }), MANUAL);
  const { checkpoint } = await held(human);
  const listed = await patchbay(hub, 'approvals');
  assert.equal(listed.status, 0);
  assert.ok(listed.stdout.startsWith(`${checkpoint}\n`) && listed.stdout.includes('x\\u009b2J\\u202e'), listed.stdout);
  assert.doesNotMatch(listed.stdout, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  const told = await patchbay(hub, 'approvals', 'reject', checkpoint, '--feedback', 'not "now"');
  assert.deepEqual(told, { status: 0, stdout: '', stderr: '' });
  const refused = (await source.next()).json;
  assertError(refused, -32011);
  assert.equal(refused.error.data.feedback, 'not "now"');
  const late = await patchbay(hub, 'approvals', 'approve', checkpoint);
  assert.equal(late.status, 1);
  assert.match(late.stderr, /not any more/);
  source.send(deploy(2), MANUAL);
  assert.equal((await patchbay(hub, 'approvals', 'approve', (await held(human)).checkpoint)).status, 0);
  assert.equal((await source.next()).json.result, 'done');
  source.send(deploy(3), MANUAL);
  assert.equal((await patchbay(hub, 'approvals', 'revise', (await held(human)).checkpoint)).status, 0);
  assertError((await source.next()).json, -32012);
  assert.equal((await patchbay(hub, 'approvals', 'approve', 'code-review')).status, 2);
  assert.equal((await patchbay(hub, 'approvals', 'approve')).status, 2);
});

test('a hub that drains answers all that it holds at once', async () => {
  const hub = await Hub.start(['--gate', 'manual', '--shards', '2', '--drain-timeout', '1h']);
  assert.match(hub.stderr, /--gate without --users: any other connection may approve/);
  await hub.agent('b');
  const human = await approver(hub), sources = [await hub.peer('tcp'), await hub.peer('tcp'), await hub.peer('tcp')];
  for (const source of sources) {
    source.send(deploy(1), MANUAL);
    source.notify('deploy', { targetAgent: 'b' }, MANUAL);
    await held(human);
    await held(human);
  }
  const stopped = hub.ended();
  hub.process.kill('SIGTERM');
  for (const source of sources) assertError((await source.next()).json, -32050);
  await stopped;
  hub.clean();
});

test('what is for elsewhere is refused at once while there is no link, and not held', async () => {
  const hub = await Hub.start([...joining('nats://127.0.0.1:1'), '--gate', 'manual']);
  const [source, decides] = [await hub.peer(), await hub.peer()];
  await decides.ask('hub/subscribe', { events: ['approval-needed'] });
  for (const [method, params] of [['work', { targetAgent: 'b' }], ['work', { targetAgent: '@review' }], ['tests/run', {}]]) {
    const { error } = await source.ask(method, params, 'Governance-Level: manual');
    assert.deepEqual([error.code, error.data.link], [-32050, 'down']);
  }
  assert.deepEqual((await decides.ask('hub/approvals', {})).result.approvals, []);
  await decides.silent('what is not held');
  await hub.stop();
});

for (const count of [1, 2])
  test(`what nobody is there for at any hub is refused at once, what is for elsewhere is held (--shards ${count})`, async () => {
    const broker = await Broker.start(), hubs = [];
    for (let each = 0; each < 2; each++) hubs.push(await Hub.start([...joining(broker), '--shards', String(count), '--gate', 'manual']));
    const [x, y] = hubs;
    await Promise.all(hubs.map((hub) => linked(hub)));
    const agent = (await y.agent('b', { review: true, methods: ['work', 'governance/approval'], tools: ['lint'] })).serve(({ params }) => params.n);
    const [source, decides] = [await x.peer(), await x.peer()];
    await decides.ask('hub/subscribe', { events: ['approval-needed'] });
    const nowhere = [['work', { targetAgent: 'c' }, -32010], ['work', { targetAgent: '@else' }, -32010], ['else', {}, -32601],
      ['tool/integration', { tool: 'else', arguments: {} }, -32002], ['command/execute', { command: 'else' }, -32601]];
    for (const [method, params, code] of nowhere) assertError(await source.ask(method, params, MANUAL), code);
    await decides.silent('what is for nobody');
    const there = [['work', { targetAgent: 'b' }], ['work', { targetAgent: '@review' }], ['work', {}], ['tool/integration', { tool: 'lint', arguments: {} }],
      ['governance/approval', { checkpoint: 'c', artifact: {}, approver: 'nobody', decision: 'approved' }]];
    for (const [n, [method, params]] of there.entries()) {
      const asked = source.ask(method, { ...params, n }, MANUAL);
      const { checkpoint } = (await decides.next()).json.params.data;
      await decides.ask('governance/approval', { checkpoint, artifact: {}, approver: 'x', decision: 'approved' });
      assert.equal((await asked).result, n);
    }
    source.send({ jsonrpc: '2.0', id: 'c', method: 'work', params: {} }, MANUAL);
    source.send({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: 'c' } });
    assertError((await source.next()).json, -32800);
    assert.deepEqual((await decides.ask('hub/approvals', {})).result.approvals, []);
    agent.drop();
    for (const hub of hubs) await hub.stop();
    await broker.kill();
  });
