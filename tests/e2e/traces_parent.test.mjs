// --trace-parent hub: the span's digits stand where the parent's stood, wherever a message bears its context, and all other
// bytes are as they came; in arrays each message has its own; at MCP servers and other hubs, too. --trace-parent keep.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Broker, joining, linked } from './cluster.mjs';
import { Collector, attributes } from './collector.mjs';
import { Hub } from './hub.mjs';
import { test } from './parallel.mjs';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SAMPLED = `00-${TRACE}-${PARENT}-01`;
const FIELD = `traceparent: ${SAMPLED}`;
const HUB = ['--trace-parent', 'hub'];

const traced = (name, options, play) => {
  for (const shards of [1, 2])
    test(`${name} (${shards} shards)`, async () => {
      const collector = await Collector.open();
      const hub = await Hub.start(['--shards', `${shards}`, '--otlp', collector.url, '--http', '127.0.0.1:0', ...options]);
      try {
        await play(hub, collector);
      } finally {
        await hub.stop().finally(() => collector.close());
      }
    });
};

const spanOf = (collector, id) => collector.span((one) => attributes(one)['jsonrpc.request.id'] === `${id}`, `the span of ${id}`);
const fieldOf = (frame) => frame.fields.filter(([name]) => name.toLowerCase() === 'traceparent').map(([, value]) => value);
const replaced = (span) => SAMPLED.replace(PARENT, span.spanId);

// A request with whatever it bears, and what its target gets: the frame, with the id that the source chose.
async function through(source, target, id, meta, ...fields) {
  const body = `{"jsonrpc":"2.0","id":${id}, "method":"work","params":{"targetAgent":"worker"${meta ? `, "_meta" : ${meta}` : ''}, "n": 1.50}}`;
  source.send(body, ...fields);
  const frame = await target.next();
  target.reply(frame.json.id);
  await source.next();
  return { body, frame, text: frame.text.replace(`"id":${frame.json.id}`, `"id":${id}`) };
}

traced('the hub\'s span takes its parent\'s place in the member, in the field, and in both', HUB, async (hub, collector) => {
  const target = await hub.agent('worker'), source = await hub.peer();
  const meta = `{"a":"${PARENT}","traceparent":"${SAMPLED}","tracestate":"x=${PARENT}"}`;
  const rows = [[1, meta], [2, null, FIELD], [3, meta, FIELD], [4, meta, `traceparent: 00-${TRACE}-${'2'.repeat(16)}-01`], [5, '{}', `A: ${PARENT}`, FIELD, `tracestate: x=${PARENT}`]];
  for (const [id, text, ...fields] of rows) {
    const { body, frame, text: got } = await through(source, target, id, text, ...fields);
    const span = await spanOf(collector, id);
    assert.deepEqual([span.traceId, span.parentSpanId], [TRACE, PARENT]);
    assert.equal(got, text === meta ? body.replace(SAMPLED, replaced(span)) : body);
    const sent = fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 2)]);
    const expected = sent.map(([name, value]) => [name, value === SAMPLED ? replaced(span) : value]);
    assert.deepEqual(frame.fields.filter(([name]) => name !== 'Content-Length'), expected);
  }
});

// Each digit of the member stays plain or an escape. A tap shows the body as its source sent it.
traced('the hub\'s span takes the place of a parent in a member that is written with escapes', HUB, async (hub, collector) => {
  const target = await hub.agent('worker'), source = await hub.peer(), tap = await hub.peer();
  await tap.ask('hub/tap', { body: 1000 });
  const escape = (text) => text.replace(/./g, (digit) => `\\u00${digit.charCodeAt().toString(16)}`);
  for (const [id, [before, parent, behind, ...fields]] of [[`00-${escape(TRACE)}-`, PARENT, '-01'], [`00-${TRACE}-`, escape(PARENT), escape('-01'), FIELD]].entries()) {
    const { body, frame, text } = await through(source, target, id, `{"traceparent":"${before}${parent}${behind}"}`, ...fields);
    const span = await spanOf(collector, id);
    assert.deepEqual([span.traceId, span.parentSpanId], [TRACE, PARENT]);
    assert.equal(text, body.replace(parent, parent === PARENT ? span.spanId : escape(span.spanId)));
    assert.deepEqual(fieldOf(frame), fields.map(() => replaced(span)));
    const shown = await tap.find(({ json }) => json.method === 'hub/tapped' && json.params.entries[0].outcome === null, 'the entry');
    assert.equal(shown.json.params.entries[0].body, body);
  }
});

