// Traces (--otlp): a span a sampled request, exact in names, ids, times and attributes; which requests have one; and whose
// place the hub's span takes in what is forwarded.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Broker, joining, linked } from './cluster.mjs';
import { Collector, attributes } from './collector.mjs';
import { Hub } from './hub.mjs';
import { test } from './parallel.mjs';
import { ALL, directoryOfUsers, known, tokenOf, usersText } from './users.mjs';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const SAMPLED = `00-${TRACE}-${PARENT}-01`;
const UNSAMPLED = `00-${TRACE}-${PARENT}-00`;
const NS = 1_000_000n;

// A hub with a collector, for each number of shards; the hub must end well.
const traced = (name, { options = [], shards = [1, 3], transport = 'tcp', collector = {} }, play) => {
  for (const count of shards)
    test(`${name} (${count} shards)`, async () => {
      const there = await Collector.open();
      Object.assign(there, collector);
      const hub = await Hub.start(['--shards', `${count}`, '--otlp', there.url, ...options], transport);
      try {
        await play(hub, there);
      } finally {
        await hub.stop().finally(() => there.close());
      }
    });
};

// Waits until all spans of what was asked have come: they come in the order in which their requests ended.
async function allSpans(peer, collector) {
  const id = `marker ${collector.markers = (collector.markers ?? 0) + 1}`;
  peer.send(asked(id, 'nobody-at-all', { _meta: { traceparent: `00-${'e'.repeat(32)}-${PARENT}-01` } }));
  await peer.find(({ json }) => json.id === id, 'the marker');
  await collector.span((span) => attributes(span)['jsonrpc.request.id'] === id, 'the marker');
  return collector.spans.filter((span) => !attributes(span)['jsonrpc.request.id'].startsWith('marker'));
}

const asked = (id, target, more = {}, method = 'work') => ({ jsonrpc: '2.0', id, method, params: { targetAgent: target, ...more } });

traced('a span tells all of a request', { options: ['--trace-sample', '1'] }, async (hub, collector) => {
  const target = await hub.agent('worker');
  const source = await hub.agent('asker');
  const body = JSON.stringify(asked('r-1', 'worker', { _meta: { traceparent: SAMPLED } }));
  const before = BigInt(Date.now()) * NS;
  source.send(body);
  const { json } = await target.next();
  await sleep(60);
  const answer = JSON.stringify({ jsonrpc: '2.0', id: json.id, result: { n: 1 } });
  target.send(answer);
  await source.next();
  const after = BigInt(Date.now() + 1) * NS;
  const span = await collector.span(({ traceId }) => traceId === TRACE);
  const { spanId, startTimeUnixNano, endTimeUnixNano, events, attributes: _, ...rest } = span;
  assert.deepEqual(rest, { traceId: TRACE, parentSpanId: PARENT, name: 'work', kind: 2 });
  assert.match(spanId, /^[0-9a-f]{16}$/);
  assert.notEqual(spanId, PARENT);
  assert.deepEqual(attributes(span), {
    'rpc.system.name': 'jsonrpc', 'rpc.method': 'work', 'jsonrpc.request.id': 'r-1', 'patchbay.source': 'asker',
    'patchbay.target': 'worker', 'patchbay.request.bytes': `${body.length}`, 'patchbay.response.bytes': `${answer.length}`,
  });
  assert.deepEqual(events.map(({ name }) => name), ['sent', 'answered']);
  const times = [startTimeUnixNano, ...events.map(({ timeUnixNano }) => timeUnixNano), endTimeUnixNano];
  for (const time of times) assert.match(time, /^[0-9]{19}$/);
  const [began, sent, answered, ended] = times.map(BigInt);
  assert.ok(before <= began && began <= sent && sent <= answered && answered <= ended && ended <= after, times.join(' '));
  assert.ok(answered - sent >= 50n * NS, `${answered - sent}`);
  const { headers, path, method, body: sentBody } = collector.posts[0];
  assert.deepEqual([method, path, headers['content-type'], headers.host], ['POST', '/v1/traces', 'application/json', `127.0.0.1:${collector.port}`]);
  const [{ resource, scopeSpans }] = sentBody.resourceSpans;
  const of = attributes(resource);
  assert.equal(of['service.name'], 'patchbay');
  assert.match(of['service.version'], /^[0-9]+\.[0-9]+/);
  assert.match(of['service.instance.id'], /^[0-9a-f]{32}$/);
  assert.equal(scopeSpans[0].scope.name, 'patchbay');
});

