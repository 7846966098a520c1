// MCP over HTTP where users are on: who may call a server, or a tool of it alone, on every transport.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from './cluster.mjs';
import { attributes, Collector } from './collector.mjs';
import { BOTH, META, OPENING, send, sendModern, Session, VERSION } from './mcp_web.mjs';
import { assertError, WAIT_MS } from './peer.mjs';
import { directoryOfUsers, known, passed, reload, tokenOf, withUsers } from './users.mjs';

const program = fileURLToPath(new URL('mcp_lists.py', import.meta.url));
const section = (name, tools, more = '') => `[child ${name}]\ncommand = python3 -S -E ${program} ${name} ${tools}\nprotocol = mcp\n${more}`;
const config = join(directoryOfUsers, 'mcp.ini');
writeFileSync(config, section('one', 'a,b,both') + section('two', 'both,c,d', 'tools = both, c*\n'));
const USERS = {
  all: { call: ['*'] },
  one: { call: ['one'], 'deny-call': ['tool:one__b'] },
  tool: { call: ['tool:a', 'tool:two__both'] },
  none: { call: ['elsewhere'] },
  boss: { admin: true },
};
const HOW = { transport: 'http', options: ['--config', config] };
const bearer = (user) => ({ Authorization: `Bearer ${tokenOf(user)}` });
const open = (hub, user, path) => Session.open(hub, path, { fields: bearer(user) });
// Names of all pages.
async function names(session, cursor) {
  const { result } = await session.ask('tools/list', cursor ? { cursor } : {});
  const own = result.tools.map(({ name }) => name);
  return result.nextCursor ? [...own, ...await names(session, result.nextCursor)] : own;
}
const call = (session, name) => session.ask('tools/call', { name, arguments: {} });
const textOf = ({ result }) => result.content[0].text;
const initialize = (hub, path, fields) => send(hub, 'POST', path, { body: { jsonrpc: '2.0', id: 7, method: 'initialize', params: OPENING }, fields });

withUsers('each request needs a credential, and a right', USERS, HOW, async (hub) => {
  for (const path of ['/mcp', '/mcp/one']) {
    const unknown = await (await initialize(hub, path, {})).end();
    assert.equal(unknown.status, 401);
    assert.match(unknown.fields['www-authenticate'], /^Bearer/);
    for (const name of [path, '/mcp/nobody']) {
      const refused = await (await initialize(hub, name, bearer('none'))).end();
      assert.equal(refused.status, 403);
      assert.equal(refused.json.error.code, -31001);
      assert.equal(refused.json.id, 7);
    }
  }
  const session = await open(hub, 'all', '/mcp/one');
  const stolen = await (await session.send({ jsonrpc: '2.0', id: 1, method: 'ping' }, bearer('one'))).end();
  assert.equal(stolen.status, 404);
  const { events } = await (await session.call('ping', {}, { Accept: 'text/event-stream' })).end();
  const place = { 'Last-Event-ID': events.at(-1).id };
  const ask = async (method, user) => (await (await send(hub, method, '/mcp/one', { fields: { ...session.fields, ...bearer(user), ...place } })).end()).status;
  const statuses = [await ask('GET', 'one'), await ask('DELETE', 'one'), await ask('GET', 'none'), await ask('GET', 'all'), await ask('DELETE', 'all'), await ask('GET', 'all')];
  assert.deepEqual(statuses, [404, 404, 403, 200, 204, 404]);
  assert.match(readFileSync(hub.journal, 'utf8'), /"refusal"/);
});

withUsers('a tool is judged by its name, behind its server’s or not', USERS, HOW, async (hub) => {
  const one = await open(hub, 'one', '/mcp/one');
  assert.deepEqual(await names(one), ['a', 'both']);
  assert.equal(textOf(await call(one, 'a')), 'one:a');
  assert.equal((await call(one, 'b')).error.code, -31001);
  const tool = await open(hub, 'tool', '/mcp/one');
  assert.deepEqual(await names(tool), ['a']);
  assert.equal(textOf(await call(tool, 'a')), 'one:a');
  for (const name of ['b', 'both', 'nobody']) assert.equal((await call(tool, name)).error.code, -31001);
  assert.equal((await tool.ask('resources/list')).error.code, -31001);
  const all = await open(hub, 'tool', '/mcp');
  assert.deepEqual(await names(all), ['a', 'both']);
  assert.equal(textOf(await call(all, 'both')), 'two:both');
  const peer = await known(hub, 'tool', 'tcp');
  assert.equal(textOf(await peer.ask('tools/call', { targetAgent: 'one', name: 'a' })), 'one:a');
  assertError(await peer.ask('tools/call', { targetAgent: 'one', name: 'b' }), -32001);
  assertError(await peer.ask('resources/list', { targetAgent: 'one' }), -32001);
  assertError(await peer.ask('tools/list', { targetAgent: 'one' }), -32001);
  const denied = await known(hub, 'one', 'tcp');
  assert.equal(textOf(await denied.ask('tools/call', { targetAgent: 'one', name: 'a' })), 'one:a');
  assertError(await denied.ask('tools/call', { targetAgent: 'one', name: 'b' }), -32001);
  assert.deepEqual(await names({ ask: (method, params) => denied.ask(method, { targetAgent: 'one', ...params }) }), ['a', 'both']);
  const free = await known(hub, 'all', 'tcp');
  assert.deepEqual(await names({ ask: (method, params) => free.ask(method, { targetAgent: 'one', ...params }) }), ['a', 'b', 'both']);
  assert.deepEqual(await names({ ask: (method, params) => free.ask(method, { targetAgent: 'two', ...params }) }), ['both', 'c']);
});

