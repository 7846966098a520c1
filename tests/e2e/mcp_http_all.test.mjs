// MCP over HTTP, all servers as one: lists of all, names that tell whose a tool is, and what goes to one.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { send, Session } from './mcp_web.mjs';
import { fourAtOnce } from './parallel.mjs';
import { web } from './web.mjs';

fourAtOnce();

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-all-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = fileURLToPath(new URL('mcp_lists.py', import.meta.url));
const seer = fileURLToPath(new URL('mcp_server.py', import.meta.url));
const section = (name, own, tools, more = '') => `[child ${name}]\ncommand = python3 -S -E ${program} ${own} ${tools} ${more}\nprotocol = mcp\n`;
let files = 0;
function hub(text, ...options) {
  const path = join(directory, `hub-${++files}.ini`);
  writeFileSync(path, text);
  return { shards: [1, 2], options: ['--config', path, ...options] };
}
const TWO = section('one', 'one', 'a,b,both,changed,slow') + section('tw.o', 'two', 'both,c,one__x');
const VERSION = '2026-07-28', META = 'io.modelcontextprotocol/';

function modern(on, method, params = {}, fields = {}) {
  const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} };
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return send(on, 'POST', '/mcp', { body, fields: { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': method, ...fields } });
}
const ask = async (on, ...how) => (await (await modern(on, ...how)).end()).answer(1);
const SHOWN = ['a', 'b', 'one__both', 'changed', 'slow', 'tw_o__both', 'c', 'tw_o__one__x'];
const names = ({ result }) => result.tools.map(({ name }) => name);
const textOf = ({ result }) => result.content[0].text;

web('all servers are one in a session', hub(TWO), async (on) => {
  const session = await Session.open(on, '/mcp');
  assert.equal(session.opened.result.serverInfo.name, 'patchbay');
  assert.equal(session.opened.result.protocolVersion, '2025-06-18');
  assert.deepEqual(session.opened.result.capabilities, { tools: { listChanged: true }, resources: { listChanged: true, subscribe: true } });
  assert.deepEqual(names(await session.ask('tools/list')), SHOWN);
  assert.equal((await session.ask('tools/list', { cursor: '1' })).error.code, -32602);
  assert.deepEqual((await session.ask('prompts/list')).result, { prompts: [] });
  const { resources } = (await session.ask('resources/list')).result;
  assert.deepEqual(resources, [{ uri: 'u:same', name: 'one' }, { uri: 'u:one', name: 'own' }, { uri: 'u:two', name: 'own' }]);
  const call = (name) => session.ask('tools/call', { name, arguments: {} });
  for (const [name, answer] of [['a', 'one:a'], ['c', 'two:c'], ['one__both', 'one:both'], ['tw_o__both', 'two:both'],
    ['tw_o__c', 'two:c'], ['tw_o__one__x', 'two:one__x'], ['one__x', 'one:x']]) assert.equal(textOf(await call(name)), answer);
  assert.deepEqual((await call('both')).error.data.candidates, ['one__both', 'tw_o__both']);
  assert.equal((await call('nobody')).error.code, -32602);
  assert.equal((await session.ask('resources/read', { uri: 'u:two' })).result.contents[0].text, 'two');
  assert.ok((await session.ask('resources/read', { uri: 'u:none' })).error);
  assert.deepEqual((await session.ask('logging/setLevel', { level: 'info' })).result, {});
  assert.deepEqual((await session.ask('ping')).result, {});
  assert.equal((await session.ask('sampling/createMessage')).error.code, -32601);
});

web('of two servers with one prefix the one that has the tool is called', hub(section('o.ne', 'first', 'a') + section('o_ne', 'second', 'b')), async (on) => {
  const session = await Session.open(on, '/mcp');
  await session.ask('tools/list');
  for (const [name, answer] of [['o_ne__a', 'first:a'], ['o_ne__b', 'second:b']])
    assert.equal(textOf(await session.ask('tools/call', { name })), answer);
});

// Of two sections with one prefix the first that has the name is shown, and called.
const ALIKE = section('a.x', 'first', 't,u,d,d,p') + section('a_x', 'second', 't,v,p') + section('b', 'third', 't')
  + section('p', 'short', 'q__c') + section('p__q', 'long', 'c') + section('q', 'other', 'c');
for (const [when, shown] of [['conflict', ['a_x__t', 'u', 'd', 'a_x__p', 'v', 'b__t', 'p__q__c', 'q__c']],
  ['always', ['a_x__t', 'a_x__u', 'a_x__d', 'a_x__p', 'a_x__v', 'b__t', 'p__q__c', 'q__c']]])
  web(`each name is shown once (--mcp-prefix ${when})`, hub(ALIKE, '--mcp-prefix', when), async (on) => {
    const session = await Session.open(on, '/mcp');
    assert.deepEqual(names(await session.ask('tools/list')), shown);
    assert.deepEqual(names(await ask(on, 'tools/list')), shown);
    for (const [name, answer] of [['a_x__t', 'first:t'], ['a_x__v', 'second:v'], ['a_x__d', 'first:d'], ['b__t', 'third:t'], ['p__q__c', 'long:c'], ['q__c', 'other:c']])
      assert.equal(textOf(await session.ask('tools/call', { name })), answer);
    assert.deepEqual((await session.ask('tools/call', { name: 't' })).error.data.candidates, ['a_x__t', 'b__t']);
    const prompts = (await session.ask('prompts/list')).result.prompts.map(({ name }) => name);
    assert.deepEqual(prompts, when === 'always' ? ['a_x__p-first', 'a_x__p-both', 'a_x__p-second'] : ['p-first', 'a_x__p-both', 'p-second']);
  });

web('a page without those before tells nothing of a list', hub(section('one', 'one', 'both,last') + section('two', 'two', 'both')), async (on) => {
  const one = await Session.open(on, '/mcp/one'), two = await Session.open(on, '/mcp/two'), all = await Session.open(on, '/mcp');
  await two.ask('tools/list');
  assert.deepEqual(names(await one.ask('tools/list', { cursor: '1' })), ['last']);
  const { error } = await all.ask('tools/call', { name: 'both', arguments: {} });
  assert.deepEqual(error?.data.candidates, ['one__both', 'two__both']);
});

web('all servers are one without a session', hub(TWO), async (on) => {
  const { result } = await ask(on, 'server/discover');
  assert.deepEqual(result.supportedVersions, [VERSION]);
  assert.equal(result.serverInfo.name, 'patchbay');
  const list = await ask(on, 'tools/list');
  assert.deepEqual(names(list), SHOWN);
  assert.equal(list.result.ttlMs, 0);
  assert.equal(list.result.cacheScope, 'private');
  assert.equal(textOf(await ask(on, 'tools/call', { name: 'c' }, { 'Mcp-Name': 'c' })), 'two:c');
  const unknown = await (await modern(on, 'nobody/knows')).end();
  assert.equal(unknown.status, 404);
  assert.equal(unknown.json.error.code, -32601);
});

web('a server without sessions is left out of sessions', hub(section('one', 'one', 'a,both') + section('new', 'new', 'both,n', '--modern')), async (on) => {
  const session = await Session.open(on, '/mcp');
  assert.deepEqual(names(await session.ask('tools/list')), ['a', 'both']);
  assert.equal(textOf(await session.ask('tools/call', { name: 'both', arguments: {} })), 'one:both');
  for (const name of ['n', 'new__n']) assert.equal((await session.ask('tools/call', { name, arguments: {} })).error.code, -32602);
  const { resources } = (await session.ask('resources/list')).result;
  assert.deepEqual(resources.map(({ uri }) => uri), ['u:same', 'u:one']);
});

web('a server that says nothing holds up those of all servers no longer than a gather lasts', hub(section('one', 'one', 'a') + section('mute', 'mute', 'b', '--mute'), '--mcp-gather', '1s', '--drain-timeout', '100ms'), async (on) => {
  // The other server may take longer than that to start: it is asked by its own path first, which waits.
  const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} };
  const own = await send(on, 'POST', '/mcp/one', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } }, fields: { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tools/list' } });
  assert.deepEqual(names((await own.end()).answer(1)), ['a']);
  assert.deepEqual(names(await ask(on, 'tools/list')), ['a']);
  assert.equal(textOf(await ask(on, 'tools/call', { name: 'a' }, { 'Mcp-Name': 'a' })), 'one:a');
});

