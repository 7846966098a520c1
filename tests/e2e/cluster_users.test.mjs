// Users among hubs: they travel by name, and each hub judges by its own file.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Broker, Client, joining, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError, frame, requestText } from './peer.mjs';
import { ALL, directoryOfUsers, known, refused, reload, tokenOf, usersText } from './users.mjs';
import { Client as Web, rpc } from './web.mjs';

const userOf = ({ fields }) => fields.filter(([name]) => /^patchbay-user$/i.test(name)).map(([, value]) => value);
const ROOT = { ...ALL, admin: true };

let files = 0;
async function start(broker, users, options) {
  const file = join(directoryOfUsers, `cluster-${++files}.ini`), journal = `${file}.journal`;
  if (users) writeFileSync(file, usersText({ root: ROOT, ...users }));
  const hub = await Hub.start([...joining(broker), ...options, ...(users ? ['--users', file, '--audit', journal] : [])]);
  hub.usersFile = file;
  hub.journal = journal;
  const watch = users ? await known(hub, 'root') : await hub.peer();
  await until('there is a link', async () => (await watch.ask('hub/stats')).result.cluster_link === 1);
  watch.drop();
  return hub;
}

// Two hubs, each with its own users; null: it has none.
function between(name, [ofX, ofY], run, shards = [1, 2], options = []) {
  for (const count of shards)
    test(`${name} (--shards ${count})`, async () => {
      const broker = await Broker.start(), hubs = [];
      try {
        for (const users of [ofX, ofY]) hubs.push(await start(broker, users, ['--shards', String(count), ...options]));
        await run(...hubs, broker);
      } finally {
        for (const hub of hubs) await hub.stop();
        await broker.kill();
      }
      for (const hub of hubs) assert.doesNotMatch(hub.stderr, /pb_token|sha256:/);
    });
}

between('what a user may at both hubs is done, and its target is told who it is',
  [{ asker: { call: ['b', 'method:tests/*'] } }, { asker: { call: ['b*', 'method:tests/*'] } }], async (x, y) => {
    const agent = await known(y, 'root');
    await agent.register('b', { methods: ['tests/run'] });
    const source = await known(x, 'asker');
    for (const method of ['work', 'tests/run']) {
      const params = method === 'work' ? { targetAgent: 'b' } : {};
      source.send({ jsonrpc: '2.0', id: 1, method, params }, 'Patchbay-User: root', 'Request-Id: 17');
      const asked = await agent.next();
      assert.deepEqual(userOf(asked), ['asker']);
      assert.deepEqual(asked.fields.find(([name]) => name === 'Request-Id'), ['Request-Id', '17']);
      agent.reply(asked.json.id, method);
      assert.equal((await source.next()).json.result, method);
    }
    const lines = readFileSync(y.journal, 'utf8');
    assert.doesNotMatch(lines, /refus/);
  });

between('what a user may not is refused by the hub that says so, wherever it is',
  [{ here: { call: ['a'] }, there: { call: ['*', 'method:*'] }, only: { call: ['b'] } },
    { here: { call: ['b'] }, there: { call: ['a'] } }], async (x, y) => {
    const agent = await known(y, 'root');
    await agent.register('b', { methods: ['tests/run'] });
    for (const user of ['here', 'there']) {
      const source = await known(x, user);
      refused(await source.ask('work', { targetAgent: 'b' }), 'call');
      refused(await source.ask('tests/run', {}), 'call');
    }
    const only = await known(x, 'only');
    assertError(await only.ask('work', { targetAgent: 'b' }), -32054);
    await agent.silent('what nobody may');
    await until('the journal has it', async () => readFileSync(y.journal, 'utf8').includes('"user":"there"'));
  });

// The other hub hears of it by the subject alone; and an agent's name isn't a method's.
between('what a user may say to whom its connection is attached to says nothing of another one, nor of whoever offers the method',
  [{ u: ALL }, { u: { call: ['b', 'method:work'] } }], async (x, y) => {
    for (const id of ['b', 'c']) (await (await known(y, 'root')).register(id, { methods: ['work', 'rest'] })).serve(() => id);
    const attached = async (agent) => {
      const source = await known(x, 'u');
      assert.deepEqual((await source.ask('hub/attach', { agent })).result, { agent });
      return source;
    };
    const [free, toB, toC] = [await known(x, 'u'), await attached('b'), await attached('c')];
    for (let times = 0; times < 2; times++) {
      for (const method of ['work', 'rest']) {
        assert.equal((await toB.ask(method, {})).result, 'b');
        refused(await toC.ask(method, {}), 'call');
      }
      assert.ok((await free.ask('work', {})).result);
      refused(await free.ask('rest', {}), 'call');
    }
  });

