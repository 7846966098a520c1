// A collector of spans, as OTLP/HTTP wants one: it keeps what it takes, and answers as it is told.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { within } from './peer.mjs';

export class Collector {
  posts = [];
  spans = [];
  #waiting = [];
  // Answers a POST: (response, post) => {}. The spans of a post that is taken are kept.
  answer = (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  // Whether the collector keeps the spans of a POST.
  takes = () => true;

  static async open(port = 0, options = {}) {
    const collector = new Collector();
    collector.server = createServer(options, (request, response) => collector.#take(request, response));
    collector.server.listen(port, '127.0.0.1');
    await once(collector.server, 'listening');
    collector.port = collector.server.address().port;
    return collector;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async #take(request, response) {
    const parts = [];
    response.on('error', () => {});
    request.on('error', () => {});
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString();
    const post = { time: Date.now(), method: request.method, path: request.url, headers: request.headers, text, body: JSON.parse(text) };
    post.spans = post.body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
    this.posts.push(post);
    if (this.takes(post)) this.spans.push(...post.spans);
    this.answer(response, post);
    this.#waiting.splice(0).forEach((look) => look());
  }

  // Waits until `holds` is true of the collector, looked at after each POST.
  async until(holds, what) {
    while (!holds(this)) await within(new Promise((resolve) => this.#waiting.push(resolve)), what, 20_000);
    return this.spans;
  }

  // The first span that is so.
  async span(holds, what = 'a span') {
    await this.until(() => this.spans.some(holds), what);
    return this.spans.find(holds);
  }

  async close() {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

// The attributes of a span as an object; numbers of 64 bits are strings.
export function attributes(span) {
  const all = Object.fromEntries(span.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
  assert.equal(Object.keys(all).length, span.attributes.length, 'each key once');
  return all;
}
