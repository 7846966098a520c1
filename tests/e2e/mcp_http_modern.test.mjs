// MCP over HTTP, the era without sessions: each request is a client, and its head says what its body does.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { OPENING, send, Session } from './mcp_web.mjs';
import { fourAtOnce } from './parallel.mjs';
import { WAIT_MS } from './peer.mjs';
import { Client, JSON_TYPE, request, web } from './web.mjs';

fourAtOnce();

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-modern-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = fileURLToPath(new URL('mcp_server.py', import.meta.url));
const SECTION = `[child server]\ncommand = python3 -S -E ${program} --both\nprotocol = mcp\n`;
const LEGACY = `[child old]\ncommand = python3 -S -E ${program}\nprotocol = mcp\n`;
writeFileSync(join(directory, 'hub.ini'), SECTION + LEGACY);
writeFileSync(join(directory, 'each.ini'), `${SECTION}instances = each\n`);
const HUB = { shards: [1, 2], options: ['--config', join(directory, 'hub.ini')] };
const EACH = { ...HUB, options: ['--config', join(directory, 'each.ini')] };

const VERSION = '2026-07-28', META = 'io.modelcontextprotocol/';

function modern(hub, method, params = {}, how = {}) {
  const { path = '/mcp/server', fields = {}, meta = {} } = how, id = 'id' in how ? how.id : 1;
  const _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {}, ...meta };
  const body = { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
  return send(hub, 'POST', path, { body, fields: { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': method, ...fields } });
}
const ask = async (hub, method, params, how) => (await (await modern(hub, method, params, how)).end()).answer(how?.id ?? 1);
const seen = async (hub) => (await ask(hub, 'seen')).result.messages;
const errorOf = async (answer, status, code) => {
  await answer.end();
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.json.error.code, code, answer.text);
  return answer.json.error;
};
async function until(what, look) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`no ${what}`);
}

web('a request needs no session', HUB, async (hub) => {
  assert.equal((await ask(hub, 'where')).result.era, 'modern');
  const session = await Session.open(hub);
  assert.equal((await session.ask('where')).result.era, 'legacy');
  const ignored = await ask(hub, 'where', {}, { fields: { 'Mcp-Session-Id': 'x', 'Last-Event-ID': 'y' } });
  assert.equal(ignored.result.era, 'modern');
  for (const method of ['GET', 'DELETE']) for (const version of [VERSION, '2099-01-01', ['2025-11-25', '2025-11-25']])
    assert.equal((await (await send(hub, method, '/mcp/server', { fields: { 'MCP-Protocol-Version': version, 'Mcp-Session-Id': session.id } })).end()).status, 405);
});

web('heads say what bodies do, in this order', HUB, async (hub) => {
  const bad = (how, status, code) => modern(hub, how.method ?? 'where', how.params ?? {}, how).then((answer) => errorOf(answer, status, code));
  await errorOf(await send(hub, 'POST', '/mcp/server', { body: { jsonrpc: '2.0', id: 1, result: {} }, fields: { 'MCP-Protocol-Version': VERSION } }), 400, -32600);
  await bad({ fields: { 'MCP-Protocol-Version': null } }, 400, -32020);
  await bad({ meta: { [`${META}clientCapabilities`]: undefined } }, 400, -32602);
  await bad({ meta: { [`${META}protocolVersion`]: undefined } }, 400, -32602);
  await bad({ meta: { [`${META}protocolVersion`]: '2099-01-01' } }, 400, -32020);
  const { data } = await bad({ meta: { [`${META}protocolVersion`]: '2099-01-01' }, fields: { 'MCP-Protocol-Version': '2099-01-01' } }, 400, -32022);
  assert.equal(data.requested, '2099-01-01');
  assert.deepEqual(data.supported, [VERSION]);
  for (const given of [null, 'x', ['where', 'where']]) await bad({ fields: { 'Mcp-Method': given } }, 400, -32020);
  for (const given of [null, 'b', '=?base64?YQ=?=', '=?base64?Yg==?='])
    await bad({ method: 'tools/call', params: { name: 'a' }, fields: { 'Mcp-Name': given } }, 400, -32020);
  await bad({ method: 'resources/read', params: { uri: 'u', name: 'a' }, fields: { 'Mcp-Name': 'a' } }, 400, -32020);
  await bad({ method: 'initialize' }, 404, -32601);
  assert.ok(!(await seen(hub)).some(({ method }) => ['tools/call', 'resources/read', 'initialize'].includes(method)));
  for (const given of ['é€', 'plain']) {
    const field = given === 'plain' ? given : `=?base64?${Buffer.from(given).toString('base64')}?=`;
    const passed = await modern(hub, 'tools/call', { name: given }, { fields: { 'Mcp-Name': field } });
    assert.equal((await passed.end()).status, 200, passed.text);
  }
});

