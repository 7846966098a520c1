// The gate where users are on: the right to decide and to see, the name in a decision, and the key `hold`. Rights are
// judged anew when a held message goes on.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Hub } from './hub.mjs';
import { assertError } from './peer.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-gate-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const MANUAL = 'Governance-Level: manual';
const file = (ci) => [
  ['ci', ci],
  ['agents', 'register = *\noffer = @*, method:*\nlevel = manual'],
  ['ann', 'admin = yes\nregister = ann\ncall = *\nlevel = manual'],
  ['bob', 'admin = yes\nsubscribe = *'],
  ['eve', 'subscribe = *\ncall = *'],
].map(([name, rights]) => `[user ${name}]\ntoken = sha256:${createHash('sha256').update(name).digest('hex')}\n${rights}\n`).join('');
const CI = 'call = *, @*, method:*\nhold = deploy-*, method:prod/*, @risky, event:release-*\npublish = *';

// A hub with these users, and connections of some of them.
async function withUsers(run, { shards = '2', ci = CI, options = [] } = {}) {
  const users = join(directory, `${shards}${options.length}.users`);
  writeFileSync(users, file(ci));
  const hub = await Hub.start(['--gate', 'manual', '--shards', shards, '--http', '127.0.0.1:0', '--users', users, ...options]);
  const as = async (token, ...subscriptions) => {
    const peer = await hub.peer('tcp');
    assert.ok((await peer.ask('initialize', { token })).result, token);
    if (subscriptions.length) assert.ok((await peer.ask('hub/subscribe', { events: subscriptions })).result);
    return peer;
  };
  const failures = [];
  await run(hub, as, (text) => writeFileSync(users, file(text))).catch((error) => failures.push(error));
  await hub.stop().catch((error) => failures.push(error));
  if (failures.length) throw failures[0];
}

async function held(peer) {
  const { json } = await peer.find((body) => body.json.params?.event === 'approval-needed', 'approval-needed');
  return json.params.data;
}

const decide = (peer, checkpoint, decision = 'approved') => peer.ask('governance/approval', { checkpoint, artifact: {}, approver: 'somebody', decision });

for (const shards of ['1', '2']) {
  test(`admins alone decide, and not on what their own user sent (--shards ${shards})`, () => withUsers(async (hub, as) => {
    const agent = await as('agents');
    await agent.register('b');
    const ann = await as('ann'), again = await as('ann', 'approval-needed'), bob = await as('bob', '*'), eve = await as('eve', '*');
    agent.serve(() => 'done');
    ann.send({ jsonrpc: '2.0', id: 1, method: 'm', params: { targetAgent: 'b' } }, MANUAL);
    const { checkpoint, artifact } = await held(bob);
    assert.equal(artifact.user, 'ann');
    for (const [peer, rule] of [[eve, 'admin'], [again, 'own'], [ann, 'own']]) {
      const refused = await decide(peer, checkpoint);
      assertError(refused, -32001);
      assert.equal(refused.error.data.rule, rule);
    }
    assertError(await decide(eve, 'gate:00000000000000000000000000000000'), -32001);
    assertError(await eve.ask('hub/approvals'), -32001);
    assert.equal((await again.ask('hub/approvals')).result.approvals.length, 1);
    await eve.silent('eve hears of nothing that is held');
    await again.silent('nor does another connection of the same user');
    assert.equal((await decide(bob, checkpoint, 'rejected')).result.applied, true);
    const { error } = (await ann.next()).json;
    assert.deepEqual([error.code, error.data.approver], [-32011, 'bob'], 'the user decides, whatever the message says');
  }, { shards }));
}

test('a hold holds what its user sends there, whatever its level; nobody else is held', () => withUsers(async (hub, as) => {
  const agent = await as('agents'), heard = [];
  for (const id of ['deploy-1', 'plain']) await agent.register(id, id === 'plain' ? ['risky', 'safe'] : { methods: ['prod/x', 'other'] });
  agent.serve(({ method }) => heard.push(method) && method);
  const bob = await as('bob', 'approval-needed'), ci = await as('ci'), eve = await as('eve', 'release-*');
  const messages = [
    ['a', { targetAgent: 'deploy-1' }], ['prod/x', {}], ['prod/x', { targetAgent: 'plain' }], ['b', { targetAgent: '@risky' }],
    ['other', {}], // goes to deploy-1 by its method
  ];
  for (const [index, [method, params]] of messages.entries()) {
    ci.send({ jsonrpc: '2.0', id: index + 1, method, params });
    const { checkpoint, artifact } = await held(bob);
    assert.deepEqual([artifact.method, artifact.user, artifact.governanceLevel], [method, 'ci', 'autonomous']);
    assert.equal((await decide(bob, checkpoint)).result.applied, true);
    assert.equal((await ci.next()).json.result, method);
  }
  assert.equal((await ci.ask('c', { targetAgent: '@safe' })).result, 'c', 'what no hold names goes on at once');
  assert.equal((await eve.ask('a', { targetAgent: 'deploy-1' })).result, 'a', 'nor is what others send there held');
  ci.notify('event', { event: 'release-1' });
  const release = await held(bob);
  await eve.silent('a held event');
  await decide(bob, release.checkpoint);
  assert.equal((await eve.next()).json.params.event, 'release-1');
}));