withUsers('a section names the tools that are there', USERS, HOW, async (hub) => {
  const session = await open(hub, 'all', '/mcp/two');
  assert.deepEqual(await names(session), ['both', 'c']);
  const missing = await (await session.call('tools/call', { name: 'd' })).end();
  assert.equal(missing.answer(session.ids).error.code, -32602);
  const all = await open(hub, 'all', '/mcp');
  assert.deepEqual(await names(all), ['a', 'b', 'one__both', 'two__both', 'c']);
  assertError(await (await known(hub, 'all', 'tcp')).ask('tools/call', { targetAgent: 'two', name: 'd' }), -32602);
});

withUsers('a user who is gone has no session', USERS, HOW, async (hub) => {
  const session = await open(hub, 'one', '/mcp/one');
  const stream = await session.listen();
  const { one, ...others } = USERS;
  assert.ok(one);
  await reload(hub, others);
  await stream.end();
});

// Every request in progress of a user who is removed has an error, whatever it waits for. Others go on.
writeFileSync(join(directoryOfUsers, 'leaving.ini'), section('one', 'a,slow,held') + `[child server]\ncommand = python3 -S -E ${fileURLToPath(new URL('mcp_server.py', import.meta.url))} --both\nprotocol = mcp\n[child mute]\ncommand = python3 -S -E ${program} mute b --mute\nprotocol = mcp\n`);
const LEAVING = { transport: 'http', options: ['--config', join(directoryOfUsers, 'leaving.ini'), '--gate', 'manual', '--mcp-gather', '60s', '--drain-timeout', '100ms'] };
const LEAVING_USERS = { leaves: { call: ['*'], hold: ['tool:held'] }, stays: { call: ['*'] }, boss: { admin: true } };
withUsers('what a user who is removed has in progress is answered', LEAVING_USERS, LEAVING, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp'), events = { Accept: 'text/event-stream' };
  const one = await open(hub, 'leaves', '/mcp/one'), stays = await open(hub, 'stays', '/mcp/one');
  const other = stays.call('tools/call', { name: 'slow' });
  const modern = (user, path, method, params, id) => sendModern(hub, path, method, params, { id, fields: bearer(user) });
  // After these no call waits for the era of its server.
  for (const [path, name] of [['/mcp/one', 'a'], ['/mcp/server', 'b']]) await (await modern('leaves', path, 'tools/call', { name })).end();
  const stream = await one.listen();
  const calls = [
    one.call('tools/call', { name: 'slow' }), one.call('tools/call', { name: 'slow' }, events), one.call('tools/call', { name: 'held' }),
    modern('leaves', '/mcp/one', 'tools/call', { name: 'slow' }, 4), modern('leaves', '/mcp/server', 'subscriptions/listen', { notifications: { toolsListChanged: true } }, 5),
    // which waits for all servers, of which one is mute
    send(hub, 'POST', '/mcp', { body: { jsonrpc: '2.0', id: 6, method: 'initialize', params: OPENING }, fields: bearer('leaves') }),
  ];
  const pending = async (count) => {
    for (const end = Date.now() + WAIT_MS; Date.now() < end;) if ((await boss.ask('hub/pending')).result.total >= count) return;
    throw new Error(`not ${count} requests: ${JSON.stringify((await boss.ask('hub/pending')).result)}`);
  };
  await pending(7);
  // The hub asks the server for its era in the name of the first, and for the other anew.
  const waiting = ['leaves', 'stays'].map((user, at) => modern(user, '/mcp/mute', 'tools/call', { name: 'b' }, 7 + at));
  await pending(8);
  const { leaves, ...others } = LEAVING_USERS;
  assert.ok(leaves);
  await reload(hub, others);
  for (const [at, call] of calls.entries()) {
    const answer = await (await call).end(), { error } = answer.answer(at + 1) ?? assert.fail(`no answer to ${at + 1}: ${answer.status} ${answer.text}`);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual([error.code, error.data.rule], [-31001, 'credential'], answer.text);
    assert.equal(!error.data.checkpoint, at !== 2);
    assert.equal(answer.fields['mcp-session-id'], undefined);
  }
  await stream.end();
  assert.equal((await (await waiting[0]).end()).json.error.code, -31001);
  for (const path of ['/mcp/one', '/mcp']) assert.equal((await (await initialize(hub, path, bearer('leaves'))).end()).status, 401);
  const asked = (await boss.ask('hub/pending')).result.pending.map(({ method, target, user }) => [user, target, method]);
  assert.deepEqual(asked.sort(), [['stays', 'mute', 'server/discover'], ['stays', 'one', 'tools/call']]);
  await stays.notify('notifications/cancelled', { requestId: stays.ids });
  assert.equal((await (await other).end()).messages.length, 0);
  hub.process.kill('SIGTERM');
  const late = await (await waiting[1]).end();
  assert.equal(late.status, 503);
  assert.match(late.fields['retry-after'], /^[1-9]/);
});

