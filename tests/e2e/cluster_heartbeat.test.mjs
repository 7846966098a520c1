// How hubs know that others are there, and which of them has a request: beats, signs that one was taken, and what comes of it where
// those are lost. A client of the server's plays a hub that says only what it is told to say.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { Client, joined, until } from './cluster.mjs';
import { assertError, frame, requestText } from './peer.mjs';
import { head, Played } from './played.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-beats-')), journal = join(directory, 'journal.jsonl');
after(() => rmSync(directory, { recursive: true, force: true }));

joined('each hub beats once a second, with 200 bytes at most', { shards: [1] }, async (x, y, broker) => {
  const heard = new Map(), begun = Date.now();
  const client = await Client.join(broker);
  await client.subscribe('patchbay.test.beat');
  // One at once, one more for a hub that has just come, and then two.
  while ([...heard.values()].filter((count) => count >= 4).length < 2) {
    const { head: mark, text } = await client.message('a beat');
    const name = /^NATS\/1\.0\r\nPatchbay: 1 hub=([0-9a-f]{32}) joint=1 fences=1\r\n\r\n$/.exec(mark)?.[1];
    assert.ok(name && text === '', mark + text);
    assert.ok(`HPUB patchbay.test.beat ${mark.length} ${mark.length}\r\n${mark}\r\n`.length <= 200);
    heard.set(name, (heard.get(name) ?? 0) + 1);
  }
  assert.equal(heard.size, 2);
  assert.ok(Date.now() - begun > 1500);
  client.drop();
});

joined('a hub that beats so gets its answers on one subject, each with its number; another where it asked', { shards: [1] },
  async (x, y, broker) => {
    (await x.agent('b')).serve(() => 'done');
    for (const [words, last, said] of [['', '4d', ''], [' joint=1', '0', ' re=4d']]) {
      const played = await Played.join(broker), inbox = `patchbay.test.hub.${played.name}.`;
      played.beat(words);
      played.ask('b', 77, requestText(77, 'work', { targetAgent: 'b' }));
      const answer = await played.client.find((one) => one.subject?.startsWith(inbox), 'the answer');
      assert.equal(answer.subject, inbox + last);
      assert.match(answer.head, new RegExp(`^NATS/1\\.0\r\nPatchbay: 1 hub=[0-9a-f]{32}${said}\r\n`));
      assert.deepEqual(JSON.parse(answer.text), { jsonrpc: '2.0', id: 77, result: 'done' });
      played.client.drop();
    }
  });

joined('which request it answers an answer says on the one subject only, and on another its subject', { shards: [1] },
  async (x, y, broker) => {
    const played = await Played.join(broker);
    await played.client.subscribe('patchbay.test.agent.z q');
    const source = await x.peer();
    const answered = [0, 1].map((n) => source.ask('work', { targetAgent: 'z', n }));
    const first = await played.request('patchbay.test.agent.z'), second = await played.request('patchbay.test.agent.z');
    const { hub } = first, joint = `patchbay.test.hub.${hub}.0`;
    played.say(hub, ` taken=${first.number},${second.number}`);
    const answer = (subject, { number }, result, words) => played.client.publish(subject,
      JSON.stringify({ jsonrpc: '2.0', id: parseInt(number, 16), result }), '', head(played.name, words));
    const unknown = async () => (await source.ask('hub/stats')).result.dropped_responses_unknown_id;
    const before = await unknown();
    answer(joint, first, 'to nothing', '');
    answer(joint, first, 'to nothing', ' re=0');
    answer(joint, first, 'to what was not asked', ` re=${(parseInt(second.number, 16) + 4096).toString(16)}`);
    await until('they are dropped', async () => (await unknown()) === before + 3);
    answer(second.reply, second, 'two', ` re=${first.number}`);
    assert.equal((await answered[1]).result, 'two');
    answer(joint, first, 'one', ` re=${first.number}`);
    assert.equal((await answered[0]).result, 'one');
    played.client.drop();
  });