test('a stream can\'t be held: where a hold names its producer there is none', () => withUsers(async (hub, as) => {
  const agent = await as('agents');
  for (const id of ['deploy-1', 'plain']) await agent.register(id, { hcs: true, risky: id === 'plain' });
  const ci = await as('ci'), eve = await as('eve');
  const start = (request_id, targetAgent) => ({ type: 'start', request_id, session_id: request_id, targetAgent });
  for (const target of ['deploy-1', '@risky']) {
    ci.send(start('r', target));
    const { json } = await ci.next();
    assert.deepEqual([json.type, json.refused, json.code], ['error', 'start', 'INVALID_REQUEST'], target);
  }
  eve.send(start('s', 'deploy-1'));
  assert.equal((await agent.next('the start of who is not held')).json.session_id, 's');
  ci.send({ ...start('s', undefined), request_id: 'q' });
  assert.equal((await ci.next()).json.type, 'error', 'nor is one joined');
  ci.send(start('t', 'plain'));
  assert.equal((await agent.next('the start of what is not held')).json.session_id, 't');
}));

test('what is held counts among what its user has pending, notifications too', () => withUsers(async (hub, as) => {
  const agent = await as('agents');
  for (const id of ['deploy-1', 'plain']) await agent.register(id);
  agent.serve(() => 'done');
  const bob = await as('bob', 'approval-needed'), ci = await as('ci');
  for (let n = 0; n < 3; n++) ci.notify('m', { targetAgent: 'deploy-1' });
  const checkpoints = [];
  for (let n = 0; n < 3; n++) checkpoints.push((await held(bob)).checkpoint);
  assertError(await ci.ask('m', { targetAgent: 'plain' }), -32052);
  await decide(bob, checkpoints[0]);
  assert.equal((await ci.ask('m', { targetAgent: 'plain' })).result, 'done');
}, { ci: `${CI}\npending = 3` }));

test('what came over HTTP is its user\'s when it goes on; rights that have gone meanwhile are gone', () => withUsers(async (hub, as, rewrite) => {
  const agent = await as('agents');
  await agent.register('b');
  agent.serve(() => 'done');
  const bob = await as('bob', 'approval-needed');
  const post = (level) => fetch(`${hub.uri('http')}/rpc`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Governance-Level': level, Authorization: 'Bearer ci' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'm', params: { targetAgent: 'b' } }),
  }).then((response) => response.json());
  let answer = post('manual');
  let waiting = await held(bob);
  assert.equal(waiting.artifact.user, 'ci');
  assert.equal((await decide(bob, waiting.checkpoint)).result.applied, true);
  assert.equal((await answer).result, 'done');
  answer = post('manual');
  waiting = await held(bob);
  rewrite('call = nothing');
  hub.process.kill('SIGHUP');
  while ((await post('autonomous')).error?.code !== -32001); // until the file has been read again
  assert.equal((await decide(bob, waiting.checkpoint)).result.applied, true);
  assertError(await answer, -32001);
}));

test('what is held goes where its connection was attached to then, by the rights to that one', () => withUsers(async (hub, as, rewrite) => {
  for (const id of ['b', 'c']) (await (await as('agents')).register(id)).serve(() => id);
  const bob = await as('bob', 'approval-needed'), source = await as('ci');
  await source.ask('hub/attach', { agent: 'b' });
  source.send({ jsonrpc: '2.0', id: 'held', method: 'm', params: {} }, MANUAL);
  const { checkpoint } = await held(bob);
  await source.ask('hub/attach', { agent: 'c' });
  rewrite('call = c');
  hub.process.kill('SIGHUP');
  while ((await source.ask('m', { targetAgent: 'b' })).error?.code !== -32001); // until the file has been read again
  assert.equal((await source.ask('m', {})).result, 'c');
  assert.equal((await decide(bob, checkpoint)).result.applied, true);
  assertError((await source.next()).json, -32001);
  assert.equal((await source.ask('m', {})).result, 'c');
}));

test('a quarter of what may be held is one user\'s, over all connections', () => withUsers(async (hub, as) => {
  await (await as('agents')).register('b');
  const bob = await as('bob', 'approval-needed'), one = await as('ci'), other = await as('ci');
  const send = (peer, id) => peer.send({ jsonrpc: '2.0', id, method: 'm', params: { targetAgent: 'b' } }, MANUAL);
  send(one, 1);
  await held(bob);
  send(other, 2);
  await held(bob);
  send(other, 3);
  assertError((await other.next()).json, -32052);
  one.notify('$/cancelRequest', { id: 1 });
  assertError((await one.next()).json, -32800);
  send(other, 4);
  await held(bob);
}, { options: ['--max-held', '8'] }));

test('a gate that nobody may decide at is told where the configuration is read', () => {
  const path = join(directory, 'nobody.users');
  const said = (admin, ...gate) => {
    writeFileSync(path, `[user ci]\ntoken = sha256:${'0'.repeat(64)}\nadmin = ${admin}\n`);
    const { status, stderr } = spawnSync(process.env.PATCHBAYD, ['--check', '--sandbox', 'off', ...gate, '--users', path], { encoding: 'utf8' });
    return [status, stderr];
  };
  assert.deepEqual(said('no', '--gate', 'manual'), [0, `patchbayd: ${path}: expected a user with admin = yes: nobody can approve what --gate holds\n`]);
  assert.deepEqual(said('yes', '--gate', 'manual'), [0, '']);
  assert.deepEqual(said('no'), [0, '']);
});