// A stream bears a server's messages, so it ends with the right to that server. Calls go on.
writeFileSync(join(directoryOfUsers, 'losing.ini'), section('one', 'a,slow') + `[child server]\ncommand = python3 -S -E ${fileURLToPath(new URL('mcp_server.py', import.meta.url))} --both\nprotocol = mcp\n`);
const LOSING = { transport: 'http', options: ['--config', join(directoryOfUsers, 'losing.ini'), '--drain-timeout', '100ms'] };
const LOSING_USERS = { loses: { call: ['*'] }, stays: { call: ['*'] }, boss: { admin: true } };
withUsers('streams end with the right to their server, and calls go on', LOSING_USERS, LOSING, async (hub) => {
  const one = await open(hub, 'loses', '/mcp/one'), all = await open(hub, 'loses', '/mcp'), stays = await open(hub, 'stays', '/mcp/one');
  const listen = (path, id) => sendModern(hub, path, 'subscriptions/listen', { notifications: { toolsListChanged: true } }, { id, fields: bearer('loses') });
  const streams = [await one.listen(), await all.listen(), listen('/mcp/server', 1), listen('/mcp', 2)], other = await stays.listen();
  const call = one.call('tools/call', { name: 'slow' }), boss = await known(hub, 'boss', 'tcp');
  const pending = async () => (await boss.ask('hub/pending')).result.pending.map(({ method }) => method);
  for (let found = []; !found.includes('tools/call') || found.filter((method) => method === 'subscriptions/listen').length < 2;) found = await pending();
  await reload(hub, { ...LOSING_USERS, loses: { call: ['other'] } });
  for (const stream of streams) await (await stream).end();
  assert.deepEqual(await pending(), ['tools/call']);
  hub.process.kill('SIGTERM');
  assert.equal((await (await call).end()).answer(one.ids).error.code, -31050);
  await other.end();
});

// At /mcp the user's one client at such a server asks for the calls' clients, and ends in the same turn as these.
const OWN = { transport: 'http', options: ['--config', join(directoryOfUsers, 'own.ini'), '--gate', 'manual', '--mcp-gather', '60s'] };
writeFileSync(join(directoryOfUsers, 'own.ini'), section('own', 'a --modern --never prompts/list', 'instances = each\n'));
withUsers('lists that a user who is removed waits for at /mcp are answered', LEAVING_USERS, OWN, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp');
  const modern = (method, params, id) => sendModern(hub, '/mcp', method, params, { id, fields: bearer('leaves') });
  assert.equal((await (await modern('tools/call', { name: 'a' }, 0)).end()).status, 200); // makes the client at the server
  const calls = [1, 2].map((id) => modern('prompts/list', {}, id));
  await until('both lists wait', async () => (await boss.ask('hub/pending')).result.total === 2);
  const { leaves, ...others } = LEAVING_USERS;
  assert.ok(leaves);
  await reload(hub, others);
  for (const call of calls) assert.deepEqual((await (await call).end()).json.error.data, { rule: 'credential' });
  passed(await boss.ask('hub/ping'));
});