web('a server of sessions has clients fall back', HUB, async (hub) => {
  const answers = await Promise.all([1, 2, 3].map((id) => modern(hub, 'where', {}, { path: '/mcp/old', id })));
  for (const answer of answers) await errorOf(answer, 400, -31054);
  await errorOf(await modern(hub, 'server/discover', {}, { path: '/mcp/old' }), 400, -31054);
  assert.ok((await Session.open(hub, '/mcp/old', { opening: OPENING })).id);
});

web('what is logged goes to the one that asks for it', HUB, async (hub) => {
  const message = { jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } };
  const answer = await (await modern(hub, 'say', { message }, { meta: { [`${META}logLevel`]: 'info' } })).end();
  assert.deepEqual(answer.messages, [message, { jsonrpc: '2.0', id: 1, result: {} }]);
  assert.deepEqual((await (await modern(hub, 'say', { message })).end()).json.result, {});
});

web('a closed connection cancels', HUB, async (hub) => {
  const waiting = modern(hub, 'wait', { _meta: {} }, { fields: { Accept: 'text/event-stream' } });
  waiting.catch(() => {});
  const asked = await until('request', async () => (await seen(hub)).find(({ method }) => method === 'wait'));
  const cancelled = await modern(hub, 'notifications/cancelled', { requestId: 1 }, { id: undefined });
  assert.equal((await cancelled.end()).status, 202);
  assert.ok(!(await seen(hub)).some(({ method }) => method === 'notifications/cancelled'));
  // The head hasn't come, so the request is dropped with its socket.
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'wait', params: { _meta: { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} } } });
  const client = await Client.open(hub);
  client.write(request('POST /mcp/server', [JSON_TYPE, `MCP-Protocol-Version: ${VERSION}`, 'Mcp-Method: wait'], body));
  const second = await until('request', async () => (await seen(hub)).find(({ method, id }) => method === 'wait' && id !== asked.id));
  client.drop();
  const cancel = await until('cancel', async () => (await seen(hub)).find(({ method }) => method === 'notifications/cancelled'));
  assert.equal(cancel.params.requestId, second.id);
  await ask(hub, 'finish', { id: asked.id, result: {} });
  await (await waiting).end();
});

// A client that closes a stream which has begun: its server is told once, by the server's own id, and nobody else is touched.
const SILENT = ['--mcp-keep-alive', '20ms']; // so that a stream begins before its answer
for (const [name, how] of [['shared', HUB], ['each', EACH]]) for (const method of ['wait', 'subscriptions/listen'])
  web(`a closed stream cancels its request: ${method} (instances = ${name})`, { ...how, options: [...how.options, ...SILENT] }, async (hub) => {
    const streams = await Promise.all([1, 2].map(() => modern(hub, method, { notifications: {} }, { fields: { Accept: 'text/event-stream' } }))); // of one id
    const heard = async (what) => (await seen(hub)).filter((message) => message.method === what);
    const asked = await until('the requests', async () => {
      const found = await heard(method);
      return found.length === 2 && found;
    });
    for (const stream of streams) {
      assert.equal(stream.status, 200);
      await stream.until(({ text }) => text.includes(':'), 'a comment');
    }
    assert.deepEqual(await heard('notifications/cancelled'), []);
    streams[0].drop();
    const cancel = await until('the cancel', async () => (await heard('notifications/cancelled'))[0]);
    const left = asked.find(({ id }) => id === cancel.params.requestId), other = asked.find(({ id }) => id !== cancel.params.requestId);
    assert.ok(left);
    const counts = await hub.peer('tcp'), before = (await counts.ask('hub/stats')).result;
    await ask(hub, 'finish', { id: left.id, result: { late: true } }); // which nobody waits for any more
    await ask(hub, 'finish', { id: other.id, result: { done: true } });
    await streams[1].end();
    assert.deepEqual(streams[1].messages, [{ jsonrpc: '2.0', id: 1, result: { done: true } }]);
    assert.equal((await heard('notifications/cancelled')).length, 1);
    const after = (await counts.ask('hub/stats')).result;
    assert.equal(after.dropped_responses_unknown_id - before.dropped_responses_unknown_id, 1);
    assert.equal(after.pending, 0);
  });