traced('the context is the member of _meta, else the field, and one that is invalid or there twice is none', { options: ['--trace-sample', '0'], shards: [2] }, async (hub, collector) => {
  (await hub.agent('worker')).serve(() => 1);
  const asker = await hub.peer();
  const other = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
  const rows = [ // [_meta's JSON, header field, the trace; null: no span]
    [`{"traceparent":"${SAMPLED}"}`, other, TRACE],
    [null, other, '1'.repeat(32)],
    ['{}', SAMPLED, TRACE],
    [`{"traceparent":"${SAMPLED.replace('4', '\\u0034')}"}`, null, TRACE],
    [`{"traceparent":"${UNSAMPLED}"}`, SAMPLED, null],
    [`{"traceparent":7}`, SAMPLED, null],
    [`{"traceparent":"${SAMPLED}","traceparent":"${SAMPLED}"}`, null, null],
    [`{"traceparent":"${SAMPLED.toUpperCase()}"}`, null, null],
    [null, SAMPLED.replace(/^00/, 'ff'), null],
    [null, `${SAMPLED}\r\ntraceparent: ${SAMPLED}`, null],
    [null, SAMPLED.replace(/^00/, '01'), TRACE],
    [null, null, null],
  ];
  for (const [at, [meta, field]] of rows.entries()) {
    const body = `{"jsonrpc":"2.0","id":${at},"method":"work","params":{"targetAgent":"worker"${meta ? `,"_meta":${meta}` : ''}}}`;
    asker.send(body, ...(field ? [`traceparent: ${field}`] : []));
    const { json } = await asker.next();
    assert.deepEqual(json, { jsonrpc: '2.0', id: at, result: 1 });
  }
  const wanted = rows.flatMap(([, , trace], at) => (trace ? [[`${at}`, trace]] : []));
  const spans = await allSpans(asker, collector);
  assert.deepEqual(spans.map((span) => [attributes(span)['jsonrpc.request.id'], span.traceId]).sort(), wanted.sort());
  assert.ok(spans.every(({ parentSpanId }) => [PARENT, '2'.repeat(16)].includes(parentSpanId)));
});

traced('without a context chance decides, and each span begins a trace', { options: ['--trace-sample', '0.25'], shards: [3] }, async (hub, collector) => {
  (await hub.agent('worker')).serve(() => 1);
  const askers = await Promise.all([hub.peer(), hub.peer(), hub.peer()]);
  for (const asker of askers) {
    for (let at = 0; at < 300; at++) asker.send(asked(at, 'worker'));
    for (let at = 0; at < 300; at++) await asker.next();
    asker.send(asked('last', 'worker', { _meta: { traceparent: SAMPLED } }));
    await asker.next();
  }
  await collector.until(({ spans }) => spans.filter(({ traceId }) => traceId === TRACE).length === 3, 'the last ones');
  const roots = collector.spans.filter(({ traceId }) => traceId !== TRACE);
  assert.ok(roots.length > 150 && roots.length < 300, `${roots.length} of 900`); // 225; a fair coin misses once in 10^7
  assert.ok(roots.every((span) => !('parentSpanId' in span) && /^[0-9a-f]{32}$/.test(span.traceId)));
  assert.equal(new Set(roots.map(({ traceId }) => traceId)).size, roots.length);
  assert.equal(new Set(collector.spans.map(({ spanId }) => spanId)).size, roots.length + 3);
});