traced('what isn\'t sampled, and what bears no context, goes as it came', [...HUB, '--trace-sample', '1'], async (hub, collector) => {
  const target = await hub.agent('worker'), source = await hub.peer();
  const unsampled = SAMPLED.replace(/1$/, '0');
  const rows = [[1, `{"traceparent":"${unsampled}"}`, `traceparent: ${unsampled}`], [2, '{"b":1}', 'B: c'], [3, null], [4, `{"traceparent":7}`, FIELD]];
  for (const [id, meta, ...fields] of rows) {
    const { body, frame, text } = await through(source, target, id, meta, ...fields);
    assert.equal(text, body);
    assert.deepEqual(fieldOf(frame), fields.filter((field) => field.startsWith('traceparent')).map((field) => field.slice(13)));
  }
  await spanOf(collector, 4);
  // A notification has no span, so its parent stays.
  source.notify('note', { targetAgent: 'worker', _meta: { traceparent: SAMPLED } }, FIELD);
  const frame = await target.next();
  assert.equal(frame.json.params._meta.traceparent, SAMPLED);
  assert.deepEqual(fieldOf(frame), [SAMPLED]);
});

traced('keep leaves the source\'s span in its place', [], async (hub, collector) => {
  const target = await hub.agent('worker'), source = await hub.peer();
  const { body, frame, text } = await through(source, target, 1, `{"traceparent":"${SAMPLED}"}`, FIELD);
  assert.equal(text, body);
  assert.deepEqual(fieldOf(frame), [SAMPLED]);
  assert.equal((await spanOf(collector, 1)).parentSpanId, PARENT);
});

traced('each message of an array has its own span in the field that they share', HUB, async (hub, collector) => {
  const target = await hub.agent('worker'), source = await hub.peer();
  const asked = [1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent: id === 3 ? 'none' : 'worker', ...(id === 2 ? { _meta: { traceparent: SAMPLED } } : {}) } }));
  asked.push({ jsonrpc: '2.0', method: 'note', params: { targetAgent: 'worker' } });
  asked.push({ jsonrpc: '2.0', id: 5, method: 'work', params: { targetAgent: 'worker' } });
  source.send(asked, FIELD, 'A: b');
  const frames = [];
  for (let at = 0; at < 4; at++) frames.push(await target.next());
  for (const { json } of frames) if (json.id) target.reply(json.id);
  assert.equal((await source.next()).json.length, 4);
  const spans = await Promise.all([1, 2, 3, 5].map((id) => spanOf(collector, id)));
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, 4);
  assert.ok(spans.every(({ traceId, parentSpanId }) => traceId === TRACE && parentSpanId === PARENT));
  const [one, two, , five] = spans;
  assert.deepEqual(frames.map(fieldOf), [[replaced(one)], [replaced(two)], [SAMPLED], [replaced(five)]]);
  assert.equal(frames[1].json.params._meta.traceparent, replaced(two));
  for (const { fields } of frames) assert.ok(fields.some(([name, value]) => name === 'A' && value === 'b'));
});

traced('over HTTP the field passes, with the hub\'s span', HUB, async (hub, collector) => {
  const target = await hub.agent('worker');
  const answer = fetch(`${hub.uri('http')}/rpc`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', Traceparent: SAMPLED }, body: JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'work', params: { targetAgent: 'worker' } }),
  });
  const frame = await target.next();
  target.reply(frame.json.id, 'done');
  assert.equal((await (await answer).json()).result, 'done');
  assert.deepEqual(fieldOf(frame), [replaced(await spanOf(collector, 9))]);
});

test('an MCP server gets the hub\'s span, and its calls have what they call', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'patchbay-traces-'));
  const server = join(folder, 'server.mjs'), config = join(folder, 'hub.ini');
  writeFileSync(server, `
    import { createInterface } from 'node:readline';
    const say = (body) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...body }) + '\\n');
    createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {}, prompts: {}, resources: {} }, serverInfo: { name: 's', version: '1' } } });
      else if (id !== undefined) say({ id, result: { meta: params?._meta ?? null } });
    });`);
  writeFileSync(config, `[child server]\ncommand = ${process.execPath} ${server}\nprotocol = mcp\n`);
  const collector = await Collector.open();
  const hub = await Hub.start(['--otlp', collector.url, '--config', config, ...HUB]);
  try {
    const client = await hub.peer();
    const rows = [
      [1, 'tools/call', { name: 'grep' }, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'grep' }, 'tools/call grep'],
      [2, 'prompts/get', { name: 'greet' }, { 'gen_ai.prompt.name': 'greet' }, 'prompts/get'],
      [3, 'resources/read', { uri: 'file:///x' }, {}, 'resources/read'],
    ];
    for (const [id, method, params, more, name] of rows) {
      client.send({ jsonrpc: '2.0', id, method, params: { ...params, targetAgent: 'server', _meta: { traceparent: SAMPLED } } });
      const { json } = await client.next();
      const span = await spanOf(collector, id);
      assert.equal(json.result.meta.traceparent, replaced(span), JSON.stringify(json));
      assert.equal(span.name, name);
      const { 'patchbay.target': target, 'rpc.method': called, ...all } = attributes(span);
      assert.deepEqual([target, called], ['server', method]);
      assert.deepEqual(Object.fromEntries(Object.entries(all).filter(([key]) => /^(mcp|gen_ai)/.test(key))), { 'mcp.method.name': method, ...more });
    }
  } finally {
    await hub.stop();
    await collector.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('through two hubs each span stands below the one before', async () => {
  const broker = await Broker.start();
  const collector = await Collector.open();
  const options = ['--otlp', collector.url, ...HUB, ...joining(broker)];
  const hubs = [await Hub.start(options), await Hub.start(options)];
  try {
    for (const hub of hubs) await linked(hub);
    const target = await hubs[1].agent('worker'), source = await hubs[0].agent('asker');
    const ask = async (id, body, ...fields) => {
      source.send({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent: 'worker', ...body } }, ...fields);
      const frame = await target.next();
      target.reply(frame.json.id, id);
      assert.equal((await source.next()).json.result, id);
      await collector.until(({ spans }) => spans.length === 2 * id, `spans of ${id}`);
      const both = collector.spans.slice(-2);
      const [first] = both.filter(({ parentSpanId }) => parentSpanId === PARENT), [second] = both.filter((one) => one !== first);
      assert.equal(second.parentSpanId, first.spanId);
      assert.ok(both.every(({ traceId }) => traceId === TRACE));
      assert.equal(attributes(first)['patchbay.target'], 'worker');
      return { frame, second };
    };
    const field = await ask(1, {}, FIELD, 'A: b');
    assert.deepEqual(fieldOf(field.frame), [replaced(field.second)]);
    const member = await ask(2, { _meta: { traceparent: SAMPLED, progressToken: 'p' }, workDoneToken: 'w', partialResultToken: 'q' });
    assert.equal(member.frame.json.params._meta.traceparent, replaced(member.second));
    const instances = collector.posts.map(({ body }) => attributes(body.resourceSpans[0].resource)['service.instance.id']);
    assert.equal(new Set(instances).size, 2);
  } finally {
    for (const hub of hubs) await hub.stop();
    await broker.kill();
    await collector.close();
  }
});

