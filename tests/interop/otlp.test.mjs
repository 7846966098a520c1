// What --otlp sends, read by OpenTelemetry's own code: by the messages that are generated from its protocol's definition,
// and by its SDK, which writes and reads contexts on both sides of the hub.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import root from '@opentelemetry/otlp-transformer/build/src/generated/root.js';
import { AlwaysOnSampler, BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Collector } from '../e2e/collector.mjs';
import { Hub } from '../e2e/hub.mjs';

const { ExportTraceServiceRequest, ExportTraceServiceResponse } = root.opentelemetry.proto.collector.trace.v1;
const { Span, Status } = root.opentelemetry.proto.trace.v1;
const IDS = ['traceId', 'spanId', 'parentSpanId'];
const CARRIER = { set: (carrier, key, value) => { carrier[key] = value; }, get: (carrier, key) => carrier[key], keys: Object.keys };

// Decodes a POST, and checks that nothing of it is unknown to the protocol. Its JSON has ids in hexadecimal digits, where
// that of other protocols has base64.
function decode(body) {
  const object = structuredClone(body);
  const spansOf = (request) => request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
  for (const span of spansOf(object)) for (const id of IDS) if (id in span) span[id] = Buffer.from(span[id], 'hex');
  const message = ExportTraceServiceRequest.decode(ExportTraceServiceRequest.encode(ExportTraceServiceRequest.fromObject(object)).finish());
  assert.equal(ExportTraceServiceRequest.verify(message), null);
  const again = ExportTraceServiceRequest.toObject(message, { longs: String });
  for (const span of spansOf(again)) for (const id of IDS) if (id in span) span[id] = Buffer.from(span[id]).toString('hex');
  assert.deepEqual(again, body);
  return { resource: attributesOf(again.resourceSpans[0].resource), spans: spansOf(again) };
}

const attributesOf = ({ attributes }) => Object.fromEntries(attributes.map(({ key, value }) => [key, value.intValue === undefined ? value.stringValue : Number(value.intValue)]));

// A client and a target that trace with the SDK.
function traced() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ sampler: new AlwaysOnSampler(), spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer('interop'), propagator = new W3CTraceContextPropagator();
  return {
    exporter,
    begin(name, kind, carrier) {
      const context = carrier ? propagator.extract(ROOT_CONTEXT, carrier, CARRIER) : ROOT_CONTEXT;
      const span = tracer.startSpan(name, { kind }, context), meta = {};
      propagator.inject(trace.setSpan(context, span), meta, CARRIER);
      return { span, meta };
    },
  };
}

test('OpenTelemetry reads what the hub sends, between a client and a target with its SDK', async () => {
  const collector = await Collector.open(), sdk = traced();
  collector.answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ExportTraceServiceResponse.toObject(ExportTraceServiceResponse.create({}))));
  const hub = await Hub.start(['--otlp', collector.url, '--trace-parent', 'hub', '--trace-sample', '1']);
  try {
    const target = await hub.agent('worker'), source = await hub.agent('asker');
    const before = Date.now();
    const ask = async (id, to, answer) => {
      const { span, meta } = sdk.begin(`ask ${id}`, SpanKind.CLIENT);
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { targetAgent: to, name: 'grep', _meta: meta } });
      source.send(body);
      if (answer) {
        const { json } = await target.next();
        const work = sdk.begin(`work ${id}`, SpanKind.SERVER, json.params._meta);
        work.span.end();
        target.send({ jsonrpc: '2.0', id: json.id, ...answer });
      }
      await source.next();
      span.end();
      return body.length;
    };
    const bytes = [await ask('good', 'worker', { result: 1 }), await ask('bad', 'worker', { error: { code: -7, message: 'no' } }), await ask('refused', 'nobody')];
    source.send({ jsonrpc: '2.0', id: 'root', method: 'tools/call', params: { targetAgent: 'nobody' } });
    await source.next();
    const after = Date.now() + 1;
    await collector.until(({ spans }) => spans.length === 4, 'all spans');
    const posts = collector.posts.map(({ body }) => decode(body));
    for (const { resource } of posts) assert.deepEqual(Object.keys(resource), ['service.name', 'service.version', 'service.instance.id']);
    const spans = Object.fromEntries(posts.flatMap((post) => post.spans).map((span) => [attributesOf(span)['jsonrpc.request.id'], span]));
    const own = Object.fromEntries(sdk.exporter.getFinishedSpans().map((span) => [span.name, span]));
    for (const [at, [id, code, by]] of [['good'], ['bad', '-7', 'target'], ['refused', '-32010', 'hub']].entries()) {
      const span = spans[id], asker = own[`ask ${id}`].spanContext(), worker = own[`work ${id}`];
      assert.deepEqual([span.traceId, span.parentSpanId], [asker.traceId, asker.spanId]);
      if (worker) assert.deepEqual([worker.spanContext().traceId, worker.parentSpanContext.spanId], [asker.traceId, span.spanId]);
      assert.deepEqual([span.kind, span.name, span.status?.code], [Span.SpanKind.SPAN_KIND_SERVER, 'tools/call grep', code && Status.StatusCode.STATUS_CODE_ERROR]);
      const { 'patchbay.response.bytes': answered, ...attributes } = attributesOf(span);
      assert.deepEqual(attributes, {
        'rpc.system.name': 'jsonrpc', 'rpc.method': 'tools/call', 'jsonrpc.request.id': id, 'patchbay.source': 'asker',
        ...(worker ? { 'patchbay.target': 'worker' } : {}), 'patchbay.request.bytes': bytes[at],
        ...(code ? { 'rpc.response.status_code': code, 'error.type': code, 'patchbay.ended_by': by } : {}),
      });
      assert.equal(answered > 0, worker !== undefined);
      assert.deepEqual((span.events ?? []).map(({ name }) => name), worker ? ['sent', 'answered'] : []);
      const times = [span.startTimeUnixNano, ...(span.events ?? []).map(({ timeUnixNano }) => timeUnixNano), span.endTimeUnixNano].map(BigInt);
      const ns = (ms) => BigInt(ms) * 1_000_000n;
      [ns(before), ...times, ns(after)].reduce((earlier, later) => { assert.ok(earlier <= later, `${id}: ${times}`); return later; });
    }
    assert.match(spans.root.traceId, /^(?!0+$)[0-9a-f]{32}$/);
    assert.ok(!('parentSpanId' in spans.root) && spans.root.name === 'tools/call');
  } finally {
    await hub.stop();
    await collector.close();
  }
});