between('events, notices, progress and cancels', [{ p: { publish: ['*'], call: ['b', 'method:*'] } }, { p: { publish: ['build-*'], call: ['b', 'method:build/*'] } }],
  async (x, y) => {
    const agent = await known(y, 'root');
    await agent.register('b', { events: [{ name: 'build/changed' }, { name: 'files/changed' }] });
    await agent.ask('hub/subscribe', { events: ['*'] });
    const source = await known(x, 'p');
    source.notify('event', { event: 'secret', data: 1 });
    source.notify('event', { event: 'build-done', data: 2 });
    const event = await agent.next();
    assert.equal(event.json.params.event, 'build-done');
    assert.deepEqual(userOf(event), ['p']);
    source.notify('files/changed', { n: 1 });
    source.notify('build/changed', { n: 2 });
    const notice = await agent.next();
    assert.deepEqual(notice.json.params, { n: 2 });
    assert.deepEqual(userOf(notice), ['p']);
    source.send({ jsonrpc: '2.0', id: 7, method: 'work', params: { targetAgent: 'b', _meta: { progressToken: 't' } } });
    const asked = (await agent.next()).json;
    agent.notify('notifications/progress', { progressToken: asked.params._meta.progressToken, progress: 1 });
    assert.equal((await source.next()).json.params.progressToken, 't');
    source.notify('$/cancelRequest', { id: 7 });
    assert.deepEqual((await agent.next()).json.params, { id: asked.id });
    agent.send({ jsonrpc: '2.0', id: asked.id, error: { code: -32800, message: 'cancelled' } });
    assert.equal((await source.next()).json.error.code, -32800);
  });

between('hub/agents of all hubs shows what the user may call', [{ sees: { call: ['a', 'b'] }, none: {} }, { sees: { call: ['b'] } }],
  async (x, y) => {
    const [a, b] = [await known(x, 'root'), await known(y, 'root')];
    await a.register('a');
    await b.register('b');
    await b.register('c');
    const seen = async (user) => {
      const { agents, complete } = (await (await known(x, user)).ask('hub/agents', { cluster: true })).result;
      assert.equal(complete, true);
      return agents.map((agent) => agent.agentId).sort();
    };
    assert.deepEqual(await seen('root'), ['a', 'b', 'c']);
    assert.deepEqual(await seen('sees'), ['a', 'b']);
    assert.deepEqual(await seen('none'), []);
  });

between('a list of all hubs holds no more than the asking hub\'s own file shows', [
  { one: { call: ['b'] }, group: { call: ['@review', 'method:x/*'], 'deny-call': ['d'] }, none: {} },
  { one: { call: ['*'] }, group: { call: ['*', '@*', 'method:*', 'tool:*'] }, none: { call: ['*'] } }], async (x, y) => {
  const agents = { b: {}, c: { review: true }, d: { review: true }, e: { methods: ['x/run'] }, f: { methods: ['y/run'], tools: ['x/run'] } };
  for (const [id, capabilities] of Object.entries(agents)) await (await known(y, 'root')).register(id, capabilities);
  const seen = async (user) => (await (await known(x, user)).ask('hub/agents', { cluster: true })).result.agents.map((one) => one.agentId).sort().join('');
  assert.equal(await seen('root'), 'bcdef');
  assert.equal(await seen('one'), 'b');
  assert.equal(await seen('group'), 'ce');
  assert.equal(await seen('none'), '');
});

between('an approver at another hub: who may call that one, and who may call the method alone',
  [{ named: { call: ['bob'] }, method: { call: ['method:governance/approval'] } }, { named: { call: ['bob'] }, method: { call: ['bob', 'method:governance/approval'] } }], async (x, y) => {
    const bob = (await (await known(y, 'root')).register('bob')).serve(() => 'bob');
    (await (await known(x, 'root')).register('any', { methods: ['governance/approval'] })).serve(() => 'any');
    const approve = async (user, approver) => (await known(x, user)).ask('governance/approval', { checkpoint: 'c', artifact: {}, approver, decision: 'approved' });
    assert.equal((await approve('named', 'bob')).result, 'bob');
    refused(await approve('named', 'alice'), 'call');
    refused(await approve('method', 'bob'), 'call');
    assert.equal((await approve('method', 'alice')).result, 'any');
    await bob.ask('agent/unregister', { agentId: 'bob' });
    // The server may take what comes at once for bob's still: then his hub says that he isn't there.
    await until('the server knows', async () => (await approve('named', 'bob')).error.code !== -32010);
    refused(await approve('named', 'bob'), 'call');
    assert.equal((await approve('method', 'bob')).result, 'any');
  });

