// What hubs say to each other about requests, as the contract has it. A client of the NATS server plays a hub that says
// only what the test tells it.
import assert from 'node:assert/strict';
import { Client, joined, until } from './cluster.mjs';
import { fourAtOnce } from './parallel.mjs';
import { assertError } from './peer.mjs';
import { framed, Played, unframed } from './played.mjs';

fourAtOnce();

const stats = async (peer) => (await peer.ask('hub/stats')).result;

// A played hub that beats, with a member under `to`; and this hub's name.
async function member(broker, to, options) {
  const played = await Played.join(broker, options);
  await played.client.subscribe(`${played.root}.${played.realm}.${to} g`);
  played.beats();
  return played;
}

joined('a request crosses as its peer\'s frame, with the hub\'s line before it', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await member(broker, 'agent.z'), source = await x.agent('build-agent');
  const answered = source.ask('work', { targetAgent: 'z', sourceAgent: 'build-agent', text: 'Patchbay: x\r\n' },
    'Custom-Timeout-Ms: 5000\r\nX-Field: NATS/1.0\r\nPatchbay: forged');
  const request = await played.request('agent.z');
  const [, time] = new RegExp(`^NATS/1\\.0\r\nPatchbay: ${request.hub} time=(\\d+) agent=build-agent\r\n\r\n$`).exec(request.said);
  assert.ok(Number(time) > 4000 && Number(time) <= 5000, time);
  assert.match(request.fields, /Content-Length: \d+\r\n/);
  assert.match(request.fields, /X-Field: NATS\/1\.0\r\nPatchbay: forged\r\n/);
  assert.equal(request.message.id, request.number);
  assert.deepEqual([request.message.method, request.message.params.text], ['work', 'Patchbay: x\r\n']);
  played.answer(request, { result: 'done' });
  assert.equal((await answered).result, 'done');
  played.drop();
});

joined('nobody there: -32010, -32601, -32002, and the next rule', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const source = await x.peer();
  assertError(await source.ask('work', { targetAgent: 'z' }), -32010);
  assertError(await source.ask('work', {}), -32601);
  assertError(await source.ask('tool/integration', { tool: 't', arguments: {} }), -32002);
  const before = (await stats(source)).cluster_requests_unheard;
  assert.ok(before >= 3);
  // An approver that is nowhere, then the method.
  const played = await member(broker, 'method.governance_2Fapproval');
  const answered = source.ask('governance/approval', { checkpoint: 'c', artifact: {}, approver: 'nobody', decision: 'approved' });
  played.answer(await played.request('method.governance_2Fapproval'), { result: 'by its method' });
  assert.equal((await answered).result, 'by its method');
  played.drop();
});

joined('what nobody took within 2.5 s ends, and whoever takes it then is told', { hubs: [[]] }, async (x, broker) => {
  const played = await member(broker, 'agent.z'), source = await x.peer(), begun = Date.now();
  const answered = source.ask('work', { targetAgent: 'z' });
  const request = await played.request('agent.z');
  assert.deepEqual(assertError(await answered, -32050).data, { agent: 'z', reason: 'not taken' });
  assert.ok(Date.now() - begun > 2000 && Date.now() - begun < 4000);
  played.tell(request.hub, 'taken', [request.number]);
  const { body } = unframed((await played.told('cancel')).text);
  assert.deepEqual(JSON.parse(body), { jsonrpc: '2.0', method: '$/cancelRequest', params: { id: request.number } });
  const before = (await stats(source)).cluster_answers_late;
  played.answer(request, { result: 'late' });
  await until('its answer is counted', async () => (await stats(source)).cluster_answers_late === before + 1);
  assert.equal((await stats(source)).cluster_requests_not_taken, 1);
  await source.silent('an answer to what has ended');
  played.drop();
});