// The journal's lines of calls, once there are so many.
async function toolLines(hub, count) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; await new Promise(setImmediate)) {
    const all = lines(hub, 'tool');
    if (all.length >= count) return all;
  }
  throw new Error(`${lines(hub, 'tool').length} lines, not ${count}`);
}
const lines = (hub, kind) => readFileSync(hub.journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)).filter((line) => line.kind === kind);
writeFileSync(join(directoryOfUsers, 'journal.ini'), section('one', 'a,slow,failed,refused') + section('two', 'c'));
const JOURNAL = { transport: 'http', options: ['--config', join(directoryOfUsers, 'journal.ini')] };
withUsers('each call of a tool has a line in the journal, from whatever transport', USERS, JOURNAL, async (hub) => {
  const session = await open(hub, 'all', '/mcp/one'), all = await open(hub, 'all', '/mcp'), peer = await known(hub, 'one', 'tcp');
  const secret = { arguments: { password: 'hidden' } };
  for (const name of ['a', 'failed', 'refused']) await session.ask('tools/call', { name, ...secret });
  await all.ask('tools/call', { name: 'c', ...secret });
  await peer.ask('tools/call', { targetAgent: 'one', name: 'a', ...secret });
  assertError(await peer.ask('tools/call', { targetAgent: 'one', name: 'b' }), -32001); // which has a line of a refusal, too
  const late = await (await session.call('tools/call', { name: 'slow', ...secret }, { 'Custom-Timeout-Ms': '50' })).end();
  assert.equal(late.answer(session.ids).error.code, -31051);
  const waiting = session.call('tools/call', { name: 'slow', ...secret });
  const boss = await known(hub, 'boss', 'tcp');
  const counts = async () => (await boss.ask('hub/stats')).result;
  await until('the call waits', async () => (await counts()).pending === 1);
  await session.notify('notifications/cancelled', { requestId: session.ids });
  await (await waiting).end();
  const found = await toolLines(hub, 8);
  assert.deepEqual(found.map(({ target, tool, outcome, source }) => [target, tool, outcome, source.user]), [
    ['one', 'a', 'ok', 'all'], ['one', 'failed', 'error', 'all'], ['one', 'refused', 'error', 'all'], ['two', 'c', 'ok', 'all'],
    ['one', 'a', 'ok', 'one'], ['one', 'b', 'error', 'one'], ['one', 'slow', 'error', 'all'], ['one', 'slow', 'cancelled', 'all']]);
  for (const line of found) {
    assert.deepEqual(Object.keys(line), ['time', 'kind', 'source', 'target', 'tool', 'outcome', 'ms']);
    assert.ok(Number.isInteger(line.ms) && line.ms >= (line.outcome === 'error' && line.tool === 'slow' ? 50 : 0), line.ms);
  }
  assert.ok(!readFileSync(hub.journal, 'utf8').includes('hidden'));
  assert.equal(lines(hub, 'refusal').length, 1);
  const { mcp_tool_calls_ok: ok, mcp_tool_calls_error: error, mcp_tool_calls_cancelled: cancelled } = await counts();
  assert.deepEqual([ok, error, cancelled], [3, 4, 1]);
});

// Answers of a tool that a user may not call, and of one that isn't there: the same at each path, in both eras and framed.
const FORMS = { transport: 'http', options: ['--config', join(directoryOfUsers, 'forms.ini')] };
writeFileSync(join(directoryOfUsers, 'forms.ini'), section('one', 'a,b,hidden', 'tools = a, b\n') + section('two', 'c,d'));
const FORM_USERS = { ...USERS, most: { call: ['one', 'two'], 'deny-call': ['tool:one__b', 'tool:d'] }, few: { call: ['tool:a'] } };
withUsers('a tool that is forbidden, and one that isn’t there', FORM_USERS, FORMS, async (hub) => {
  // [user, path, tool, code]
  const rows = [
    ['most', '/mcp/one', 'b', -31001], ['most', '/mcp/two', 'd', -31001], ['few', '/mcp/one', 'b', -31001], ['few', '/mcp/one', 'nobody', -31001],
    ['few', '/mcp/one', 'hidden', -31001], ['most', '/mcp/one', 'hidden', -32602], ['all', '/mcp/one', 'hidden', -32602], ['all', '/mcp/one', 'nobody', -32602],
    ['most', '/mcp', 'one__b', -31001], ['most', '/mcp', 'two__d', -31001], ['most', '/mcp', 'd', -31001], ['few', '/mcp', 'b', -31001],
    ['few', '/mcp', 'nobody', -31001], ['few', '/mcp', 'hidden', -31001], ['few', '/mcp', 'one__hidden', -31001],
    // The other server might have it.
    ['most', '/mcp', 'b', -32602],
    ['most', '/mcp', 'hidden', -32602], ['all', '/mcp', 'hidden', -32602], ['all', '/mcp', 'nobody', -32602], ['all', '/mcp', 'one__hidden', -32602], ['all', '/mcp', 'one__nobody', -32602],
  ];
  for (const [user, path, tool, code] of rows) {
    const what = `${user} ${path} ${tool}`, before = lines(hub, 'tool').length;
    const session = await open(hub, user, path);
    const legacy = await (await session.call('tools/call', { name: tool })).end();
    const modern = await (await sendModern(hub, path, 'tools/call', { name: tool }, { fields: bearer(user) })).end();
    for (const answer of [legacy, modern]) {
      assert.equal(answer.json.error?.code, code, `${what} ${answer.text}`);
      assert.equal(answer.status, 200, what);
    }
    if (code === -31001) assert.deepEqual(legacy.json.error.data, { rule: 'call' }, what);
    if (path !== '/mcp') assertError(await (await known(hub, user, 'tcp')).ask('tools/call', { targetAgent: path.slice(5), name: tool }), code === -31001 ? -32001 : code);
    // Ten a second of a user have lines. All three of each row for one server are among a user's first ten.
    const found = (await toolLines(hub, path === '/mcp' ? 0 : before + 3)).slice(before);
    if (path !== '/mcp') assert.equal(found.length, 3, what);
    for (const line of found) assert.equal(line.outcome, 'error', what);
  }
});