// As of a request; `here`: who offers the method is at its source's hub.
for (const here of [true, false])
  between(`a notification to an approver at another hub: who may call the method alone is refused; who offers it is ${here ? 'here' : 'there'}`,
    [{ named: { call: ['bob'] }, method: { call: ['method:governance/approval'] } }, { named: { call: ['bob'] }, method: { call: ['bob', 'method:governance/approval'] } }], async (x, y) => {
      const [bob, any] = [await known(y, 'root'), await known(here ? x : y, 'root')];
      await bob.register('bob');
      await any.register('any', { methods: ['governance/approval'] });
      const say = (peer, approver) => peer.notify('governance/approval', { checkpoint: 'c', artifact: {}, approver, decision: 'approved' });
      const [method, named, watch] = [await known(x, 'method'), await known(x, 'named'), await known(x, 'root')];
      const forwarded = async () => (await watch.ask('hub/stats')).result.notifications_forwarded;
      const before = await forwarded();
      say(method, 'bob');
      const refusals = () => readFileSync(x.journal, 'utf8').split('\n').filter((line) => /"user":"method"/.test(line) && /"kind":"refusal"/.test(line));
      await until('the journal has it', async () => refusals().length === 1);
      assert.match(refusals()[0], /"governance\/approval".*"rule":"call"/);
      assert.equal(await forwarded(), before); // it was asked about
      say(method, 'alice');
      const { json, ...rest } = await any.next();
      assert.equal(json.params.approver, 'alice');
      assert.deepEqual(userOf(rest), ['method']);
      await until('it is counted once', async () => (await forwarded()) === before + 1);
      say(named, 'alice');
      say(named, 'bob');
      assert.deepEqual(userOf(await bob.next()), ['named']);
      for (const one of [bob, any]) await one.silent('what another one may not');
      const lines = () => readFileSync(x.journal, 'utf8').split('\n').filter((line) => /"kind":"approval"/.test(line) && /"outcome":"forwarded"/.test(line) && /"user":"method"/.test(line));
      await until('the journal has that, too', async () => lines().length > 0);
      assert.match(lines().join(), /^[^\n]*"approver":"alice"[^\n]*$/);
      assert.equal(lines().length, 1);
    });

// Behind it on its connection another user's credential is shown before it is back.
between('what the other hub\'s file holds is held by the credential that it came with',
  [{ u: { call: ['b'] } }, { u: { call: ['b'], hold: ['b'] } }], async (x, y) => {
    const [agent, watch] = [await known(y, 'root'), await known(x, 'root')];
    await agent.register('b');
    const client = await Web.open(x);
    client.write(rpc({ jsonrpc: '2.0', id: 1, method: 'work', params: { targetAgent: 'b' } }, `Authorization: Bearer ${tokenOf('u')}`),
      rpc({ jsonrpc: '2.0', id: 2, method: 'hub/ping' }, `Authorization: Bearer ${tokenOf('root')}`));
    await until('it is held', async () => JSON.stringify((await watch.ask('hub/approvals', {})).result).includes('"work"'));
    const gone = usersText({ u: { call: ['b'] } }).replace(/sha256:[0-9a-f]{64}/, `sha256:${'0'.repeat(64)}`);
    await reload(x, `${usersText({ root: ROOT })}\n${gone}`);
    const { error } = (await client.response()).json;
    assert.equal(error.code, -32001);
    assert.equal(error.data.rule, 'credential');
  }, [1, 2], ['--gate', 'manual', '--http', '127.0.0.1:0']);

