// The rights of programs that the hub keeps, where users are on: offers, events, requests, and names that they can't
// take.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertError, WAIT_MS } from './peer.mjs';
import { ALL, known, reload, tokenOf, withUsers } from './users.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-children-rights-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)']).toString().trim();
const program = (what) => `command = ${PYTHON} -S -E ${path('child.py')} ${what}\n`;
const data = (name) => `data = ${join(directory, name)}\n`;

function config(name, text) {
  const file = join(directory, name);
  writeFileSync(file, text);
  return ['--config', file];
}

async function until(what, holds) {
  for (const end = Date.now() + WAIT_MS; !(await holds());) {
    assert.ok(Date.now() < end, `it never came that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function running(peer, ...names) {
  for (const end = Date.now() + WAIT_MS; ;) {
    const { agents } = (await peer.ask('hub/agents', {})).result;
    const found = names.map((name) => agents.find(({ agentId, child, initialize }) => agentId === name && child.state === 'running' && initialize));
    if (found.every((one) => one)) return found;
    assert.ok(Date.now() < end, `they run: ${JSON.stringify(agents)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const OFFERS = '{"methods":["deploy/now","tests/run",5,{"name":"deploy/later"}],"tools":{"lint":true,"knife":1,"none":false},"tasks":["sweep"],"rules":true,"polite":1,'
  + '"events":["build-*","secret",{"name":"notes/told"},{"name":"notes/secret"},{"more":1}],"commands":["greet"]}';
const MODEST = { ...ALL, offer: ['method:tests/*', 'tool:lint', '@polite'], subscribe: ['build-*', 'notes/told'] };

withUsers('what an extension offers and hears is what its user may', { admin: { ...ALL, admin: true }, modest: MODEST, all: ALL }, {
  options: config('offers.ini', ['modest', 'all', ''].map((user) => `[child ${user || 'nobody'}]\n${program(`offers '${OFFERS}'`)}protocol = hermes\n`
    + `${data(user)}methods = listed\n${user && `user = ${user}\n`}`).join('')) }, async (hub) => {
  const peer = await known(hub, 'admin');
  const [modest, all, nobody] = await running(peer, 'modest', 'all', 'nobody');
  assert.deepEqual(modest.capabilities, { methods: ['tests/run', 5], tools: { lint: true, none: false }, tasks: [], polite: 1,
    events: ['build-*', { name: 'notes/told' }, { more: 1 }], commands: ['greet'] });
  assert.deepEqual(all.capabilities, JSON.parse(OFFERS));
  assert.deepEqual(nobody.capabilities, { methods: [5], tools: { none: false }, tasks: [], events: [{ more: 1 }], commands: ['greet'] });
  assert.deepEqual((await peer.ask('event', { event: 'secret' })).result, { delivered: 1 });
  assert.deepEqual((await peer.ask('event', { event: 'build-1' })).result, { delivered: 2 });
  assert.ok((await peer.ask('command/execute', { command: 'greet' })).result === null);
  const { result } = await peer.ask('hub/stats');
  assert.deepEqual([result.refused_offer, result.refused_subscribe], [2, 2]);
  // The child's log lines and files come later than its answers.
  for (const [name, user] of [['modest', 'modest'], ['nobody', null]]) {
    for (const rule of ['offer', 'subscribe']) {
      await until(`it says what ${name} may not ${rule}`,
        () => hub.stderr.includes(`child ${name}: of its answer to initialize is left out what its user may not ${rule}`));
      await until(`it is in the journal what ${name} may not ${rule}`, () => readFileSync(hub.journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line))
        .some((line) => line.kind === 'refusal' && line.rule === rule && line.method === 'initialize' && (line.source.user ?? null) === user));
    }
  }
});

withUsers('of what an extension may not offer the section\'s list stands in its place', { admin: { ...ALL, admin: true } }, {
  options: config('instead.ini', `[child nobody]\n${program(`offers '{"methods":["deploy/now"],"tools":["knife"]}'`)}protocol = hermes\n${data('instead')}methods = listed\n`) }, async (hub) => {
  const peer = await known(hub, 'admin');
  const [nobody] = await running(peer, 'nobody');
  assert.deepEqual(nobody.capabilities, { methods: ['listed'], tools: [] });
  assertError(await peer.ask('deploy/now', {}), -32601);
  assert.ok((await peer.ask('listed', {})).result);
});

withUsers('what an extension offers is judged anew when rights change', { admin: { ...ALL, admin: true }, one: ALL }, {
  options: config('anew.ini', `[child one]\n${program(`offers '{"methods":["deploy/now","tests/run"],"events":["secret"]}'`)}protocol = hermes\n${data('anew')}user = one\n`) }, async (hub) => {
  const peer = await known(hub, 'admin');
  const pid = (await running(peer, 'one'))[0].child.pid;
  const becomes = async (expected) => {
    for (const end = Date.now() + WAIT_MS; ;) {
      const [{ capabilities, child }] = await running(peer, 'one');
      assert.equal(child.pid, pid);
      try {
        return assert.deepEqual(capabilities, expected);
      } catch (error) {
        if (Date.now() > end) throw error;
      }
    }
  };
  await reload(hub, { admin: { ...ALL, admin: true }, one: { ...ALL, offer: ['method:tests/*'], subscribe: ['other'] } });
  await becomes({ methods: ['tests/run'], events: [] });
  assertError(await peer.ask('deploy/now', {}), -32601);
  assert.deepEqual((await peer.ask('event', { event: 'secret' })).result, { delivered: 0 });
  await reload(hub, { admin: { ...ALL, admin: true }, one: ALL });
  await becomes({ methods: ['deploy/now', 'tests/run'], events: ['secret'] });
});

const server = (name, more) => `[child ${name}]\ncommand = ${PYTHON} -S -E ${path('mcp_server.py')}\nprotocol = mcp\n${more}`;
const SAMPLED = { ...ALL, call: ['method:sampling/*'] };
const ASKS = 'ask-clients = yes\n';

withUsers('what a server of MCP asks its client is what its user may call', { admin: { ...ALL, admin: true }, sampled: SAMPLED }, {
  options: config('asks.ini', server('server', `user = sampled\n${ASKS}`) + server('own', 'user = sampled\ninstances = each\n') + server('mute', ASKS)) }, async (hub) => {
  for (const [agent, expected] of [['server', [true, false]], ['own', [true, false]], ['mute', [false, false]]]) {
    const peer = await known(hub, 'admin');
    await peer.ask('hub/attach', { agent });
    peer.serve(({ method }) => ({ method }));
    for (const [index, method] of ['sampling/createMessage', 'elicitation/create'].entries()) {
      await peer.ask('say', { message: { jsonrpc: '2.0', id: method, method, params: { messages: [] } } });
      let answer;
      for (const end = Date.now() + WAIT_MS; !answer && Date.now() < end;) {
        answer = (await peer.ask('seen')).result.messages.find((one) => one.id === method && !one.method);
      }
      assert.deepEqual([answer?.result, answer?.error?.code, answer?.error?.data], expected[index] ? [{ method }, undefined, undefined] : [undefined, -32001, { rule: 'call' }]);
    }
  }
});

withUsers('a child is whom its section names, whatever token it shows', { admin: { ...ALL, admin: true }, one: ALL, other: ALL }, {
  options: config('tokens.ini', `[child one]\n${program('serve')}methods = ask\nuser = one\n[child nobody]\n${program('serve')}`) }, async (hub) => {
  const peer = await known(hub, 'admin');
  const shows = (targetAgent, token) => peer.ask('ask', { targetAgent, method: 'initialize', params: { token } }).then(({ result }) => result);
  assert.ok((await shows('one', tokenOf('one'))).result);
  for (const [child, token] of [['one', 'pb_token-of-nobody'], ['one', tokenOf('other')], ['one', 7], ['nobody', 'pb_token-of-nobody'], ['nobody', tokenOf('one')]]) {
    assertError(await shows(child, token), -32001);
    assert.deepEqual((await shows(child, token)).error.data, { rule: 'credential' });
  }
  assert.equal((await peer.ask('hub/stats')).result.refused_credential, 10);
});