const refusing = join(directoryOfUsers, 'refusing.ini');
writeFileSync(refusing, section('one', 'a,slow,mirrored') + section('two', 'a') + '[child down]\ncommand = false\nprotocol = mcp\nrestart-limit = 1\nrestart-delay = 1ms\n');
const REFUSING = { transport: 'http', options: ['--config', refusing, '--gate', 'manual', '--mcp-keep-alive', '50ms'] };
const REFUSING_USERS = { ...USERS, held: { call: ['*'], hold: ['tool:slow'] } };
withUsers('calls that no server gets have lines in the journal', REFUSING_USERS, REFUSING, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp');
  // Each row's act makes these lines: [target, tool, outcome, user].
  const row = async (what, act, ...expected) => {
    const before = lines(hub, 'tool').length;
    const codes = await act();
    const found = (await toolLines(hub, before + expected.length)).slice(before);
    assert.deepEqual(found.map(({ target, tool, outcome, source }) => [target, tool, outcome, source.user]), expected, what);
    for (const line of found) {
      assert.deepEqual(Object.keys(line), ['time', 'kind', 'source', 'target', 'tool', 'outcome', 'ms'], what);
      assert.ok(Number.isInteger(line.ms) && line.ms >= 0, what);
    }
    return codes;
  };
  const code = async (answer, status) => {
    const all = await (await answer).end();
    assert.equal(all.status, status, all.text);
    return (all.isStream ? all.messages.at(-1) : all.json).error.code; // a comment may have begun a stream on a slow machine
  };
  const post = (user, path, name, fields = {}) => send(hub, 'POST', path, { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { password: 'hidden' } } }, fields: { ...bearer(user), ...fields } });
  const modern = (user, path, name, fields = {}) => sendModern(hub, path, 'tools/call', { name }, { fields: { ...bearer(user), ...fields } });
  const no = async (act, status, expected) => assert.equal(await code(act, status), expected);

  await row('no right to the server', () => no(post('none', '/mcp/one', 'a'), 403, -31001), ['one', 'a', 'error', 'none']);
  await row('no right to any', () => no(modern('none', '/mcp', 'a'), 403, -31001), [null, 'a', 'error', 'none']);
  await row('an unknown section', () => no(post('all', '/mcp/nobody', 'a'), 404, -31010), ['nobody', 'a', 'error', 'all']);
  await row('no session', () => no(post('all', '/mcp/one', 'a'), 400, -31054), ['one', 'a', 'error', 'all']);
  await row('no such session', () => no(post('all', '/mcp/one', 'a', { 'Mcp-Session-Id': 'x' }), 404, -31054), ['one', 'a', 'error', 'all']);
  await row('a head that lies', () => no(modern('all', '/mcp/one', 'a', { 'Mcp-Name': 'b' }), 400, -32020), ['one', 'a', 'error', 'all']);
  await row('an argument without its field', () => no(sendModern(hub, '/mcp/one', 'tools/call', { name: 'mirrored', arguments: { region: 'x' } }, { fields: bearer('all') }), 400, -32020), ['one', 'mirrored', 'error', 'all']);
  await row('a bad time', async () => no((await open(hub, 'all', '/mcp/one')).call('tools/call', { name: 'a' }, { 'Custom-Timeout-Ms': 'x' }), 400, -32602), ['one', 'a', 'error', 'all']);
  await row('no tool', async () => no((await open(hub, 'all', '/mcp')).call('tools/call', {}), 200, -32602), [null, null, 'error', 'all']);
  await row('an ambiguous name', async () => no((await open(hub, 'all', '/mcp')).call('tools/call', { name: 'a' }), 200, -32602), [null, 'a', 'error', 'all']);

  // The gate: decided, timed out, cancelled, and left.
  const session = await open(hub, 'held', '/mcp/one');
  const held = async () => {
    for (;;) {
      const { approvals } = (await boss.ask('hub/approvals')).result;
      if (approvals.length) return approvals[0].checkpoint;
    }
  };
  const decide = async (decision) => assert.equal((await boss.ask('governance/approval', { checkpoint: await held(), artifact: {}, approver: 'x', decision })).result.applied, true);
  for (const [decision, expected] of [['rejected', -31011], ['needs_revision', -31012]])
    await row(decision, async () => {
      const waiting = session.call('tools/call', { name: 'slow' });
      await decide(decision);
      await no(waiting, 200, expected);
    }, ['one', 'slow', 'error', 'held']);
  await row('cancelled while it is held', async () => {
    const waiting = session.call('tools/call', { name: 'slow' });
    await held();
    await session.notify('notifications/cancelled', { requestId: session.ids });
    assert.equal((await (await waiting).end()).messages.length, 0);
  }, ['one', 'slow', 'cancelled', 'held']);
  await row('left while it is held', async () => {
    const stream = await modern('held', '/mcp/one', 'slow', { Accept: 'text/event-stream' }); // whose head comes with a comment
    await held();
    stream.drop();
  }, ['one', 'slow', 'cancelled', 'held']);
  await row('framed', async () => {
    const waiting = (await known(hub, 'held', 'tcp')).ask('tools/call', { targetAgent: 'one', name: 'slow' });
    await decide('rejected');
    assertError(await waiting, -32011);
  }, ['one', 'slow', 'error', 'held']);
  const peer = await known(hub, 'all', 'tcp');
  const child = async () => (await boss.ask('hub/children')).result.children.find(({ name }) => name === 'down').state;
  while ((await child()) !== 'down');
  await row('a server that is down', async () => {
    assertError(await peer.ask('tools/call', { targetAgent: 'down', name: 'a' }), -32010);
    await no(modern('all', '/mcp/down', 'a'), 503, -31052);
  }, ['down', 'a', 'error', 'all'], ['down', 'a', 'error', 'all']);
  assert.ok(!readFileSync(hub.journal, 'utf8').includes('hidden'));
});