// The other hub stands still while it is asked, so that the file surely changes before that is known.
for (const [what, users] of [['credential', { root: ROOT, u: { call: ['b'] } }], ['user', { root: ROOT }]])
  between(`what comes back from another hub, and whose ${what} is gone meanwhile, is refused`,
    [{ u: { call: ['b'] } }, { u: { call: ['b'], hold: ['b'] } }], async (x, y) => {
      const [agent, watch] = [await known(y, 'root'), await known(x, 'root')];
      await agent.register('b');
      const client = await Web.open(x);
      const ask = () => client.write(rpc({ jsonrpc: '2.0', id: 1, method: 'work', params: { targetAgent: 'b' } }, `Authorization: Bearer ${tokenOf('u')}`));
      const sent = async () => (await watch.ask('hub/stats')).result.cluster_requests_sent;
      y.process.kill('SIGSTOP');
      try {
        ask();
        await until('it has gone there', async () => await sent() > 0);
        await reload(x, usersText(users).replace(/(?<=user u.\ntoken = sha256:)[0-9a-f]{64}/, '0'.repeat(64)));
      } finally {
        y.process.kill('SIGCONT');
      }
      const { error } = (await client.response()).json;
      assert.equal(error.code, -32001);
      assert.deepEqual(error.data, { rule: 'credential' });
      assert.deepEqual((await watch.ask('hub/approvals', {})).result.approvals, []);
      const line = () => readFileSync(x.journal, 'utf8').split('\n').find((one) => /"rule":"credential"/.test(one));
      await until('the journal has it', line);
      assert.equal(JSON.parse(line()).method, 'work');
    }, [1, 2], ['--gate', 'manual', '--http', '127.0.0.1:0']);

between('who bears no name is refused: a hub without users, and a client of the server\'s', [null, {}], async (x, y, broker) => {
  const agent = await known(y, 'root');
  await agent.register('b');
  const source = await x.peer();
  assertError(await source.ask('work', { targetAgent: 'b' }), -32054);
  assert.deepEqual((await source.ask('hub/agents', { cluster: true })).result, { agents: [], complete: true });
  const client = await Client.join(broker);
  const answer = JSON.parse((await client.ask('patchbay.test.agent.b', '{"jsonrpc":"2.0","id":"n","method":"work","params":{}}')).text);
  assert.equal(answer.id, 'n');
  assertError(answer, -32054);
  client.drop();
  await agent.silent('what nobody has sent');
  agent.drop();
  // The other way: a hub without users lets anybody.
  (await x.agent('a')).serve(() => 1);
  assert.equal((await (await known(y, 'root')).ask('work', { targetAgent: 'a' })).result, 1);
});

between('a limit counts at each hub; a user that is gone at one is nobody there', [{ u: { call: ['b'] } }, { u: { call: ['b'], rate: '2/s' } }],
  async (x, y) => {
    const agent = await known(y, 'root');
    await agent.register('b');
    agent.serve(() => 1);
    const source = await known(x, 'u');
    const answers = await Promise.all(Array.from({ length: 5 }, () => source.ask('work', { targetAgent: 'b' })));
    assert.ok(answers.some((answer) => answer.result === 1));
    const over = answers.filter((answer) => answer.error);
    assert.ok(over.length > 0);
    for (const answer of over) assert.ok(assertError(answer, -32052).data.retryAfterMs > 0);
    await reload(y, { root: ROOT });
    assertError(await source.ask('work', { targetAgent: 'b' }), -32054);
  }, [1]);

between('with --takeover, who has an agentId may have it at another hub, and nobody else', [{ other: ALL }, { other: ALL }], async (x, y) => {
  const first = await known(y, 'root');
  await first.register('a');
  const other = await known(x, 'other');
  assertError(await other.ask('agent/register', { agentId: 'a', capabilities: {} }), -32053);
  const again = await known(x, 'root');
  await again.register('a');
  assert.equal((await first.next()).json.method, 'hub/replaced');
}, [1], ['--takeover']);

// The other hub stands still while it has what was offered, so that the file surely changes before that is back.
between('what comes back from another hub has its place among what is pending still', [{ u: { call: ['method:work'], pending: 2 } }, { u: { call: ['method:work'] } }],
  async (x, y) => {
    const [here, there, source, busy] = [await known(x, 'root'), await known(y, 'root'), await known(x, 'u'), await known(y, 'root')];
    await here.register('a', { methods: ['work'] });
    await there.register('b', { methods: ['work'] });
    for (let n = 0; n < 3; n++) {
      busy.send(requestText(n, 'work', { targetAgent: 'b' }));
      await there.next();
    }
    source.send(requestText(1, 'work', {}));
    const first = (await here.next()).json;
    y.process.kill('SIGSTOP');
    try {
      source.send(requestText(2, 'work', {}));
      await until('it is offered', async () => (await here.ask('hub/stats')).result.cluster_requests_offered === 1);
      await reload(x, { root: ROOT, u: { call: ['method:work'], pending: 1 } });
    } finally {
      y.process.kill('SIGCONT');
    }
    const second = (await here.next()).json;
    for (const { id } of [first, second]) here.reply(id, id);
    for (const { id } of [first, second]) assert.equal((await source.next()).json.result, id);
    assert.equal((await here.ask('hub/stats')).result.cluster_offers_returned, 1);
  }, [1, 2], ['--spill', '1']);
