// Traces (--otlp): a span a sampled request, exact in names, ids, times and attributes; which requests have one; and whose
// place the hub's span takes in what is forwarded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Collector, attributes } from './collector.mjs';
import { Hub } from './hub.mjs';

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