web('elements pass byte for byte', hub(TWO), async (on) => {
  const session = await Session.open(on, '/mcp');
  const answer = await (await session.call('tools/list')).end();
  assert.match(answer.text, /\{"name": "one__both", "n": 1\.0, "inputSchema": \{"type": "object"\}\}/);
});

web('each name may stand behind its server’s', hub(TWO, '--mcp-prefix', 'always'), async (on) => {
  const session = await Session.open(on, '/mcp');
  assert.deepEqual(names(await session.ask('tools/list')), ['one__a', 'one__b', 'one__both', 'one__changed', 'one__slow', 'tw_o__both', 'tw_o__c', 'tw_o__one__x']);
  assert.equal(textOf(await session.ask('tools/call', { name: 'one__a' })), 'one:a');
});

web('a list that changes is told to all sessions', hub(TWO), async (on) => {
  const session = await Session.open(on, '/mcp'), other = await Session.open(on, '/mcp');
  const stream = await other.listen();
  await session.ask('tools/call', { name: 'changed' });
  await stream.until(({ messages }) => messages.some(({ method }) => method === 'notifications/tools/list_changed'), 'the change');
  stream.drop();
});

web('one without that era has clients fall back', hub(TWO + section('old', 'old', 'z', '--legacy')), async (on) => {
  const answer = await (await modern(on, 'tools/list')).end();
  assert.equal(answer.status, 400);
  assert.equal(answer.json.error.code, -31054);
  const session = await Session.open(on, '/mcp');
  assert.deepEqual(names(await session.ask('tools/list')), [...SHOWN, 'z']);
});