for (const [name, how] of [['a subscription', HUB], ['a subscription to an instance of its own', EACH]])
  web(`${name} hears, and ends with the hub`, how, async (hub) => {
    const listens = ['one', 'two'].map((id) => modern(hub, 'subscriptions/listen', { notifications: {} }, { id }));
    const asked = await until('subscriptions', async () => {
      const found = (await seen(hub)).filter(({ method }) => method === 'subscriptions/listen');
      return found.length === 2 && found;
    });
    for (const { id } of asked) await ask(hub, 'hear', { id, method: 'notifications/tools/list_changed' });
    const streams = await Promise.all(listens);
    for (const [index, stream] of streams.entries()) {
      const id = ['one', 'two'][index];
      await stream.until(({ messages }) => messages.length === 1, 'what is heard');
      assert.equal(stream.messages[0].params._meta[`${META}subscriptionId`], id);
    }
    hub.process.kill('SIGTERM');
    for (const [index, stream] of streams.entries()) {
      const id = ['one', 'two'][index];
      await stream.end();
      assert.deepEqual(stream.messages[1], { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: { [`${META}subscriptionId`]: id } } });
    }
  });

web('a user has one instance for all requests', EACH, async (hub) => {
  const first = (await ask(hub, 'where')).result.process;
  assert.equal((await ask(hub, 'where')).result.process, first);
  const session = await Session.open(hub);
  assert.notEqual((await session.ask('where')).result.process, first);
});

// The hub's question goes with the client in whose name it was asked, and is asked anew.
const SHUT = join(directory, 'shut'), shut = `[child server]\ncommand = python3 -S -E ${program} --both --shut ${SHUT}\nprotocol = mcp\ninstances = each\n`;
writeFileSync(join(directory, 'shut.ini'), shut);
web('SIGHUP takes a server away while the hub asks of its era', { ...HUB, options: ['--config', join(directory, 'shut.ini')] }, async (hub) => {
  const early = modern(hub, 'where');
  await until('the question', () => new Promise((done) => setImmediate(() => done(existsSync(`${SHUT}.asked`)))));
  writeFileSync(join(directory, 'shut.ini'), LEGACY);
  hub.process.kill('SIGHUP');
  assert.equal((await errorOf(await early, 404, -31010)).data.agent, 'server');
  writeFileSync(SHUT, '');
  writeFileSync(join(directory, 'shut.ini'), shut);
  hub.process.kill('SIGHUP');
  await until('the server', async () => (await (await modern(hub, 'where')).end()).status === 200);
  const late = modern(hub, 'wait'); // which ends with its server
  await until('the request', async () => (await seen(hub)).some(({ method }) => method === 'wait'));
  writeFileSync(join(directory, 'shut.ini'), LEGACY);
  hub.process.kill('SIGHUP');
  await errorOf(await late, 200, -31050);
  for (const file of [SHUT, `${SHUT}.asked`]) rmSync(file, { force: true }); // for the next hub
  writeFileSync(join(directory, 'shut.ini'), shut);
});

const slow = join(directory, 'slow'), slowly = `[child server]\ncommand = sh -c 'python3 -S -E ${program} --both; echo > ${slow}; exec sleep 60'\nprotocol = mcp\n`;
writeFileSync(join(directory, 'slowly.ini'), slowly);
web('a server whose section was removed is unknown at once, though its program has not ended', { ...HUB, options: ['--config', join(directory, 'slowly.ini')] }, async (hub) => {
  const session = await Session.open(hub);
  await ask(hub, 'where');
  writeFileSync(join(directory, 'slowly.ini'), LEGACY);
  hub.process.kill('SIGHUP');
  await until('the end of its input', () => new Promise((done) => setImmediate(() => done(existsSync(slow)))));
  await errorOf(await modern(hub, 'where'), 404, -31010);
  await errorOf(await session.call('where'), 404, -31010);
  await errorOf(await send(hub, 'POST', '/mcp/server', { body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: OPENING } }), 404, -31010);
  rmSync(slow); // for the next hub
  writeFileSync(join(directory, 'slowly.ini'), slowly);
});

const lists = fileURLToPath(new URL('mcp_lists.py', import.meta.url));
const listed = (name, tools, more = '') => `[child ${name}]\ncommand = python3 -S -E ${lists} ${name} ${tools}\nprotocol = mcp\n${more}`;
writeFileSync(join(directory, 'lists.ini'), listed('one', 'first,mirrored,listed,grow') + listed('two', 'second'));
const LISTS = { ...HUB, options: ['--config', join(directory, 'lists.ini')] };
const callTool = (on, path, name, args, fields = {}) =>
  modern(on, 'tools/call', { name, arguments: args }, { path, fields: { 'Mcp-Name': name, ...fields } });