traced('errors and refusals have spans, and say who ended them', { options: ['--trace-sample', '1', '--half-close', 'leave'], shards: [1, 2] }, async (hub, collector) => {
  const target = await hub.agent('worker');
  const source = await hub.agent('asker');
  const of = async (id) => {
    const span = await collector.span((one) => attributes(one)['jsonrpc.request.id'] === id, `the span of ${id}`);
    const { 'rpc.response.status_code': code, 'error.type': type, 'patchbay.ended_by': by, 'patchbay.target': to } = attributes(span);
    assert.equal(code, type);
    return { code, by, to, status: span.status?.code, events: (span.events ?? []).map(({ name }) => name) };
  };
  // The target's own error.
  source.send(asked('own', 'worker'));
  target.send({ jsonrpc: '2.0', id: (await target.next()).json.id, error: { code: -7, message: 'no' } });
  await source.next();
  assert.deepEqual(await of('own'), { code: '-7', by: 'target', to: 'worker', status: 2, events: ['sent', 'answered'] });
  // Refused at once: nobody is there, nobody offers it.
  source.send(asked('nobody', 'none'));
  source.send({ jsonrpc: '2.0', id: 'nothing', method: 'offered/by/nobody' });
  assert.deepEqual([(await source.next()).json.error.code, (await source.next()).json.error.code].sort(), [-32010, -32601].sort());
  assert.deepEqual(await of('nothing'), { code: '-32601', by: 'hub', to: undefined, status: 2, events: [] });
  assert.deepEqual({ ...(await of('nobody')), code: 0 }, { code: 0, by: 'hub', to: undefined, status: 2, events: [] });
  // Out of time.
  source.send(asked('late', 'worker'), 'Custom-Timeout-Ms: 500');
  await target.next();
  assert.equal((await source.next()).json.error.code, -32051);
  assert.deepEqual(await of('late'), { code: '-32051', by: 'hub', to: 'worker', status: 2, events: ['sent'] });
  // The source has left: nobody is told, and nothing has failed.
  const leaver = await hub.peer();
  leaver.send(asked('left', 'worker'));
  await target.find(({ json }) => json.method === 'work', 'the request');
  leaver.drop();
  assert.deepEqual(await of('left'), { code: undefined, by: undefined, to: 'worker', status: undefined, events: ['sent'] });
  // The target has left.
  source.send(asked('alone', 'worker'));
  await target.find(({ json }) => json.method === 'work', 'the request');
  target.drop();
  await source.next();
  assert.deepEqual(await of('alone'), { code: '-32050', by: 'hub', to: 'worker', status: 2, events: ['sent'] });
});

traced('notifications, events, responses and the hub\'s own methods have no span', { options: ['--trace-sample', '1'], shards: [2] }, async (hub, collector) => {
  const target = await hub.agent('worker');
  const asker = await hub.peer();
  const hearer = await hub.peer();
  await hearer.ask('hub/subscribe', { events: ['*'] });
  await asker.ask('hub/agents', {});
  await asker.ask('hub/stats', {});
  asker.notify('work', { targetAgent: 'worker' });
  await target.next();
  asker.notify('event', { event: 'e' });
  await hearer.next();
  asker.notify('work', { targetAgent: 'none' });
  asker.send({ jsonrpc: '2.0', id: 77, result: 1 });
  asker.send({ jsonrpc: '2.0', id: 1, method: 'hub/nothing' });
  asker.send(asked('last', 'none'));
  await asker.find(({ json }) => json.id === 'last', 'the refusal');
  const spans = await allSpans(asker, collector);
  assert.deepEqual(spans.map((span) => attributes(span)['jsonrpc.request.id']), ['last']);
});