web('one that is down, or doesn’t answer, is left out', hub(`${TWO}[child down]\ncommand = false\nprotocol = mcp\nrestart-limit = 0\nrestart-delay = 1ms\n`
  + '[child mute]\ncommand = sleep 1000\nprotocol = mcp\n', '--mcp-gather', '3s'), async (on) => {
  const session = await Session.open(on, '/mcp');
  assert.deepEqual(names(await session.ask('tools/list')), SHOWN);
});

web('a server is not asked for its era where the sessions are all taken', hub(section('d', 'd', 'a', '\ninstances = each'), '--max-mcp-sessions', '2'), async (on) => {
  for (let at = 0; at < 2; at++) await Session.open(on, '/mcp');
  const answers = await Promise.all([1, 2, 3, 4].map(async () => (await modern(on, 'tools/call', { name: 'a', arguments: {} }, { 'Mcp-Name': 'a' })).end()));
  for (const answer of answers) assert.ok(answer.answer(1).error); // the server is left out, as one that is down
  assert.equal(on.process.exitCode, null);
});

web('no server at all is an empty one', hub('[child plain]\ncommand = cat\n'), async (on) => {
  const session = await Session.open(on, '/mcp');
  assert.deepEqual(session.opened.result.capabilities, {});
  assert.deepEqual((await session.ask('tools/list')).result, { tools: [] });
  assert.equal((await session.ask('resources/read', { uri: 'x' })).error.code, -32601);
});