joined('taken in one message for all; progress, held and an answer count, too', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await Played.join(broker), agent = await x.agent('b');
  played.beats();
  for (const number of [7, 9, 9007199254740991]) played.ask('agent.b', number, { method: 'work' });
  assert.deepEqual(await played.toldJson('taken'), [7, 9, 9007199254740991]);
  const asked = [];
  for (let n = 0; n < 3; n++) asked.push((await agent.next()).json);
  agent.reply(asked[0].id, 'done');
  assert.deepEqual(await played.result(7), { jsonrpc: '2.0', id: 7, result: 'done' });
  await played.client.subscribe('patchbay.test.1.agent.z g');
  const source = await x.peer(), answered = source.ask('work', { targetAgent: 'z', workDoneToken: 't' });
  const request = await played.request('agent.z');
  played.tell(request.hub, 'progress');
  const token = request.message.params.workDoneToken;
  const progress = framed(JSON.stringify({ jsonrpc: '2.0', method: '$/progress', params: { token, value: 1 } }));
  played.publish(`hub.${request.hub}.progress`, progress);
  assert.deepEqual((await source.next()).json.params, { token: 't', value: 1 });
  const later = source.ask('work', { targetAgent: 'z' }); // which nobody takes
  await played.request('agent.z');
  assert.equal(assertError(await later, -32050).data.reason, 'not taken');
  played.answer(request, { result: 'done' });
  assert.equal((await answered).result, 'done');
  played.drop();
});

joined('an answer counts from the hub that took it alone', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await member(broker, 'agent.z'), other = await Played.join(broker), source = await x.peer();
  other.beats();
  const answered = source.ask('work', { targetAgent: 'z' });
  const request = await played.request('agent.z'), before = (await stats(source)).cluster_answers_late;
  played.tell(request.hub, 'taken', [request.number]);
  await played.client.settled();
  other.answer(request, { result: 'forged' });
  const stranger = await Client.join(broker);
  stranger.publish(request.reply, '{"jsonrpc":"2.0","id":1,"result":"forged"}');
  await until('both are dropped', async () => (await stats(source)).cluster_answers_late === before + 2);
  played.answer(request, { result: 'its own' });
  assert.equal((await answered).result, 'its own');
  for (const one of [played, other]) one.drop();
  stranger.drop();
});

joined('a cancel comes behind its request, at the hub that took it or at all', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await member(broker, 'agent.z'), source = await x.peer(), agent = await x.agent('b');
  await played.client.subscribe('patchbay.test.hubs.cancel');
  const cancelled = async (to, id) => {
    source.send({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent: 'z' } });
    const request = await played.request('agent.z');
    if (to !== 'all') played.tell(request.hub, 'taken', [request.number]);
    await played.client.settled();
    source.send({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id } });
    const subject = to === 'all' ? 'patchbay.test.hubs.cancel' : `patchbay.test.hub.${played.hub}.cancel`;
    const { text } = await played.client.find((one) => one.subject === subject, 'a cancel');
    assert.deepEqual(JSON.parse(unframed(text).body).params, { id: request.number });
    played.answer(request, { error: { code: -32800, message: 'request cancelled', data: {} } });
    assertError((await source.next()).json, -32800);
  };
  await cancelled('all', 1);
  await cancelled('its hub', 2);
  const word = (number) => framed(JSON.stringify({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: number } }));
  for (const [number, to] of [[5, 'hubs.cancel'], [6, undefined]]) {
    played.ask('agent.b', number, { method: 'work' });
    const { json } = await agent.next();
    played.publish(to ?? `hub.${(await played.told('taken')).head.split(' ')[1].trim()}.cancel`, word(number));
    assert.deepEqual((await agent.next()).json.params, { id: json.id });
  }
  played.drop();
});

joined('the arriving hub sends nothing on, and answers neither its own methods nor arrays', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await member(broker, 'agent.z');
  await x.agent('b');
  for (const [number, method] of [[1, 'hub/agents'], [2, 'hub/stats'], [3, 'agent/register']]) {
    played.ask('method.any', number, { method, params: {} });
    await played.client.settled();
  }
  played.ask('agent.b', 4, { method: 'hub/stats', params: {} });
  assert.equal((await played.result(4)).error.code, -32601);
  played.ask('agent.b', 5, { method: 'work', params: { targetAgent: 'z' } });
  assert.equal((await played.result(5)).error.code, -32010);
  played.publish('1.agent.b', framed('[{"jsonrpc":"2.0","id":1,"method":"work"}]'), `patchbay.test.hub.${played.hub}.answer.6`);
  assert.equal((await played.result(6)).error.code, -32601);
  played.drop();
});

joined('a bare body is an unnamed client\'s, and is answered so', { hubs: [[]], shards: [1] }, async (x, broker) => {
  (await x.agent('b')).serve(({ params }) => params.n);
  const client = await Client.join(broker);
  const answer = await client.ask('patchbay.test.1.agent.b', '{"jsonrpc":"2.0","id":"own","method":"work","params":{"targetAgent":"b","n":3}}');
  assert.deepEqual(JSON.parse(answer.text), { jsonrpc: '2.0', id: 'own', result: 3 });
  client.drop();
});

