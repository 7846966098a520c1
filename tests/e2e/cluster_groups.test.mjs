// Groups over several hubs: members elsewhere are found, hubs are weighed by theirs, and who leaves is found no more.
import assert from 'node:assert/strict';
import { serving } from './certificates.mjs';
import { joined, until } from './cluster.mjs';
import { dial } from './hub.mjs';
import { assertError, frame } from './peer.mjs';
import { head, Played } from './played.mjs';

joined('several members elsewhere: hubs are weighed by theirs', { hubs: [[], [], []], shards: [1] }, async (x, y, z) => {
  const came = { y: 0, z: 0 };
  for (let n = 0; n < 6; n++) (await y.agent(`y-${n}`, { methods: ['work'] })).serve(() => 'y');
  (await z.agent('z-0', { methods: ['work'] })).serve(() => 'z');
  const source = await x.peer();
  for (let n = 0; n < 210; n++) came[(await source.ask('work', {})).result]++;
  assert.ok(came.y > 140 && came.z > 5, JSON.stringify(came)); // of 210, 180 and 30 were to be expected
});

joined('the last member leaves: -32601, -32002 or -32010 as locally', {}, async (x, y) => {
  const agent = (await y.agent('b', { methods: ['work'], tools: ['lint'], review: true })).serve(() => 1);
  const source = await x.peer();
  assert.equal((await source.ask('work', {})).result, 1);
  await agent.ask('agent/register', { agentId: 'b', capabilities: {} });
  assertError(await source.ask('work', {}), -32601);
  assertError(await source.ask('tool/integration', { tool: 'lint', arguments: {} }), -32002);
  assertError(await source.ask('work', { targetAgent: '@review' }), -32010);
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 1);
});

joined('100 members are one group', { shards: [1] }, async (x, y) => {
  const agents = [];
  for (let n = 0; n < 100; n++) agents.push((await y.agent(`m-${n}`, { methods: ['work'] })).serve(() => n));
  const source = await x.peer();
  const seen = new Set();
  for (let n = 0; n < 200; n++) seen.add((await source.ask('work', {})).result);
  assert.equal(seen.size, 100);
});

// Which of two hubs with members has the request is drawn.
joined('a hub whose members don\'t support the level isn\'t the end of it where another one\'s do', { hubs: [[], [], [], []] }, async (x, y, z, w) => {
  const of = { tool: ['tool/integration', { tool: 'lint', arguments: {} }], method: ['work', {}], group: ['ask', { targetAgent: '@review' }], command: ['command/execute', { command: 'deploy' }] };
  const capabilities = { tools: ['lint'], methods: ['work'], review: true, commands: ['deploy'] };
  (await y.agent('loose', capabilities)).serve(() => 'loose');
  (await z.agent('strict', capabilities, { governanceLevel: 'supervised' })).serve(() => 'strict');
  const source = await x.peer(), watch = await w.peer();
  await until('all know each other', async () => {
    const { agents, complete } = (await watch.ask('hub/agents', { cluster: true })).result;
    return complete && agents.length === 2;
  });
  for (const [method, params] of Object.values(of))
    for (let n = 0; n < 12; n++)
      assert.equal((await source.ask(method, params, 'Governance-Level: supervised')).result, 'strict', method);
  for (const [method, params] of Object.values(of)) {
    const { error } = await source.ask(method, params, 'Governance-Level: manual');
    assert.equal(error.code, -32011);
    assert.equal(error.data.required, 'manual');
  }
  const stats = (await source.ask('hub/stats')).result;
  assert.ok(stats.cluster_requests_sent_again >= 4 * 2, JSON.stringify(stats));
  await watch.silent('what is for others');
});