joined('a hub whose server knows that it has gone is missed soon, though it owes nothing', { hubs: [[]], shards: [1] }, async (x, broker) => {
  const played = await Played.join(broker), source = await x.peer();
  const complete = async () => (await source.ask('hub/agents', { cluster: true })).result.complete;
  played.beat(' joint=1 fences=1');
  await until('it is known, and waited for', async () => !(await complete()));
  const begun = Date.now();
  played.client.drop();
  await until('it isn\'t any more', complete);
  assert.ok(Date.now() - begun < 5000, `it took ${Date.now() - begun} ms`);
});

joined('an answer that is over a limit ends its request with that limit, whatever it says of itself', {}, async (x, y, broker) => {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.agent.z q');
  const source = await x.peer();
  for (const [fields, limit] of [['Content-Length: 4000000000\r\n', 16 << 20], [`Content-Length: 2\r\nX: ${'x'.repeat(20_000)}\r\n`, 8192]]) {
    const answered = source.ask('work', { targetAgent: 'z' });
    const { reply } = await played.request('patchbay.test.agent.z');
    played.client.publish(reply, fields.includes('X:') ? '{}' : '', '', head(played.name, '', fields));
    const { error } = await answered;
    assert.deepEqual([error.code, error.data], [-32055, { agent: 'z', fault: "the answer is over this hub's limit", limit }]);
  }
  played.client.drop();
});

joined('a request that no hub took is asked after, and ends as if nobody had been there', {}, async (x, y, broker) => {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.agent.z q');
  const source = await x.peer();
  const answered = source.ask('work', { targetAgent: 'z' });
  const { hub, number, reply } = await played.request('patchbay.test.agent.z');
  assertError(await answered, -32010);
  // Who takes it nevertheless is told that nobody waits, and its answer is counted.
  played.say(hub, ` taken=${number}`);
  await played.told(`cancel=${number}`);
  const before = (await source.ask('hub/stats')).result.dropped_responses_unknown_id;
  const body = `{"jsonrpc":"2.0","id":${parseInt(number, 16)},"result":1}`;
  played.client.publish(reply, body, '', head(played.name, '', `Content-Length: ${body.length}\r\n`));
  await until('the answer is dropped', async () => (await source.ask('hub/stats')).result.dropped_responses_unknown_id === before + 1);
  await source.silent('an answer to what has ended');
  played.client.drop();
});

joined('a hub that says that it has what is asked after is its taker, though it hasn\'t said so before', { shards: [1] },
  async (x, y, broker) => {
    const played = await Played.join(broker);
    await played.client.subscribe('patchbay.test.agent.z q');
    await played.client.subscribe('patchbay.test.hubs');
    played.beat();
    await played.client.settled(); // who is there is waited for
    const source = await x.peer();
    const answered = source.ask('work', { targetAgent: 'z' });
    const { hub, number, reply } = await played.request('patchbay.test.agent.z');
    const sought = await played.client.find((one) => one.subject === 'patchbay.test.hubs', 'it to be asked after');
    assert.match(sought.head, new RegExp(` hub=${hub} seek=${number}\r\n`));
    played.say(hub, ` taken=${number}`);
    await played.told(`ask=${number}`); // as of what it took
    const body = `{"jsonrpc":"2.0","id":${parseInt(number, 16)},"result":"found"}`;
    played.client.publish(reply, body, '', head(played.name, '', `Content-Length: ${body.length}\r\n`));
    assert.equal((await answered).result, 'found');
    played.client.drop();
  });

joined('what a hub took, and says that it hasn\'t any more, ends', { shards: [1] }, async (x, y, broker) => {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.agent.z q');
  const source = await x.peer();
  const answered = source.ask('work', { targetAgent: 'z' });
  const { hub, number } = await played.request('patchbay.test.agent.z');
  played.say(hub, ` taken=${number}`);
  await played.told(`ask=${number}`);
  played.say(hub, ` gone=${number}`);
  assert.deepEqual(assertError(await answered, -32050).data, { agent: 'z' });
  played.client.drop();
});