joined('what can\'t be read is counted, and nothing is answered or done', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await Played.join(broker), agent = await x.agent('b'), source = await x.peer();
  played.beats();
  await until('it is known', async () => (await stats(source)).cluster_hubs === 1);
  const client = await Client.join(broker);
  await client.subscribe('patchbay.test.hubs.beat');
  const { text } = await client.find((one) => one.subject?.endsWith('.beat') && !one.text.includes(played.hub), 'its beat');
  const { hub } = JSON.parse(text), before = (await stats(source)).cluster_messages_unreadable;
  const bad = [['hubs.beat', '{'], ['hubs.beat', '{"protocol":1,"hub":"x"}'], [`hub.${hub}.taken`, '7'], [`hub.${hub}.taken`, '[1'],
    [`hub.${hub}.taken`, '["7"]'], [`hub.${hub}.held.7`, '{"waitMs":-1}'], [`hub.${hub}.cancel`, 'x'], [`hub.${hub}.yield`, '{}'],
    [`hub.${hub}.progress`, framed('[]')], [`hub.${hub}.what`, ''], ['hubs.agents', '[]']];
  for (const [rest, payload] of bad) played.publish(rest, payload);
  await until('all are counted', async () => (await stats(source)).cluster_messages_unreadable === before + bad.length);
  await agent.silent('anything');
  assert.equal((await stats(source)).cluster_link, 1);
  played.drop();
  client.drop();
});

joined('an answer over a limit ends its request with that limit', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await member(broker, 'agent.z'), source = await x.peer();
  const answered = source.ask('work', { targetAgent: 'z' });
  const { reply } = await played.request('agent.z');
  played.client.publish(reply, `Content-Length: 2\r\nX: ${'x'.repeat(20_000)}\r\n\r\n{}`, '', `NATS/1.0\r\nPatchbay: ${played.hub}\r\n\r\n`);
  assert.equal(assertError(await answered, -32055).data.limit, 8192);
  played.drop();
});

joined('held: its source\'s clock stops; a decision goes to its hub, and nowhere is applied: false',
  { hubs: [['--gate', 'manual'], ['--gate', 'manual']], shards: [1] }, async (x, y) => {
    const source = await x.peer(), approver = await x.peer(), agent = await y.agent('b', {}, { governanceLevel: 'manual' });
    await approver.ask('hub/subscribe', { events: ['approval-needed'] });
    const answered = source.ask('work', { targetAgent: 'b' }, 'Governance-Level: manual\r\nCustom-Timeout-Ms: 300');
    const { json } = await approver.find((one) => one.json.params?.event === 'approval-needed', 'approval-needed');
    const { checkpoint } = json.params.data;
    assert.match(checkpoint, /^gate:[0-9a-f]{32}@[0-9a-f]{32}-1$/);
    await y.agent('mute');
    assertError(await source.ask('work', { targetAgent: 'mute' }, 'Custom-Timeout-Ms: 300'), -32051); // asked later, its time is over
    const decide = (name) => approver.ask('governance/approval', { checkpoint: name, artifact: {}, approver: 'x', decision: 'approved' });
    assert.equal((await decide(checkpoint.replace(/@.*/, `@${'0'.repeat(32)}-1`))).result.applied, false);
    assert.equal((await decide(checkpoint)).result.applied, true);
    const { json: request } = await agent.next();
    agent.reply(request.id, 'approved');
    assert.equal((await answered).result, 'approved');
    assert.equal((await decide(checkpoint)).result.applied, false);
  });

joined('events: a hub\'s count of lost ones that rises tells its subscribers; so does a lost link', { hubs: [[]], shards: [1, 2] }, async (x, broker) => {
  const watch = await x.peer(), played = await Played.join(broker);
  await watch.ask('hub/subscribe', { events: ['build-*'] });
  played.beat({ dropped: 3 });
  played.beat({ dropped: 5 });
  const dropped = async () => (await watch.find((one) => one.json.method === 'hub/dropped', 'hub/dropped')).json.params;
  assert.deepEqual(await dropped(), { count: 0, unknown: true });
  await broker.kill();
  await broker.again();
  assert.deepEqual(await dropped(), { count: 0, unknown: true });
  played.drop();
});