const each = join(directoryOfUsers, 'each.ini');
writeFileSync(each, section('one', 'a') + section('two', 'a').replace('protocol = mcp', 'protocol = mcp\ninstances = each'));
withUsers('a call that is refused at once has one line, and counts once', USERS, { transport: 'http', options: ['--config', each, '--max-mcp-sessions', '1'] }, async (hub) => {
  await open(hub, 'all', '/mcp/two');
  const answer = await (await sendModern(hub, '/mcp/two', 'tools/call', { name: 'a' }, { fields: bearer('all') })).end();
  assert.equal(answer.status, 503, answer.text);
  const boss = await known(hub, 'boss', 'tcp');
  assert.equal((await boss.ask('hub/stats')).result.mcp_tool_calls_error, 1);
  assert.equal((await toolLines(hub, 1)).length, 1);
});

const validating = join(directoryOfUsers, 'validating.ini');
const mute = (validate) => writeFileSync(validating, `validate = ${validate}\n[child mute]\ncommand = python3 -S -E ${program} mute b --mute\nprotocol = mcp\n`);
mute('lazy');
withUsers('a call that waits for its server is noted though a body like it would be refused now', USERS, { transport: 'http', options: ['--config', validating] }, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp');
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b","arguments":{"a":nope},"_meta":{"${META}protocolVersion":"${VERSION}","${META}clientCapabilities":{}}}}`;
  const headers = { Host: 'localhost', 'Content-Type': 'application/json', Accept: BOTH, ...bearer('all'), 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'b' };
  const request = http.request({ host: '127.0.0.1', port: Number(new URL(hub.uri('http')).port), method: 'POST', path: '/mcp/mute', headers, agent: false });
  request.on('error', () => {}); // it is given up below
  request.end(body);
  while ((await boss.ask('hub/stats')).result.pending < 1); // the hub's own question
  mute('strict');
  await reload(hub, USERS);
  request.destroy();
  const [line] = await toolLines(hub, 1);
  assert.deepEqual([line.target, line.tool, line.outcome], ['mute', 'b', 'cancelled']);
});