joined('a hub that is asked what would become of a request delivers it to nobody, also where nobody waits for that', { shards: [1] },
  async (x, y, broker) => {
    const played = await Played.join(broker), inbox = `patchbay.test.hub.${played.name}`, b = await y.agent('b');
    const unreadable = async () => (await b.ask('hub/stats')).result.cluster_messages_unreadable;
    const before = await unreadable(), body = requestText(1, 'work', { targetAgent: 'b' });
    for (const reply of ['', `${inbox}.n`, `${inbox}.4d`])
      played.client.publish('patchbay.test.agent.b', body, reply,
        head(played.name, ' probe=1 approved=1 judge=1', `Content-Length: ${body.length}\r\n`));
    const { subject } = await played.told(' back=1');
    assert.equal(subject, `${inbox}.4d`);
    await until('the others are counted', async () => (await unreadable()) === before + 2);
    await b.silent('a request that was only asked about');
    assert.ok(!played.client.messages.some((one) => one.head?.includes(' taken=')));
    played.client.drop();
  });

// It asks first whether anybody is there, and holds the request; once approved that has the time that its source gave it, and what
// wants it approved once more ends it.
joined('what is approved has all of its time, and is not held again', { hubs: [['--gate', 'manual', '--audit', journal]], shards: [1, 2] },
  async (x, broker) => {
    const played = await Played.join(broker), [source, approver] = [await x.peer(), await x.peer()];
    await played.client.subscribe('patchbay.test.agent.z q');
    await approver.ask('hub/subscribe', { events: ['approval-needed'] });
    const say = ({ reply }, words) => played.client.publish(reply, '', '', head(played.name, words));
    const next = () => played.client.find((one) => one.subject === 'patchbay.test.agent.z', 'a request');
    const answered = source.ask('work', { targetAgent: 'z' }, 'Governance-Level: manual\r\nCustom-Timeout-Ms: 3000');
    const probe = await next();
    assert.match(probe.head, / time=bb8 .*probe=1/);
    await new Promise((resolve) => setTimeout(resolve, 20)); // which is to cost it nothing
    say(probe, ' back=1');
    const { json } = await approver.find((one) => one.json.params?.event === 'approval-needed', 'approval-needed');
    const { checkpoint } = json.params.data;
    assert.ok((await approver.ask('governance/approval', { checkpoint, artifact: {}, approver: 'x', decision: 'approved' })).result.applied);
    const request = await next();
    assert.match(request.head, / time=bb8 .*approved=1/);
    say(request, ' back=0 gate=1');
    assertError(await answered, -32012);
    assert.equal((await source.ask('hub/stats')).result.gate_held, 1);
    played.client.drop();
  });

joined('10 s of silence end what a hub had, and cancel what it asked', { shards: [1] }, async (x, y, broker) => {
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.agent.z q');
  const [source, agent] = [await x.peer(), await y.agent('b')];
  source.send(requestText(1, 'work', { targetAgent: 'z' }));
  const { hub, number } = await played.request('patchbay.test.agent.z');
  const begun = Date.now();
  played.say(hub, ` taken=${number}`);
  played.ask('b', 77, requestText(77, 'work', { targetAgent: 'b' }));
  await played.told('taken=4d');
  const { json } = await agent.next();
  const [ended, cancel] = await Promise.all([
    source.find((one) => one.json.id === 1, 'the end of what it took'),
    agent.find((one) => one.json.method === '$/cancelRequest', 'the end of what it asked'),
  ]);
  assertError(ended.json, -32050);
  assert.deepEqual(cancel.json.params, { id: json.id });
  assert.ok(Date.now() - begun > 8000);
  played.client.drop();
});

// Who refuses for its group isn't the last: another hub is asked by its name, if it knows how that is done.
joined('an older hub isn\'t asked by its name', { shards: [1] }, async (x, y, broker) => {
  await y.agent('b', { methods: ['work'] });
  const source = await x.peer(), strictly = () => source.ask('work', {}, 'Governance-Level: manual');
  const played = await Played.join(broker), subject = `patchbay.test.hub.${played.name}.method.work`;
  played.beat();
  await until('it is known', async () => !(await source.ask('hub/agents', { cluster: true })).result.complete);
  assertError(await strictly(), -32011);
  assert.ok(!played.client.messages.some((one) => one.subject === subject));
  played.beat(' joint=1');
  await until('it is asked', async () => {
    const answered = strictly();
    const asked = played.client.find((one) => one.subject === subject, 'a request by its name').then(({ reply }) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: parseInt(reply.split('.').at(-1), 16), result: 'done' });
      played.client.publish(reply, body, '', head(played.name));
      return true;
    });
    return Promise.race([asked.catch(() => false), answered.then(({ result }) => result === 'done')]);
  });
  played.client.drop();
});

