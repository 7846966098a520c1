// What passes between a hub and its server: credentials, and the subjects that a server has to allow. Also clients that
// are no hubs, and what is said where nobody may read it.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Broker, Client, joined, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError } from './peer.mjs';

const folder = mkdtempSync(join(tmpdir(), 'patchbay-nats-'));
after(() => rmSync(folder, { recursive: true, force: true }));

function configured(text) {
  const path = join(folder, `${Math.random().toString(36).slice(2)}.conf`);
  writeFileSync(path, text);
  return Broker.start(['-c', path]);
}

async function pair(broker, uri) {
  const hubs = [await Hub.start(joining(uri)), await Hub.start(joining(uri))];
  await Promise.all(hubs.map((hub) => linked(hub)));
  (await hubs[1].agent('b')).serve(() => 1);
  assert.equal((await (await hubs[0].peer()).ask('work', { targetAgent: 'b' })).result, 1);
  for (const hub of hubs) {
    await hub.stop();
    assert.ok(!hub.stderr.includes('s3cret'), hub.stderr);
  }
  await broker.kill();
}

test('user and password; permission for the cluster\'s subjects and $SRV is all that a hub needs', async () => {
  const allowed = '["patchbay.test.>", "$SRV.>"]';
  const broker = await configured(`authorization { users = [ { user: hub, password: s3cret,
    permissions: { publish: ${allowed}, subscribe: ${allowed}, allow_responses: true } } ] }`);
  await pair(broker, `nats://hub:s3cret@127.0.0.1:${broker.port}`);
  assert.ok(!/Permissions Violation/.test(broker.log), broker.log);
});

test('a token', async () => {
  const broker = await configured('authorization { token: s3cret }');
  await pair(broker, `nats://s3cret@127.0.0.1:${broker.port}`);
});

test('wrong credentials: no link, and the hub goes on', async () => {
  const broker = await configured('authorization { token: s3cret }');
  const hub = await Hub.start(joining(`nats://wrong@127.0.0.1:${broker.port}`));
  await until('it was refused', async () => /authentication error|authorization/i.test(broker.log));
  (await hub.agent('a')).serve(() => 1);
  const source = await hub.peer();
  assert.equal((await source.ask('work', { targetAgent: 'a' })).result, 1);
  let stats;
  await until('the hub has read so', async () => (stats = (await source.ask('hub/stats')).result).cluster_server_faults > 0);
  assert.equal(stats.cluster_link, 0);
  await hub.stop();
  assert.equal(hub.stderr.match(/cluster: server 127\.0\.0\.1:\d+: 'Authorization Violation'/g)?.length, 1, hub.stderr);
  assert.ok(!hub.stderr.includes('wrong@'), hub.stderr);
  await broker.kill();
});

joined('a client that is no hub asks an agent by its subject', {}, async (x, y, broker) => {
  const agent = await y.agent('b', { methods: ['tests/run'] });
  agent.serve((message) => message.method);
  const client = await Client.join(broker);
  const ask = async (subject, method) =>
    JSON.parse((await client.ask(subject, `{"jsonrpc":"2.0","id":"n","method":"${method}","params":{"targetAgent":"b"}}`)).text);
  assert.deepEqual(await ask('patchbay.test.1.agent.b', 'work'), { jsonrpc: '2.0', id: 'n', result: 'work' });
  assert.equal((await ask('patchbay.test.1.method.tests_2Frun', 'tests/run')).result, 'tests/run');
  assertError(await ask('patchbay.test.1.agent.b', 'hub/stats'), -32601);
  client.drop();
});

joined('what comes from the server is judged as if a peer had sent it', {}, async (x, y, broker) => {
  const agent = await y.agent('b');
  const client = await Client.join(broker);
  const refused = async (body) => JSON.parse((await client.ask('patchbay.test.1.agent.b', body)).text).error?.code;
  assert.equal(await refused('{"jsonrpc":"2.0","id":1,"method":"m","params":{"targetAgent":"b","targetAgent":"c"}}'), -32600);
  assert.equal(await refused('{"jsonrpc":"2.0","id":1,"method":'), -32700);
  assert.equal(await refused('[{"jsonrpc":"2.0","id":1,"method":"m"}]'), -32601);
  // What a hub lets out it has read before; who says that he is one may not have.
  const name = `${'a'.repeat(32)}-1`, inbox = `patchbay.test.hub.${name}.answer.77`;
  await client.subscribe(inbox);
  const marked = async (field) => {
    const said = '{"jsonrpc":"2.0","id":77,"method":"m","params":{"targetAgent":"b"}}', body = `Content-Length: ${said.length}\r\n${field}\r\n\r\n${said}`;
    client.publish('patchbay.test.1.agent.b', body, inbox,
      `NATS/1.0\r\nPatchbay: ${name} time=5000\r\n\r\n`);
    const { text } = await client.find((one) => one.subject === inbox, 'an answer');
    return JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).error?.code;
  };
  for (const [field, code] of [['Governance-Level: bogus', -32602], ['Custom-Timeout-Ms: 0', -32602], ['HugAI-Version: 3', -32056]])
    assert.equal(await marked(field), code, field);
  await agent.silent('what was refused');
  client.drop();
});