traced('ids, names and texts of any kind are told as texts, cut at 256 bytes', { options: ['--trace-sample', '1'], shards: [1] }, async (hub, collector) => {
  (await hub.agent('worker', { methods: ['tool/integration'] })).serve(() => 1);
  const asker = await hub.peer();
  const tool = `t"\\\n${'ä'.repeat(200)}`;
  const rows = [
    [7, 'work', {}, '7', 'work'],
    [-1.5, 'work', {}, '-1.5', 'work'],
    ['a"\\\u0001ü', 'work', {}, 'a"\\\u0001ü', 'work'],
    ['x'.repeat(250), 'work', {}, 'x'.repeat(250), 'work'],
    ['c1', 'tools/call', { name: 'grep' }, 'c1', 'tools/call grep'],
    ['c2', 'tools/call', { name: 7 }, 'c2', 'tools/call'],
    ['c3', 'tools/call', { name: tool }, 'c3', Buffer.from(`tools/call ${tool}`).subarray(0, 256).toString().replace(/\ufffd+$/, '')],
    ['c4', 'tool/integration', { tool: 'sort' }, 'c4', 'tool/integration sort'],
    ['c5', 'prompts/get', { name: 'greet' }, 'c5', 'prompts/get'],
    ['m1', 'ä'.repeat(128), {}, 'm1', 'ä'.repeat(128)],
    ['m2', `${'m'.repeat(255)}ä`, {}, 'm2', 'm'.repeat(255)],
  ];
  for (const [id, method, params] of rows) {
    asker.send(asked(id, 'worker', params, method));
    await asker.next();
  }
  await collector.until(({ spans }) => spans.length === rows.length, 'all spans');
  for (const [at, [id, method, , text, name]] of rows.entries()) {
    const span = collector.spans[at];
    assert.equal(span.name, name);
    const all = attributes(span);
    assert.equal(all['jsonrpc.request.id'], text);
    assert.equal(all['rpc.method'], id === 'm2' ? name : method);
    assert.ok(!('mcp.method.name' in all) && !('patchbay.source' in all), 'no MCP server, and no agent that asks');
    assert.equal(all['patchbay.target'], 'worker');
  }
});

traced('what was held has one span, from its taking in on, however it ends', { options: ['--trace-sample', '1', '--gate', 'manual', '--gate-wait', '4s', '--half-close', 'leave'], shards: [1, 2] }, async (hub, collector) => {
  (await hub.agent('worker')).serve(() => 'done');
  const human = await hub.peer();
  await human.ask('hub/subscribe', { events: ['approval-needed'] });
  const source = await hub.agent('asker');
  const hold = async (id, peer = source) => {
    peer.send(asked(id, 'worker'), 'Governance-Level: manual');
    const { json } = await human.find(({ json: one }) => one.params?.event === 'approval-needed', 'approval-needed');
    await sleep(150);
    return json.params.data.checkpoint;
  };
  const decide = (checkpoint, decision) => human.ask('governance/approval', { checkpoint, decision });
  // The first one waits until its time is up, which is longer than all others take.
  const codeOf = async (id) => (await source.find(({ json }) => json.id === id, `the answer to ${id}`)).json.error.code;
  await hold('late');
  await decide(await hold('approved'), 'approved');
  assert.equal((await source.find(({ json }) => json.id === 'approved', 'its answer')).json.result, 'done');
  await decide(await hold('rejected'), 'rejected');
  const rejected = await codeOf('rejected');
  await hold('cancelled');
  source.notify('$/cancelRequest', { id: 'cancelled' });
  const cancelled = await codeOf('cancelled');
  const leaver = await hub.peer();
  await hold('left', leaver);
  leaver.drop();
  const late = await codeOf('late');
  const ids = ['approved', 'rejected', 'cancelled', 'late', 'left'];
  const of = (id) => collector.spans.filter((span) => attributes(span)['jsonrpc.request.id'] === id);
  await collector.until(() => ids.every((id) => of(id).length > 0), 'all spans');
  const codes = { approved: undefined, rejected: `${rejected}`, cancelled: `${cancelled}`, late: `${late}`, left: undefined };
  for (const id of ids) {
    const [span, ...more] = of(id);
    assert.equal(more.length, 0, id);
    assert.equal(attributes(span)['error.type'], codes[id], id);
    assert.equal(attributes(span)['patchbay.ended_by'], codes[id] && 'hub', id);
    assert.equal(attributes(span)['patchbay.target'], 'worker', id);
    assert.ok(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano) >= 140n * NS, id);
  }
});