// Another hub is asked by its name once one has refused; until that has gone what is said of the request is said of nothing.
joined('what is to go to another hub is not ended by what was said before', { hubs: [['--audit', journal]], shards: [2] },
  async (x, broker) => {
    const [refuser, other] = [await Played.join(broker), await Played.join(broker)];
    await refuser.client.subscribe('patchbay.test.method.work q');
    other.beat(' joint=1 fences=1');
    await other.client.settled();
    const sources = [];
    for (let n = 0; n < 8; n++) sources.push(await x.peer()); // of both shards
    const answers = sources.map((source) => source.ask('work')), requests = [];
    for (const _ of sources) requests.push(await refuser.request('patchbay.test.method.work'));
    await new Promise((resolve) => setTimeout(resolve, 2600)); // it counts of late alone
    const say = (played, { reply, number }, members, words) => played.client.publish(reply,
      JSON.stringify({ jsonrpc: '2.0', id: parseInt(number, 16), ...members }), '', head(played.name, words));
    refuser.client.socket.cork();
    for (const request of requests) {
      say(refuser, request, { error: { code: -32011, message: 'governance violation' } }, ' refused=1');
      for (const { name } of [refuser, other])
        refuser.client.publish(`patchbay.test.hub.${request.hub}`, '', '', head(name, ` none=${request.number}`));
    }
    refuser.client.socket.uncork();
    for (const _ of sources) say(other, await other.request(`patchbay.test.hub.${other.name}.method.work`), { result: 'done' }, '');
    for (const answer of answers) assert.equal((await answer).result, 'done');
    for (const played of [refuser, other]) played.client.drop();
  });

// What a hub holds it tells in parts, to whoever asks on behind the last that was told: also where that one has left meanwhile.
joined('a hub tells the names that it holds in parts, in their order, none twice and none left out', { hubs: [[]] }, async (x, broker) => {
  const nameOf = (n) => `${String(n).padStart(4, '0')}-${'n'.repeat(245)}`, names = Array.from({ length: 640 }, (_, n) => nameOf(n));
  const holders = await Promise.all(Array.from({ length: 10 }, () => x.peer()));
  for (const [n, agentId] of names.entries())
    assert.ok((await holders[Math.floor(n / 64)].ask('agent/register', { agentId, capabilities: {} })).result);
  const played = await Played.join(broker);
  await played.client.subscribe('patchbay.test.beat');
  const { head: beat } = await played.client.find((one) => one.subject === 'patchbay.test.beat', 'a beat');
  const hub = / hub=([0-9a-f]{32})/.exec(beat)[1];
  const number = (mark, key) => parseInt(new RegExp(` ${key}=([0-9a-f]+)`).exec(mark)?.[1] ?? '0', 16);
  const tell = async (from) => {
    played.say(hub, ` claim=${from.toString(16)}`);
    const { head: mark, text } = await played.told(` claims=${from.toString(16)} `);
    const lines = text.split('\n');
    assert.equal(lines.pop(), '');
    return { last: number(mark, 'last'), more: number(mark, 'more'), told: lines.map((line) => line.replace(/^[0-9a-f]+ /, '')) };
  };
  const told = [];
  let part = await tell(1);
  assert.ok(part.more && part.told.length < 300, `${part.told.length}`);
  told.push(...part.told);
  const left = told.at(-1), holder = holders[Math.floor(names.indexOf(left) / 64)];
  await holder.ask('agent/unregister', { agentId: left }); // where it would go on
  assert.ok((await holder.ask('agent/register', { agentId: 'late', capabilities: {} })).result);
  const again = (await tell(1)).told; // as one asks who has begun anew
  assert.deepEqual(again.slice(0, told.length - 1), told.slice(0, -1));
  while (part.more) {
    part = await tell(part.last + 1);
    told.push(...part.told);
  }
  assert.deepEqual(told, [...names, 'late']);
  played.client.drop();
});