for (const [path, tool] of [['/mcp/one', 'mirrored'], ['/mcp', 'mirrored'], ['/mcp', 'one__mirrored']])
  web(`fields mirror arguments: ${tool} at ${path}`, LISTS, async (on) => {
    const call = (args, fields) => callTool(on, path, tool, args, fields);
    const good = async (args, fields) => assert.equal((await (await call(args, fields)).end()).answer(1).result.content[0].text, 'one:mirrored');
    const bad = async (args, fields) => errorOf(await call(args, fields), 400, -32020);
    await bad({ region: 'eu' }); // the hub asks for the list before it judges the first call
    await good({ region: 'eu' }, { 'Mcp-Param-Region': 'eu' });
    await good({ region: 'eu' }, { 'mcp-PARAM-rEGION': 'eu' });
    await good({}, { 'Mcp-Param-Other': 'x', 'Mcp-Param-Unknown': 'y' });
    await good({ region: null, other: 'z' });
    await good({ region: ' é\n' }, { 'Mcp-Param-Region': `=?base64?${Buffer.from(' é\n').toString('base64')}?=` });
    for (const given of ['us', 'EU', ['eu', 'eu'], '=?base64?ZXU?=', '=?base64?dXM=?=']) await bad({ region: 'eu' }, { 'Mcp-Param-Region': given });
    await bad({}, { 'Mcp-Param-Region': 'eu' });
    await bad({ region: null }, { 'Mcp-Param-Region': 'null' });
    await bad({ region: 'é' }, { 'Mcp-Param-Region': Buffer.from('é').toString('latin1') }); // must be encoded
    for (const given of ['42', '42.0', '4.2e1']) await good({ count: 42 }, { 'Mcp-Param-X-Count': given });
    await good({ count: -7 }, { 'Mcp-Param-X-Count': '-7' });
    for (const given of ['43', '042', '+42', '42x', 'NaN', '', '0x2a', '42 42']) await bad({ count: 42 }, { 'Mcp-Param-X-Count': given });
    await good({ deep: { flag: true } }, { 'Mcp-Param-Flag': 'true' });
    await good({ deep: { flag: false } }, { 'Mcp-Param-Flag': 'false' });
    for (const given of ['True', '1', 'false']) await bad({ deep: { flag: true } }, { 'Mcp-Param-Flag': given });
    await bad({ deep: { flag: true } });
    await good({ bad: 'x' });
    await bad({ region: ['eu'] });
    await good({ region: 'eu', count: 1, deep: { flag: true } }, { 'Mcp-Param-Region': 'eu', 'Mcp-Param-X-Count': '1', 'Mcp-Param-Flag': 'true' });
    const twice = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":{"region":"eu","region":"us"},`
      + `"_meta":{"${META}protocolVersion":"${VERSION}","${META}clientCapabilities":{}}}}`;
    const fields = { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': 'tools/call', 'Mcp-Name': tool, 'Mcp-Param-Region': 'us' };
    await errorOf(await send(on, 'POST', path, { body: twice, fields }), 400, -32020);
    const other = twice.replace(',"region":"us"}', '},"arguments":{"region":"us"}');
    for (const given of ['eu', 'us'])
      await errorOf(await send(on, 'POST', path, { body: other, fields: { ...fields, 'Mcp-Param-Region': given } }), 400, -32020);
    const { asked } = (await (await callTool(on, '/mcp/one', 'listed', {})).end()).answer(1).result;
    assert.deepEqual(asked, { 'tools/list': 1 });
  });

writeFileSync(join(directory, 'told.ini'), listed('one', 'told') + listed('two', 'told,process', 'instances = each\n'));
const TOLD = { ...HUB, options: ['--config', join(directory, 'told.ini')] };
const CLOSED = { ...HUB, options: ['--config', join(directory, 'closed.ini'), ...SILENT] };
writeFileSync(join(directory, 'closed.ini'), listed('one', 'slow,listed') + listed('two', 'x'));
for (const [path, tool] of [['/mcp', 'slow'], ['/mcp', 'one__slow'], ['/mcp/one', 'slow']])
  web(`a closed stream cancels a call: ${tool} at ${path}`, CLOSED, async (on) => {
    const streams = await Promise.all([1, 2].map(() => callTool(on, path, tool, {}, { Accept: 'text/event-stream' })));
    const state = async () => (await (await callTool(on, '/mcp/one', 'listed', {})).end()).answer(1).result;
    await until('the calls', async () => (await state()).slow.length === 2);
    streams[0].drop();
    const { slow, cancelled } = await until('the cancel', async () => {
      const found = await state();
      return found.cancelled.length && found;
    });
    assert.equal(cancelled.length, 1);
    assert.ok(slow.includes(cancelled[0]));
    assert.ok(!streams[1].ended);
    streams[1].drop();
    await until('the other cancel', async () => (await state()).cancelled.length === 2);
    assert.deepEqual((await state()).cancelled.sort(), slow.sort());
    await until('the end of both', async () => (await (await on.peer('tcp')).ask('hub/stats')).result.pending === 0);
  });

web('what is logged at all servers goes to the one that asks for it', TOLD, async (on) => {
  for (const name of ['one__told', 'two__told']) {
    const call = (meta) => modern(on, 'tools/call', { name, arguments: {} }, { path: '/mcp', fields: { 'Mcp-Name': name }, meta });
    const answer = await (await call({ [`${META}logLevel`]: 'info' })).end();
    assert.deepEqual(answer.messages.map(({ method }) => method), ['notifications/message', undefined], name);
    assert.ok((await (await call({})).end()).json.result, name);
  }
});

web('a user has one instance for all requests at both paths', TOLD, async (on) => {
  const processes = new Set();
  for (const [path, name] of [['/mcp', 'two__process'], ['/mcp/two', 'process'], ['/mcp', 'process'], ['/mcp', 'two__process']])
    processes.add((await (await callTool(on, path, name, {})).end()).answer(1).result.process);
  const list = async () => (await (await modern(on, 'tools/list', {}, { path: '/mcp' })).end()).answer(1).result.tools.map(({ name }) => name);
  assert.deepEqual(await list(), ['one__told', 'two__told', 'process']);
  processes.add((await (await callTool(on, '/mcp/two', 'process', {})).end()).answer(1).result.process);
  assert.equal(processes.size, 1);
});

web('schemas are those of the last list that has passed', LISTS, async (on) => {
  const list = async (cursor) => (await (await modern(on, 'tools/list', cursor ? { cursor } : {}, { path: '/mcp/one' })).end()).answer(1).result.nextCursor;
  for (let cursor = await list(); cursor;) cursor = await list(cursor);
  await errorOf(await callTool(on, '/mcp/one', 'mirrored', { region: 'eu' }), 400, -32020);
  const asked = async () => (await (await callTool(on, '/mcp/one', 'listed', {})).end()).answer(1).result.asked['tools/list'];
  assert.equal(await asked(), 1); // which was the client's own
  await (await callTool(on, '/mcp/one', 'grow', { tell: true })).end();
  assert.equal(await asked(), 2);
});

web('hub/stats and the metrics tell of servers, sessions and slow tools', LISTS, async (on) => {
  const session = await Session.open(on, '/mcp/one'), all = await Session.open(on, '/mcp');
  for (const name of ['first', 'first', 'mirrored']) await session.ask('tools/call', { name });
  await all.ask('tools/call', { name: 'second' });
  await (await callTool(on, '/mcp/two', 'second', {})).end();
  const peer = await on.peer('tcp');
  const stats = async () => (await peer.ask('hub/stats')).result;
  const figures = await until('the figures', async () => {
    const { mcp, mcp_sessions: sessions } = await stats(), [one] = mcp.servers;
    return sessions === 2 && one.legacyClients === 2 && one.sessions === 1 && mcp;
  });
  assert.deepEqual(figures.servers.map(({ name, sessions, restarts }) => [name, sessions, restarts]), [['one', 1, 0], ['two', 0, 0]]);
  const tools = figures.slowest_tools.map(({ server, tool, calls, errors }) => [server, tool, calls, errors]).sort();
  assert.deepEqual(tools, [['one', 'first', 2, 0], ['one', 'mirrored', 1, 0], ['two', 'second', 2, 0]]);
  const { text } = await (await send(on, 'GET', '/metrics')).end();
  assert.match(text, /^patchbay_mcp_sessions\{shard="0"\} 2$/m);
  assert.match(text, /^patchbay_mcp_tool_calls_total\{shard="0",outcome="ok"\} 5$/m);
  await session.close();
  await until('the end of the session', async () => (await stats()).mcp_sessions === 1);
});