withUsers('who may not call fills no journal', USERS, HOW, async (hub) => {
  const COUNT = 200, long = 'x'.repeat(5000);
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a' } };
  const post = (user, path) => send(hub, 'POST', path, { body, fields: bearer(user) });
  for (const answer of await Promise.all(Array.from({ length: COUNT }, () => post('none', '/mcp/one')))) assert.equal(answer.status, 403);
  assert.equal((await post('none', `/mcp/${long}`)).status, 403);
  assert.equal((await post('all', `/mcp/${long}`)).status, 404);
  const told = () => lines(hub, 'refusal').length + lines(hub, 'refusals').reduce((sum, { count }) => sum + count, 0);
  for (const end = Date.now() + WAIT_MS; told() < COUNT + 1 && Date.now() < end;) await new Promise(setImmediate);
  assert.equal(told(), COUNT + 1);
  const none = lines(hub, 'tool').filter(({ source }) => source.user === 'none');
  assert.equal(none.length, lines(hub, 'refusal').length);
  assert.ok(none.length < COUNT / 2, none.length); // ten a second
  // The same of calls that are refused for another reason, at a server and at /mcp.
  const sessions = [await open(hub, 'all', '/mcp/two'), await open(hub, 'all', '/mcp')];
  const code = async (at) => (await (await sessions[at % 2].call('tools/call', { name: 'd' })).end()).json.error.code;
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: COUNT }, (_, at) => code(at)))), new Set([-32602]));
  const own = ({ source }) => source.user === 'all';
  const noted = () => lines(hub, 'tool').filter(own).length + lines(hub, 'refusals').filter(own).reduce((sum, { count }) => sum + count, 0);
  for (const end = Date.now() + WAIT_MS; noted() < COUNT + 1 && Date.now() < end;) await new Promise(setImmediate);
  assert.equal(noted(), COUNT + 1);
  assert.ok(lines(hub, 'tool').filter(own).length < COUNT / 2);
  const [missing] = lines(hub, 'tool').filter(({ source }) => source.user === 'all');
  assert.equal(missing.target, long.slice(0, 255));
});

const late = join(directoryOfUsers, 'late.ini');
writeFileSync(late, section('one', 'a --late') + section('two', 'c --late'));
withUsers('the time of a call counts from its arrival', { ...USERS, held: { call: ['*'], hold: ['tool:a'] } }, { transport: 'http', options: ['--config', late, '--gate', 'manual'] }, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp'), bare = { fields: bearer('all') };
  // This call waits until the hub knows the server's era, and at /mcp the eras of all servers.
  assert.equal((await (await sendModern(hub, '/mcp/one', 'tools/call', { name: 'a' }, bare)).end()).status, 200);
  assert.equal((await (await sendModern(hub, '/mcp', 'tools/call', { name: 'nobody' }, bare)).end()).status, 200);
  const peer = await known(hub, 'held', 'tcp');
  const waiting = peer.ask('tools/call', { targetAgent: 'one', name: 'a' });
  let approvals = [];
  while (!approvals.length) ({ approvals } = (await boss.ask('hub/approvals')).result);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await boss.ask('governance/approval', { checkpoint: approvals[0].checkpoint, artifact: {}, approver: 'x', decision: 'approved' });
  assert.equal(textOf(await waiting), 'one:a');
  const found = await toolLines(hub, 3);
  assert.deepEqual(found.map(({ tool, outcome }) => [tool, outcome]), [['a', 'ok'], ['nobody', 'error'], ['a', 'ok']]);
  for (const { ms, tool } of found) assert.ok(ms >= 290, `${tool}: ${ms}`);
});