joined('nor is one where too much is owed, and each request is done once', { hubs: [[], ['--max-pending', '2'], ['--max-pending', '2']] }, async (x, y, z) => {
  const members = [await y.agent('y', { methods: ['work'] }), await z.agent('z', { methods: ['work'] })];
  const source = await x.peer();
  await until('both are known', async () => (await source.ask('hub/agents', { cluster: true })).result.agents.length === 2);
  const asked = Array.from({ length: 5 }, (_, n) => source.ask('work', { n }));
  const came = [];
  for (const member of members) for (let n = 0; n < 2; n++) came.push([member, (await member.next()).json]);
  assertError(await Promise.race(asked), -32052);
  for (const [member, { id, params }] of came) member.reply(id, params.n);
  const answers = await Promise.all(asked);
  assert.deepEqual(answers.map(({ result, error }) => result ?? error.code).sort((a, b) => a - b), [...new Set(came.map(([, { params }]) => params.n)), -32052].sort((a, b) => a - b));
  assert.equal(answers.filter(({ error }) => error).length, 1);
});

joined('cancelled, or its source gone, while hubs are asked in turns: nobody is left with it', { hubs: [[], [], []], shards: [1, 2] }, async (x, y, z) => {
  await y.agent('y', { methods: ['work'] });
  await z.agent('z', { methods: ['work'] });
  const watch = await x.peer();
  await until('both are known', async () => (await watch.ask('hub/agents', { cluster: true })).result.agents.length === 2);
  const stays = await x.peer(), goes = await x.peer();
  for (let n = 0; n < 50; n++) {
    stays.send({ jsonrpc: '2.0', id: n, method: 'work', params: {} }, 'Governance-Level: manual');
    stays.send({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: n } });
    goes.send({ jsonrpc: '2.0', id: n, method: 'work', params: {} }, 'Governance-Level: manual');
  }
  goes.drop();
  for (let n = 0; n < 50; n++) assert.ok([-32011, -32800].includes((await stays.next()).json.error.code));
  await until('nothing is under way', async () => (await watch.ask('hub/stats')).result.pending === 0);
});

// Two that play hubs; each is known once it has been heard.
async function playedPair(broker, hub) {
  const played = [await Played.join(broker), await Played.join(broker)];
  for (const one of played) {
    one.beat(' joint=2 fences=1');
    await one.heard(hub);
  }
  return played;
}

joined('a hub that has refused a request has no more to say of it once another one was asked', { hubs: [[]] }, async (x, broker) => {
  const watch = await Played.join(broker);
  await watch.client.subscribe('patchbay.test.beat');
  const { head: beat } = await watch.client.find((one) => one.subject === 'patchbay.test.beat', 'a beat');
  const [first, second] = await playedPair(broker, / hub=([0-9a-f]{32})/.exec(beat)[1]);
  await first.client.subscribe('patchbay.test.method.work q');
  const source = await x.peer(), dropped = async () => (await source.ask('hub/stats')).result.dropped_responses_unknown_id;
  for (const takes of [false, true]) {
    const answered = source.ask('work', {}), { hub, number, reply } = await first.request('patchbay.test.method.work');
    const id = parseInt(number, 16), before = await dropped();
    const answer = (by, member, words = '') =>
      by.client.publish(reply, JSON.stringify({ jsonrpc: '2.0', id, ...member }), '', head(by.name, words));
    const refuse = (code) => answer(first, { error: { code, message: 'busy' } }, ' refused=1');
    refuse(-32052);
    await second.request(`patchbay.test.hub.${second.name}.method.work`);
    if (takes) {
      second.say(hub, ` taken=${number}`);
      await second.told(`ask=${number}`);
    }
    refuse(-32011);
    first.client.publish(reply, '', '', head(first.name, ' back=0 gate=1'));
    first.say(hub, ` taken=${number}`);
    answer(first, { result: 'too late' });
    await until('all of it is dropped', async () => (await dropped()) === before + 3);
    answer(second, { result: 'done' });
    assert.equal((await answered).result, 'done');
  }
  for (const one of [watch, first, second]) one.client.drop();
});

joined('a notification that names what nobody has goes to who offers its method elsewhere, and another one to whom it names alone', {}, async (x, y) => {
  const of = { nothing: await y.agent('o', { methods: ['command/execute'] }), deploy: await y.agent('c', { commands: ['deploy'] }) };
  const source = await x.peer();
  for (let n = 0; n < 200; n++) for (const command in of) source.notify('command/execute', { command, n });
  for (const [command, agent] of Object.entries(of))
    for (let n = 0; n < 200; n++) assert.deepEqual((await agent.next()).json.params, { command, n });
  for (const agent of Object.values(of)) await agent.silent('a notification twice');
});

