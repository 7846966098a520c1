// A client of MCP over HTTP, on node's own: each request on a connection of its own, streams as they come.
import assert from 'node:assert/strict';
import http from 'node:http';
import { within } from './peer.mjs';

export const BOTH = 'application/json, text/event-stream';
export const OPENING = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'client', version: '1' } };

// An answer: its head, and the part of its content that has come.
class Answer {
  text = '';
  ended = false;

  constructor(response, request) {
    Object.assign(this, { response, request, status: response.statusCode, fields: response.headers });
    response.setEncoding('utf8').on('data', (text) => {
      this.text += text;
      this.wake?.();
    });
    const end = () => {
      this.ended = true;
      this.wake?.();
    };
    response.on('end', end).on('error', end).on('close', end);
  }

  get isStream() {
    return this.fields['content-type'] === 'text/event-stream';
  }

  // The events that are there: their data and ids.
  get events() {
    return this.text.split('\n\n').slice(0, -1).map((event) => {
      const lines = event.split('\n');
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(6));
      const id = lines.find((line) => line.startsWith('id:'));
      return { data: data.length && data.join('\n') ? JSON.parse(data.join('\n')) : null, id: id && id.slice(4) };
    });
  }

  get messages() {
    return this.events.map(({ data }) => data).filter(Boolean);
  }

  async until(done, what) {
    while (!done(this)) {
      assert.ok(!this.ended, `${what} before the end: ${this.text}`);
      await within(new Promise((resolve) => (this.wake = resolve)), what);
    }
    return this;
  }

  async end() {
    while (!this.ended) await within(new Promise((resolve) => (this.wake = resolve)), 'the end of an answer');
    return this;
  }

  get json() {
    assert.equal(this.fields['content-type'], 'application/json', this.text);
    return JSON.parse(this.text);
  }

  // The one that bears this id, wherever it stands.
  answer(id) {
    const all = this.isStream ? this.messages : [this.json];
    return all.find((message) => message.id === id && !message.method);
  }

  drop() {
    this.request.destroy();
  }
}

// Sends a request; resolves with its answer once the head is there.
export function send(hub, method, path, { body, fields = {}, agent = false } = {}) {
  const content = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const standard = method === 'POST' ? { 'Content-Type': 'application/json', Accept: BOTH } : { Accept: BOTH };
  const headers = { Host: 'localhost', ...standard, ...fields };
  for (const key of Object.keys(headers)) if (headers[key] === null) delete headers[key];
  return within(new Promise((resolve, reject) => {
    const port = Number(new URL(hub.uri('http')).port);
    const request = http.request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => resolve(new Answer(response, request)));
    request.on('error', reject);
    request.end(content);
  }), `the answer to ${method} ${path} ${content ?? ''}`);
}

export const VERSION = '2026-07-28', META = 'io.modelcontextprotocol/';

// Sends a request of the later era, with the head that its body asks for.
export function sendModern(hub, path, method, params = {}, { id = 1, fields = {} } = {}) {
  const subject = params.name ?? params.uri, _meta = { [`${META}protocolVersion`]: VERSION, [`${META}clientCapabilities`]: {} };
  const own = { 'MCP-Protocol-Version': VERSION, 'Mcp-Method': method, ...(subject === undefined ? {} : { 'Mcp-Name': subject }) };
  return send(hub, 'POST', path, { body: { jsonrpc: '2.0', id, method, params: { ...params, _meta } }, fields: { ...own, ...fields } });
}

export class Session {
  static async open(hub, path = '/mcp/server', { fields = {}, opening = OPENING } = {}) {
    const session = new Session();
    Object.assign(session, { hub, path, ids: 0, own: fields });
    const answer = await (await send(hub, 'POST', path, { body: { jsonrpc: '2.0', id: 'open', method: 'initialize', params: opening }, fields })).end();
    assert.equal(answer.status, 200, answer.text);
    session.opened = answer.answer('open');
    session.id = answer.fields['mcp-session-id'];
    assert.match(session.id, /^[!-~]{32,}$/);
    await session.notify('notifications/initialized');
    return session;
  }

  get fields() {
    return { 'Mcp-Session-Id': this.id, ...this.own };
  }

  send(body, fields = {}) {
    return send(this.hub, 'POST', this.path, { body, fields: { ...this.fields, ...fields } });
  }

  // Asks, and leaves the answer to the caller.
  call(method, params, fields = {}) {
    const id = ++this.ids;
    return this.send({ jsonrpc: '2.0', id, method, params }, fields);
  }

  async ask(method, params, fields = {}) {
    const id = this.ids + 1;
    const answer = await (await this.call(method, params, fields)).end();
    assert.equal(answer.status, 200, answer.text);
    return answer.answer(id);
  }

  async notify(method, params) {
    const answer = await (await this.send({ jsonrpc: '2.0', method, params })).end();
    assert.equal(answer.status, 202, answer.text);
    assert.equal(answer.text, '');
  }

  listen(fields = {}) {
    return send(this.hub, 'GET', this.path, { fields: { ...this.fields, ...fields } });
  }

  async close() {
    const answer = await (await send(this.hub, 'DELETE', this.path, { fields: this.fields })).end();
    assert.equal(answer.status, 204, answer.text);
  }
}
