// MCP over HTTP where users are on: who may call a server, or a tool of it alone, on every transport.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPENING, send, Session } from './mcp_web.mjs';
import { assertError } from './peer.mjs';
import { directoryOfUsers, known, reload, tokenOf, withUsers } from './users.mjs';

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
const said = ({ result }) => result.content[0].text;
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
  assert.match(readFileSync(hub.journal, 'utf8'), /"refusal"/);
});

withUsers('a tool is judged by its name, behind its server’s or not', USERS, HOW, async (hub) => {
  const one = await open(hub, 'one', '/mcp/one');
  assert.deepEqual(await names(one), ['a', 'both']);
  assert.equal(said(await call(one, 'a')), 'one:a');
  assert.equal((await call(one, 'b')).error.code, -31001);
  const tool = await open(hub, 'tool', '/mcp/one');
  assert.deepEqual(await names(tool), ['a']);
  assert.equal(said(await call(tool, 'a')), 'one:a');
  for (const name of ['b', 'both', 'nobody']) assert.equal((await call(tool, name)).error.code, -31001);
  assert.equal((await tool.ask('resources/list')).error.code, -31001);
  const all = await open(hub, 'tool', '/mcp');
  assert.deepEqual(await names(all), ['a', 'both']);
  assert.equal(said(await call(all, 'both')), 'two:both');
  const peer = await known(hub, 'tool', 'tcp');
  assert.equal(said(await peer.ask('tools/call', { targetAgent: 'one', name: 'a' })), 'one:a');
  assertError(await peer.ask('tools/call', { targetAgent: 'one', name: 'b' }), -32001);
  assertError(await peer.ask('resources/list', { targetAgent: 'one' }), -32001);
  assertError(await peer.ask('tools/list', { targetAgent: 'one' }), -32001);
  const denied = await known(hub, 'one', 'tcp');
  assert.equal(said(await denied.ask('tools/call', { targetAgent: 'one', name: 'a' })), 'one:a');
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

const lines = (hub, kind) => readFileSync(hub.journal, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line)).filter((line) => line.kind === kind);
writeFileSync(join(directoryOfUsers, 'journal.ini'), section('one', 'a,slow,failed,refused') + section('two', 'c'));
const JOURNAL = { transport: 'http', options: ['--config', join(directoryOfUsers, 'journal.ini')] };
withUsers('each call of a tool has a line in the journal, from whatever transport', USERS, JOURNAL, async (hub) => {
  const session = await open(hub, 'all', '/mcp/one'), all = await open(hub, 'all', '/mcp'), peer = await known(hub, 'one', 'tcp');
  const secret = { arguments: { password: 'hidden' } };
  for (const name of ['a', 'failed', 'refused']) await session.ask('tools/call', { name, ...secret });
  await all.ask('tools/call', { name: 'c', ...secret });
  await peer.ask('tools/call', { targetAgent: 'one', name: 'a', ...secret });
  assertError(await peer.ask('tools/call', { targetAgent: 'one', name: 'b' }), -32001); // which has another line
  const late = await (await session.call('tools/call', { name: 'slow', ...secret }, { 'Custom-Timeout-Ms': '50' })).end();
  assert.equal(late.answer(session.ids).error.code, -31051);
  const waiting = session.call('tools/call', { name: 'slow', ...secret });
  const boss = await known(hub, 'boss', 'tcp');
  const counts = async () => (await boss.ask('hub/stats')).result;
  while ((await counts()).pending < 1);
  await session.notify('notifications/cancelled', { requestId: session.ids });
  await (await waiting).end();
  while (lines(hub, 'tool').length < 7);
  const told = lines(hub, 'tool');
  assert.deepEqual(told.map(({ target, tool, outcome, source }) => [target, tool, outcome, source.user]), [
    ['one', 'a', 'ok', 'all'], ['one', 'failed', 'error', 'all'], ['one', 'refused', 'error', 'all'], ['two', 'c', 'ok', 'all'],
    ['one', 'a', 'ok', 'one'], ['one', 'slow', 'error', 'all'], ['one', 'slow', 'cancelled', 'all']]);
  for (const line of told) {
    assert.deepEqual(Object.keys(line), ['time', 'kind', 'source', 'target', 'tool', 'outcome', 'ms']);
    assert.ok(Number.isInteger(line.ms) && line.ms >= (line.outcome === 'error' && line.tool === 'slow' ? 50 : 0), line.ms);
  }
  assert.ok(!readFileSync(hub.journal, 'utf8').includes('hidden'));
  assert.equal(lines(hub, 'refusal').length, 1);
  const { mcp_tool_calls_ok: ok, mcp_tool_calls_error: error, mcp_tool_calls_cancelled: cancelled } = await counts();
  assert.deepEqual([ok, error, cancelled], [3, 3, 1]);
});