joined('answers that nobody is owed are dropped', {}, async (x, y, broker) => {
  const agent = await y.agent('b');
  const source = await x.peer();
  const client = await Client.join(broker);
  await client.subscribe('patchbay.test.1.agent.b');
  source.send({ jsonrpc: '2.0', id: 1, method: 'work', params: { targetAgent: 'b' } });
  const { reply } = await client.message();
  const { json } = await agent.next();
  for (const body of ['{"jsonrpc":"2.0","id":999999,"result":"forged"}', 'garbage', '{}'])
    client.publish(`${reply.slice(0, reply.lastIndexOf('.'))}.16777215`, body);
  await client.settled();
  agent.reply(json.id, 'right');
  assert.equal((await source.next()).json.result, 'right');
  await source.silent('forged answers');
  client.drop();
});

test('a server beyond loopback, without TLS, needs --insecure', async () => {
  for (const uri of ['nats://192.0.2.1:4222', 'nats://u:s3cret@192.0.2.1:4222']) {
    const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', ...joining(uri)]);
    const { code } = await hub.exit;
    assert.notEqual(code, 0);
    assert.match(hub.stderr, /--insecure/);
    assert.ok(!hub.stderr.includes('s3cret'), hub.stderr);
  }
});

test('what can\'t be read is refused at start', async () => {
  const wrong = [
    ['--nats', 'nats://127.0.0.1:4222'], ['--cluster', 'test'], joining('http://127.0.0.1:4222'), joining('nats://127.0.0.1:0'),
    joining('nats://127.0.0.1:4222', ''), joining('nats://127.0.0.1:4222', 'a.b'), joining('nats://127.0.0.1:4222', 'x'.repeat(65)),
    joining('nats://127.0.0.1:4222', 'a b'), joining('nats://'),
  ];
  for (const options of wrong) {
    const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', ...options]);
    hub.process.kill('SIGKILL');
    assert.notEqual((await hub.exit).code ?? 0, 0, options.join(' '));
  }
});

// As `nats micro list`, `info` and `stats` ask: everybody, those of a name, one.
joined('the hub answers as services of NATS do, and its agents are endpoints', {}, async (x, y, broker) => {
  const agent = await y.agent('ci.b', { methods: ['tests/run'] });
  const client = await Client.join(broker);
  const ask = async (subject) => JSON.parse((await client.ask(subject, '')).text);
  const both = async (subject) => (await client.askAll(subject, '', 2)).map(({ text }) => JSON.parse(text));
  const ids = new Set((await both('$SRV.PING.patchbay')).map(({ id }) => id));
  assert.equal(ids.size, 2);
  for (const id of ids) {
    const ping = await ask(`$SRV.PING.patchbay.${id}`);
    assert.deepEqual(Object.keys(ping).sort(), ['id', 'metadata', 'name', 'type', 'version']);
    assert.equal(ping.type, 'io.nats.micro.v1.ping_response');
    assert.deepEqual([ping.name, ping.id, ping.metadata], ['patchbay', id, { cluster: 'test' }]);
    assert.match(ping.version, /^\d+\.\d+\.\d+$/);
  }
  const infos = await both('$SRV.INFO');
  assert.deepEqual(new Set(infos.map(({ id }) => id)), ids);
  assert.equal(infos.filter(({ endpoints }) => endpoints.length).length, 1); // who has the agent
  const info = infos.find(({ endpoints }) => endpoints.length);
  assert.equal(info.type, 'io.nats.micro.v1.info_response');
  const named = ({ endpoints }, wanted) => endpoints.find(({ name }) => name === wanted);
  for (const [name, subject] of [['ci_2Eb', 'agent.ci_2Eb'], ['method-tests_2Frun', 'method.tests_2Frun']])
    assert.deepEqual(named(info, name), { name, subject: `patchbay.test.1.${subject}`, queue_group: 'g' });
  for (const answer of ['"result":1', '"error":{"code":1,"message":"no"}']) {
    const asked = client.ask('patchbay.test.1.agent.ci_2Eb', '{"jsonrpc":"2.0","id":1,"method":"work","params":{"targetAgent":"ci.b"}}');
    agent.send(`{"jsonrpc":"2.0","id":${(await agent.next()).json.id},${answer}}`);
    assert.ok((await asked).text.includes(answer));
  }
  const stats = await ask(`$SRV.STATS.patchbay.${info.id}`);
  assert.equal(stats.type, 'io.nats.micro.v1.stats_response');
  assert.ok(Math.abs(Date.parse(stats.started) - Date.now()) < 600_000, stats.started);
  const endpoint = named(stats, 'ci_2Eb');
  assert.deepEqual([endpoint.num_requests, endpoint.num_errors], [2, 1]);
  assert.equal(typeof endpoint.processing_time, 'number');
  assert.equal(named(stats, 'method-tests_2Frun').num_requests, 0);
  agent.drop();
  client.drop();
});