test('a span names the source\'s user, and no credential', async () => {
  const file = `${directoryOfUsers}/traces.ini`;
  writeFileSync(file, usersText({ ann: ALL, bob: ALL }));
  const collector = await Collector.open();
  const hub = await Hub.start(['--users', file, '--otlp', collector.url, '--trace-sample', '1']);
  try {
    const worker = await known(hub, 'bob'), asker = await known(hub, 'ann');
    await worker.register('worker');
    worker.serve(() => 1);
    asker.send(asked('ours', 'worker', { token: tokenOf('ann') }));
    asker.send({ jsonrpc: '2.0', id: 'wrong', method: 'initialize', params: { token: tokenOf('eve') } });
    await asker.find(({ json }) => json.id === 'ours', 'the answer');
    const span = await collector.span((one) => attributes(one)['jsonrpc.request.id'] === 'ours');
    assert.equal(attributes(span)['patchbay.user'], 'ann');
    assert.equal(collector.spans.length, 1);
    assert.doesNotMatch(collector.posts.map(({ text }) => text).join(''), /pb_token/);
  } finally {
    await hub.stop();
    await collector.close();
  }
});

// A program that speaks Hermes is told of a command, and the hub answers it; be it that other hubs are asked first.
for (const is_joined of [false, true])
  test(`a command that the hub answers for a program has one span and one entry, of its result${is_joined ? ', also behind other hubs' : ''}`, async () => {
    const file = join(directoryOfUsers, `hermes-${is_joined}.ini`);
    const program = fileURLToPath(new URL('child.py', import.meta.url));
    writeFileSync(file, `[child ext]\ncommand = python3 -S -E ${program} offers '{"methods":["command/execute"]}'\nprotocol = hermes\ndata = ${join(directoryOfUsers, `${is_joined}`)}\n`);
    const collector = await Collector.open(), broker = is_joined ? await Broker.start() : null;
    const hub = await Hub.start(['--config', file, '--otlp', collector.url, '--trace-sample', '1', ...(broker ? joining(broker) : [])]);
    try {
      if (broker) await linked(hub);
      const asker = await hub.agent('asker'), tap = await hub.peer();
      let child;
      do [child] = (await tap.ask('hub/children', {})).result.children;
      while (child.state !== 'running');
      await tap.ask('hub/tap', { body: 1000 });
      assert.equal((await asker.ask('command/execute', { command: 'greet' })).result, null);
      const entries = [];
      while (entries.length < 2) entries.push(...(await tap.find(({ json }) => json.method === 'hub/tapped', 'entries')).json.params.entries);
      assert.deepEqual(entries.map(({ kind, outcome, code }) => [kind, outcome, code]), [['request', null, undefined], ['request', 'result', undefined]]);
      assert.deepEqual([entries[1].n, entries[1].target], [entries[0].n, 'ext']);
      assert.match(entries[0].body, /"command":"greet"/);
      const [span, ...more] = await allSpans(asker, collector);
      assert.deepEqual([more.length, attributes(span)['rpc.method'], attributes(span)['error.type'], span.status], [0, 'command/execute', undefined, undefined]);
      assert.equal(attributes(span)['patchbay.target'], 'ext');
    } finally {
      await hub.stop();
      await collector.close();
      await broker?.kill();
    }
  });