const CHANGING = hub(TWO);
web('SIGHUP changes the servers under their sessions', CHANGING, async (on) => {
  const file = CHANGING.options[1];
  const all = await Session.open(on, '/mcp'), one = await Session.open(on, '/mcp/one'), two = await Session.open(on, '/mcp/tw.o');
  const [ofAll, ofOne, ofTwo] = [await all.listen(), await one.listen(), await two.listen()];
  writeFileSync(file, section('one', 'one', 'a') + section('new', 'new', 'fresh'));
  on.process.kill('SIGHUP');
  const changed = ({ messages }) => messages.map(({ method }) => method.split('/')[1]);
  await ofAll.until((answer) => ['tools', 'prompts', 'resources'].every((list) => changed(answer).includes(list)), 'the changes');
  await ofTwo.end();
  assert.equal((await (await two.call('ping')).end()).status, 404);
  assert.equal((await (await one.call('ping')).end()).status, 200);
  assert.ok(!ofOne.ended);
  assert.deepEqual(names(await all.ask('tools/list')), ['a', 'fresh']);
  writeFileSync(file, TWO); // for the next hub
});

const asked = async (session, name) => (await session.ask('tools/call', { name })).result.asked;
web('a call by name goes to the server that is known to have it', hub(section('one', 'one', 'a,listed') + section('two', 'two', 'c,grow')), async (on) => {
  const session = await Session.open(on, '/mcp'), other = await Session.open(on, '/mcp');
  for (let n = 0; n < 3; n++) for (const [name, answer] of [['c', 'two:c'], ['a', 'one:a']])
    assert.equal(textOf(await [session, other][n % 2].ask('tools/call', { name })), answer);
  assert.deepEqual(await asked(session, 'listed'), { 'tools/list': 1 });
  // A name that nobody is known to have is looked for; and one that has come is found.
  assert.equal((await session.ask('tools/call', { name: 'late' })).error.code, -32602);
  await session.ask('tools/call', { name: 'grow' });
  assert.equal(textOf(await session.ask('tools/call', { name: 'late' })), 'two:late');
  assert.deepEqual(await asked(session, 'listed'), { 'tools/list': 3 });
  assert.equal(textOf(await session.ask('tools/call', { name: 'late' })), 'two:late');
  assert.deepEqual(await asked(session, 'listed'), { 'tools/list': 3 });
});

web('a list that has changed is asked for again', hub(section('one', 'one', 'a,listed,grow') + section('two', 'two', 'late')), async (on) => {
  const session = await Session.open(on, '/mcp');
  assert.equal(textOf(await session.ask('tools/call', { name: 'late' })), 'two:late');
  await session.ask('tools/call', { name: 'grow', arguments: { tell: true } });
  assert.deepEqual((await session.ask('tools/call', { name: 'late' })).error.data.candidates, ['one__late', 'two__late']);
});

web('a server that runs anew is asked again', hub(section('one', 'one', 'a,listed') + section('two', 'two', 'c')), async (on) => {
  const session = await Session.open(on, '/mcp');
  assert.equal(textOf(await session.ask('tools/call', { name: 'c' })), 'two:c');
  const peer = await on.peer('tcp');
  const state = async () => (await peer.ask('hub/children')).result.children.find(({ name }) => name === 'one');
  const before = (await state()).pid;
  assert.ok(before);
  await peer.ask('hub/childRestart', { name: 'one' });
  for (let now = before; now === before || !now;) now = (await state()).pid;
  assert.equal(textOf(await session.ask('tools/call', { name: 'c' })), 'two:c');
  assert.deepEqual(await asked(session, 'listed'), { 'tools/list': 1 }); // of the new one
});

web('resources and completions go to the server that lists them', hub(section('one', 'one', 'listed,p') + section('tw.o', 'two', 'p')), async (on) => {
  const session = await Session.open(on, '/mcp');
  const read = (uri) => session.ask('resources/read', { uri });
  for (let n = 0; n < 2; n++) assert.equal((await read('u:two')).result.contents[0].text, 'two');
  assert.equal((await read('u:same')).error.code, -32601); // the first that lists it, which doesn't know it
  assert.deepEqual(await asked(session, 'listed'), { 'resources/list': 1, 'tools/list': 1 });
  const complete = async (ref) => (await session.ask('completion/complete', { ref, argument: { name: 'x', value: '' } })).result?.completion.values;
  assert.deepEqual(await complete({ type: 'ref/prompt', name: 'p-two' }), ['two', 'p-two']);
  assert.deepEqual(await complete({ type: 'ref/prompt', name: 'tw_o__p-both' }), ['two', 'p-both']);
  assert.deepEqual(await complete({ type: 'ref/prompt', name: 'p-none' }), ['one', 'p-none']);
  assert.deepEqual(await complete({ type: 'ref/resource', uri: 'u:two' }), ['two', 'u:two']);
  assert.deepEqual(await complete({ type: 'ref/resource', uri: 'u:{x}' }), ['one', 'u:{x}']);
  const get = async (name) => (await session.ask('prompts/get', { name })).result.description;
  assert.equal(await get('p-two'), 'two:p-two');
  assert.equal(await get('tw_o__p-both'), 'two:p-both');
});