const collector = await Collector.open();
after(() => collector.close());
const SHOWN = { ...HOW, options: [...HOW.options, '--otlp', collector.url, '--trace-sample', '1'] };
withUsers('what is refused before it is routed has one entry of a tap, and one span', USERS, SHOWN, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp'), entries = [];
  assert.ok((await boss.ask('hub/tap', {})).result.tap);
  const post = (user, path, id, method, params, fields = {}) => send(hub, 'POST', path, { body: { jsonrpc: '2.0', id, method, params }, fields: { ...bearer(user), ...fields } });
  const modern = (path, id, fields) => sendModern(hub, path, 'tools/call', { name: 'a' }, { id, fields: { ...bearer('all'), ...fields } });
  const all = await open(hub, 'all', '/mcp');
  const answers = [
    await post('none', '/mcp/one', 'no-right', 'tools/call', { name: 'a' }), await post('all', '/mcp/nobody', 'no-server', 'prompts/get', { name: 'p' }),
    await post('all', '/mcp/one', 'no-session', 'tools/list', {}), await modern('/mcp/one', 'head', { 'Mcp-Name': 'b', traceparent: `00-${'e'.repeat(32)}-${'1'.repeat(16)}-01` }),
    await all.call('tools/call', { name: 'nobody' }), await all.call('tools/list', { cursor: 'x' }),
    await post('none', '/mcp/one', 'secret', 'initialize', OPENING), // which is the hub's own, and shown to nobody
  ];
  const codes = [];
  for (const answer of answers) codes.push((await answer.end()).json.error.code);
  while (entries.filter(({ outcome }) => outcome === 'refused').length < 6) {
    const { json } = await boss.find(({ json }) => json.method === 'hub/tapped', 'entries');
    entries.push(...json.params.entries);
  }
  const refused = entries.filter(({ outcome }) => outcome === 'refused');
  assert.deepEqual(refused.map(({ sourceId, method, target, user, code }) => [sourceId, method, target, user, code]), [
    ['no-right', 'tools/call', 'one', 'none', -31001], ['no-server', 'prompts/get', undefined, 'all', -31010], ['no-session', 'tools/list', 'one', 'all', -31054],
    ['head', 'tools/call', 'one', 'all', -32020], [1, 'tools/call', undefined, 'all', -32602], [2, 'tools/list', undefined, 'all', -32602]]);
  assert.deepEqual(refused.map(({ code }) => code), codes.slice(0, -1)); // what the client got
  for (const { source, kind } of refused) assert.deepEqual([kind, source[0]], ['request', '#']);
  for (const { sourceId, target, code } of refused) {
    const own = (span) => attributes(span)['jsonrpc.request.id'] === `${sourceId}` && attributes(span)['patchbay.ended_by'] === 'hub';
    const span = await collector.span(own, `the span of ${sourceId}`);
    assert.equal(attributes(span)['patchbay.target'], target);
    assert.equal(attributes(span)['rpc.response.status_code'], `${code}`);
    assert.equal(span.traceId === 'e'.repeat(32) && span.parentSpanId === '1'.repeat(16), sourceId === 'head'); // as its header says
    assert.equal(collector.spans.filter(own).length, 1);
  }
  assert.ok(!collector.spans.some((span) => attributes(span)['jsonrpc.request.id'] === 'secret'));
});

withUsers('what the hub answers in place of servers has one entry of a tap, and one span', USERS, SHOWN, async (hub) => {
  const boss = await known(hub, 'boss', 'tcp'), entries = [];
  assert.ok((await boss.ask('hub/tap', {})).result.tap);
  const all = await open(hub, 'all', '/mcp'), one = await open(hub, 'all', '/mcp/one'), { length: before } = collector.spans;
  const modern = async (method, id) => (await (await sendModern(hub, '/mcp', method, {}, { id, fields: bearer('all') })).end()).json;
  const expected = [];
  const asked = async (session, method, target) => {
    assert.ok((await session.ask(method, method === 'logging/setLevel' ? { level: 'info' } : {})).result, method);
    expected.push([session.ids, method, target, 'result', undefined]);
  };
  for (const method of ['ping', 'tools/list', 'resources/list', 'prompts/list', 'logging/setLevel']) await asked(all, method);
  await asked(one, 'ping', 'one');
  for (const [method, id] of [['server/discover', 'd'], ['tools/list', 't']]) {
    assert.ok((await modern(method, id)).result, method);
    expected.push([id, method, undefined, 'result', undefined]);
  }
  assert.ok((await (await one.call('ping', {}, { Accept: 'text/event-stream' })).end()).answer(one.ids).result);
  expected.push([one.ids, 'ping', 'one', 'result', undefined]);
  assert.equal((await all.ask('nobodys/method')).error.code, -32601);
  expected.push([all.ids, 'nobodys/method', undefined, 'refused', -32601]);
  const own = () => entries.filter(({ targetId, user, method }) => targetId === undefined && user === 'all' && !method.startsWith('notifications/'));
  while (own().length < expected.length) {
    const { json } = await boss.find(({ json }) => json.method === 'hub/tapped', 'entries');
    entries.push(...json.params.entries);
  }
  assert.deepEqual(own().map(({ sourceId, method, target, outcome, code }) => [sourceId, method, target, outcome, code]), expected);
  for (const { kind, source, answerBytes } of own()) assert.deepEqual([kind, source[0], answerBytes], ['request', '#', undefined]);
  const due = expected.filter(([, , target]) => !target).map(([, method]) => method).sort();
  const names = () => collector.spans.slice(before).filter((span) => attributes(span)['patchbay.target'] === undefined && attributes(span)['patchbay.user'] === 'all').map(({ name }) => name).sort();
  for (const end = Date.now() + WAIT_MS; names().length < due.length && Date.now() < end;) await new Promise(setImmediate);
  assert.deepEqual(names(), due);
});