// As within one hub: whom it names comes before whoever offers its method, wherever that one is.
for (const shards of [1, 4])
  joined(`a notification to a command or an approver at another hub passes by who offers its method here; to nobody it doesn't, ${shards} shards`, { shards: [shards] }, async (x, y) => {
    const any = await x.agent('any', { methods: ['command/execute', 'governance/approval'] });
    const of = { deploy: await y.agent('c', { commands: ['deploy'] }), bob: await y.agent('bob'), nothing: any, alice: any };
    const said = (name) => (/deploy|nothing/.test(name) ? ['command/execute', { command: name }]
      : ['governance/approval', { checkpoint: 'c', artifact: {}, approver: name, decision: 'approved' }]);
    const source = await x.peer();
    for (const [name, agent] of Object.entries(of)) {
      const [method, params] = said(name);
      source.notify(method, { ...params, n: name });
      const { json } = await agent.next();
      assert.deepEqual([json.method, json.params.n], [method, name]);
    }
    await source.ask('hub/ping');
    for (const agent of new Set(Object.values(of))) await agent.silent('what was another one\'s');
  });

// That nobody is there is the server's word, for which what follows waits: by itself, in a batch, over TLS in one record.
for (const there of [false, true])
  joined(`what a source says behind a notification that names nobody comes behind it; who offers its method is ${there ? 'there' : 'here'}`, { hubs: [['--listen', 'tls://127.0.0.1:0', ...serving], []], shards: [1, 2] }, async (x, y) => {
    const agent = await (there ? y : x).agent('o', { methods: ['command/execute'] });
    const order = (n) => ({ jsonrpc: '2.0', method: 'command/execute', params: { command: `nothing-${n}`, n } });
    const note = (n) => ({ jsonrpc: '2.0', method: 'note', params: { targetAgent: 'o', n } });
    const said = (n) => (n % 10 === 7 ? [order(n), note(n), note(n)] : n % 10 === 8 ? { ...note(n), id: n } : n % 2 ? note(n) : order(n));
    for (const transport of ['tcp', 'tls']) {
      const source = await dial(x.uri(transport));
      source.write(Buffer.concat(Array.from({ length: 200 }, (_, n) => frame(JSON.stringify(said(n))))));
      for (let n = 0; n < 200; n++)
        for (let copies = n % 10 === 7 ? 3 : 1; copies > 0; copies--) {
          const { json } = await agent.next();
          assert.equal(json.params.n, n);
          if (json.id !== undefined) agent.send({ jsonrpc: '2.0', id: json.id, result: n });
        }
      for (let n = 8; n < 200; n += 10) assert.equal((await source.next()).json.result, n);
      source.drop();
    }
    await agent.silent('anything twice');
  });

// It counts when all of its batch has been routed, be it that some of that waits.
joined('a batch of which members wait, and another one is an exit, is routed to its end', { shards: [1, 2] }, async (x, y) => {
  const agent = await x.agent('o', { methods: ['command/execute'] });
  const order = (n) => ({ jsonrpc: '2.0', method: 'command/execute', params: { command: 'nothing', n } });
  const note = (n) => ({ jsonrpc: '2.0', method: 'note', params: { targetAgent: 'o', n } }), exit = { jsonrpc: '2.0', method: 'exit' };
  const batches = [[exit, order(0), note(1), note(2)], [order(0), exit, note(1), note(2)], [order(0), note(1), order(2), exit], [exit, note(0), note(1), order(2)]];
  for (const batch of batches) {
    const source = await x.peer();
    source.write(Buffer.concat([frame(JSON.stringify(batch)), frame(JSON.stringify(note('behind the exit')))]));
    for (let n = 0; n < 3; n++) assert.equal((await agent.next()).json.params.n, n);
    await assert.rejects(source.next(), /the hub closed the connection|the hub had closed/);
  }
  await agent.silent('what was said behind them');
  assert.ok(y);
});
