// How hubs know that others are there: beats, silence, links that come after others, and hubs that aren't served.
import assert from 'node:assert/strict';
import { Client, joined, until } from './cluster.mjs';
import { fourAtOnce } from './parallel.mjs';
import { assertError, requestText } from './peer.mjs';
import { head, Played } from './played.mjs';

fourAtOnce();

const stats = async (peer) => (await peer.ask('hub/stats')).result;

joined('each hub beats once a second, as the contract has it', { hubs: [['--hub-name', 'left'], ['--hub-name', 'right']], shards: [1] }, async (x, y, broker) => {
  const heard = new Map(), client = await Client.join(broker);
  await client.subscribe('patchbay.test.hubs.beat');
  const begun = Date.now();
  while ([...heard.values()].filter((count) => count >= 3).length < 2) {
    const { head: said, text } = await client.message('a beat');
    const beat = JSON.parse(text);
    assert.match(beat.hub, /^[0-9a-f]{32}-1$/);
    assert.equal(said, head(beat.hub));
    assert.deepEqual({ ...beat, hub: '', name: '' }, { protocol: 1, realm: '1', hub: '', agents: 0, dropped: 0, name: '' });
    assert.ok(['left', 'right'].includes(beat.name));
    heard.set(beat.hub, (heard.get(beat.hub) ?? 0) + 1);
  }
  assert.equal(heard.size, 2);
  assert.ok(Date.now() - begun > 1000);
  const ended = client.find((one) => one.subject?.endsWith('.beat') && JSON.parse(one.text).leaving === true, 'its last beat');
  await y.stop();
  assert.equal(JSON.parse((await ended).text).name, 'right');
  await until('it is known', () => /hub [0-9a-f]{32}-1 \(right\) has left/.test(x.stderr));
  client.drop();
});

joined('3.5 s of silence end what a hub had, and cancel what it asked', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.1.agent.z g');
  const [source, agent] = [await x.peer(), await x.agent('b')];
  source.send(requestText(1, 'work', { targetAgent: 'z' }));
  const request = await played.request('agent.z');
  const begun = Date.now();
  played.tell(request.hub, 'taken', [request.number]);
  played.ask('agent.b', 77, { method: 'work' });
  const { json } = await agent.next();
  const [ended, cancel, gone] = await Promise.all([
    source.find((one) => one.json.id === 1, 'the end of what it took'),
    agent.find((one) => one.json.method === '$/cancelRequest', 'the end of what it asked'),
    played.told('gone'),
  ]);
  assertError(ended.json, -32050);
  assert.deepEqual(cancel.json.params, { id: json.id });
  assert.equal(gone.text, '{}');
  assert.ok(Date.now() - begun > 3000 && Date.now() - begun < 5000, `it took ${Date.now() - begun} ms`);
  assert.equal((await stats(source)).cluster_requests_lost, 1);
  played.drop();
});

joined('a hub that is told that it is gone ends its side', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.1.agent.z g');
  played.beats();
  const [source, agent] = [await x.peer(), await x.agent('b')];
  const answered = source.ask('work', { targetAgent: 'z' });
  const request = await played.request('agent.z');
  played.tell(request.hub, 'taken', [request.number]);
  played.ask('agent.b', 77, { method: 'work' });
  const { json } = await agent.next();
  played.tell(request.hub, 'gone');
  assertError(await answered, -32050);
  assert.deepEqual((await agent.next()).json.params, { id: json.id });
  assert.equal((await played.result(77)).error.code, -32050);
  played.drop();
});

joined('the next link of a hub ends the one before, from which nothing more is taken', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.1.agent.z g');
  played.beats();
  const source = await x.peer(), agent = await x.agent('b');
  const answered = source.ask('work', { targetAgent: 'z' });
  const request = await played.request('agent.z');
  played.tell(request.hub, 'taken', [request.number]);
  const before = played.hub;
  await played.client.settled();
  await played.again(2);
  played.beat();
  assertError(await answered, -32050);
  await until('it is in the log', () => x.stderr.includes(`hub ${before} came back as ${played.hub}`));
  played.hub = before;
  played.notify('agent.b', { method: 'old' });
  await played.again(2);
  played.notify('agent.b', { method: 'new' });
  assert.equal((await agent.next()).json.method, 'new');
  played.drop();
});

joined('hubs of another protocol or with other users are named, counted, and never asked', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const source = await x.peer();
  const strange = await Played.join(broker), other = await Played.join(broker, { realm: '1-0123456789abcdef' });
  strange.beats({ protocol: 2, unknown: { of: ['later', 'versions'] }, realm: '2' });
  other.beats();
  await other.client.subscribe('patchbay.test.1-0123456789abcdef.agent.z g');
  await until('both are counted', async () => (await stats(source)).cluster_hubs_unserved === 2);
  assert.equal((await stats(source)).cluster_hubs, 0);
  const { data } = assertError(await source.ask('work', { targetAgent: 'z' }), -32010);
  assert.equal(data.unserved, 2);
  assert.equal(assertError(await source.ask('work', {}), -32601).data.unserved, 2);
  assert.equal((await source.ask('hub/agents', { cluster: true })).result.complete, false);
  assert.ok(x.stderr.includes(`hub ${strange.hub} is not served: it speaks protocol 2, this hub 1`));
  assert.ok(x.stderr.includes(`hub ${other.hub} is not served: its users or its gate are others (1-0123456789abcdef, here 1)`));
  strange.silence();
  other.silence();
  await until('they are gone', async () => (await stats(source)).cluster_hubs_unserved === 0);
  assert.equal(assertError(await source.ask('work', { targetAgent: 'z' }), -32010).data.unserved, undefined);
  for (const one of [strange, other]) one.drop();
});

joined('a frozen hub drops its link before it reads on', { shards: [1] }, async (x, y) => {
  const source = await x.peer(), agent = await y.agent('b');
  const answered = source.ask('work', { targetAgent: 'b' });
  await agent.next();
  y.process.kill('SIGSTOP');
  assertError(await answered, -32050);
  y.process.kill('SIGCONT');
  await until('it says so', () => /cluster: stood still for \d+\.\d s: a new link/.test(y.stderr));
  agent.serve(() => 'again');
  await until('its agent is found again', async () => (await source.ask('work', { targetAgent: 'b' })).result === 'again');
});