// The agent here supports too little, so other hubs are asked first: nobody is there.
test('a request that other hubs have returned and that is held then has one span', async () => {
  const broker = await Broker.start();
  const collector = await Collector.open();
  const hub = await Hub.start(['--otlp', collector.url, ...HUB, '--gate', 'manual', '--half-close', 'leave', ...joining(broker)]);
  try {
    await linked(hub);
    const target = await hub.agent('worker', { methods: ['work/hard'] }), source = await hub.agent('asker'), human = await hub.peer();
    const tap = await hub.peer();
    await tap.ask('hub/tap', { body: 1000 });
    await human.ask('hub/subscribe', { events: ['approval-needed'] });
    const hold = async (id) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'work/hard', params: { _meta: { traceparent: SAMPLED } } });
      source.send(body, 'Governance-Level: manual');
      const { json } = await human.find(({ json: one }) => one.params?.event === 'approval-needed', 'approval-needed');
      return { body, checkpoint: json.params.data.checkpoint };
    };
    const decide = (checkpoint, decision) => human.ask('governance/approval', { checkpoint, decision });
    const approved = await hold('approved');
    await decide(approved.checkpoint, 'approved');
    const frame = await target.next();
    target.reply(frame.json.id, 1);
    assert.equal((await source.next()).json.result, 1);
    const rejected = await hold('rejected');
    await decide(rejected.checkpoint, 'rejected');
    assert.equal((await source.next()).json.error.code, -32011);
    await hold('cancelled');
    source.notify('$/cancelRequest', { id: 'cancelled' });
    assert.equal((await source.next()).json.error.code, -32800);
    await hold('left');
    source.drop();
    const ids = ['approved', 'rejected', 'cancelled', 'left'];
    const names = () => collector.spans.map((span) => attributes(span)['jsonrpc.request.id']);
    const asker = await hub.peer();
    await collector.until(() => names().includes('left'), 'the last span');
    asker.send({ jsonrpc: '2.0', id: 'marker', method: 'none', params: { _meta: { traceparent: SAMPLED } } });
    await collector.until(() => names().includes('marker'), 'the marker');
    assert.deepEqual(names(), [...ids, 'marker']);
    const [first, second, third, fourth] = collector.spans;
    assert.deepEqual([first, second, third, fourth].map((span) => attributes(span)['error.type']), [undefined, '-32011', '-32800', undefined]);
    assert.equal(frame.json.params._meta.traceparent, replaced(first));
    const shown = [];
    while (shown.length < 10) shown.push(...(await tap.find(({ json }) => json.method === 'hub/tapped', 'entries')).json.params.entries);
    assert.deepEqual(shown.filter(({ outcome }) => outcome).map(({ sourceId, outcome }) => [sourceId, outcome]),
      [['approved', 'result'], ['rejected', 'refused'], ['cancelled', 'cancelled'], ['left', 'source_left'], ['marker', 'refused']]);
    assert.deepEqual(shown.filter(({ outcome }) => outcome === null).map(({ sourceId }) => sourceId), [...ids, 'marker']);
    assert.equal(shown[0].body, approved.body);
  } finally {
    await hub.stop();
    await broker.kill();
    await collector.close();
  }
});