const both = (name) => `[child ${name}]\ncommand = python3 -S -E ${seer} --both\nprotocol = mcp\n`;
web('a subscription to all has one acknowledgement, and ends with the hub', hub(both('a') + both('b')), async (on) => {
  const waiting = modern(on, 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  const at = (name, method, params = {}) => {
    const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} };
    const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
    return send(on, 'POST', `/mcp/${name}`, { body, fields: { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': method } });
  };
  const listens = [];
  for (const name of ['a', 'b']) {
    let found;
    while (!found) found = (await (await at(name, 'seen')).end()).answer(1).result.messages.find(({ method }) => method === 'subscriptions/listen');
    listens.push(found.id);
  }
  const tell = async (index, method, notifications) => {
    const _meta = { [`${META}subscriptionId`]: listens[index] };
    const message = { jsonrpc: '2.0', method, params: { _meta, ...(notifications && { notifications }) } };
    await (await at(['a', 'b'][index], 'say', { message })).end();
  };
  await tell(0, 'notifications/subscriptions/acknowledged', {});
  await tell(1, 'notifications/subscriptions/acknowledged', { toolsListChanged: true });
  const stream = await waiting;
  await tell(0, 'notifications/tools/list_changed');
  await stream.until(({ messages }) => messages.length === 2, 'the change');
  const _meta = { [`${META}subscriptionId`]: 1 };
  assert.deepEqual(stream.messages.map(({ method, params }) => [method, params]), [
    ['notifications/subscriptions/acknowledged', { _meta, notifications: { toolsListChanged: true } }],
    ['notifications/tools/list_changed', { _meta }]]);
  on.process.kill('SIGTERM');
  await stream.end();
  assert.deepEqual(stream.messages[2], { jsonrpc: '2.0', id: 1, result: { _meta, resultType: 'complete' } });
});

web('a server that doesn’t acknowledge a subscription in time is left out', hub(both('a') + both('b'), '--mcp-gather', '1500ms'), async (on) => {
  const waiting = modern(on, 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  const at = (method, params = {}, name = 'a') => {
    const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} };
    const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
    return send(on, 'POST', `/mcp/${name}`, { body, fields: { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': method } });
  };
  let found;
  while (!found) found = (await (await at('seen')).end()).answer(1).result.messages.find(({ method }) => method === 'subscriptions/listen');
  const _meta = { [`${META}subscriptionId`]: found.id };
  await (await at('say', { message: { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { _meta, notifications: { toolsListChanged: true } } } })).end();
  const stream = await waiting;
  await stream.until(({ messages }) => messages.length === 1, 'the acknowledgement');
  assert.deepEqual(stream.messages[0].params.notifications, { toolsListChanged: true });
  await (await at('say', { message: { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } } })).end();
  await stream.until(({ messages }) => messages.length === 2, 'the change');
  stream.drop(); // which ends it at both servers
  for (const name of ['a', 'b']) {
    const messages = async () => (await (await at('seen', {}, name)).end()).answer(1).result.messages;
    let cancel;
    while (!cancel) cancel = (await messages()).find(({ method }) => method === 'notifications/cancelled');
    const listen = (await messages()).find(({ method }) => method === 'subscriptions/listen');
    assert.equal(cancel.params.requestId, listen.id);
  }
});
