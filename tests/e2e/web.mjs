// A client of HTTP that writes the bytes that it is given, and reads strictly. A head must be in canonical form, with
// the fields that every answer bears. Exactly the bytes that the head announces must follow.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { Stream } from './stream.mjs';

// A scenario on HTTP, and one test for each number of shards.
export function web(name, how, run) {
  scenario(name, { ...how, transports: ['http'] }, run);
}

const text = (body) => (typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));

// The bytes of a request: its head's lines behind the request line, Host by itself unless it is given, and the content.
export function request(line, fields = [], content) {
  const body = content === undefined ? Buffer.alloc(0) : Buffer.from(text(content));
  const own = fields.some((field) => /^host:/i.test(field)) ? [] : ['Host: localhost'];
  const framed = fields.some((field) => /^(content-length|transfer-encoding):/i.test(field));
  const length = content === undefined || framed ? [] : [`Content-Length: ${body.length}`];
  const head = [`${line} HTTP/1.1`, ...own, ...fields, ...length].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), body]);
}

export const JSON_TYPE = 'Content-Type: application/json';

export function rpc(content, ...fields) {
  return request('POST /rpc', [JSON_TYPE, ...fields], content);
}

export function chunk(part) {
  const bytes = Buffer.from(part);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

class Response {
  constructor(status, fields, body) {
    Object.assign(this, { status, fields, body });
  }
  get text() {
    return this.body.toString();
  }
  get json() {
    assert.equal(this.fields['content-type'], 'application/json', this.text);
    return JSON.parse(this.text);
  }
}

function headOf(bytes) {
  const blank = bytes.indexOf('\r\n\r\n');
  if (blank < 0) return null;
  const [first, ...lines] = bytes.subarray(0, blank).toString('latin1').split('\r\n');
  const status = /^HTTP\/1\.1 ([1-5][0-9][0-9]) [A-Z][A-Za-z ]+$/.exec(first);
  assert.ok(status, `a status line: ${first}`);
  const fields = {};
  for (const line of lines) {
    const field = /^([A-Za-z0-9-]+): (.*[^ \t\r\n]|)$/.exec(line);
    assert.ok(field, `a field line: ${line}`);
    const name = field[1].toLowerCase();
    assert.ok(!(name in fields), `${name} came twice`);
    fields[name] = field[2];
  }
  return { at: blank + 4, status: Number(status[1]), fields };
}

function lengthOf(head, headOnly) {
  const { status, fields } = head;
  if (status === 100 || status === 101 || status === 204 || fields['content-type'] === 'text/event-stream') {
    assert.ok(!('content-length' in fields), JSON.stringify(fields));
    return 0;
  }
  assert.match(fields['content-length'], /^(0|[1-9][0-9]*)$/);
  return headOnly ? 0 : Number(fields['content-length']);
}

export class Client extends Stream {
  static async open(hub) {
    const { socket } = await Stream.dial(hub.uri('http'));
    const client = new Client(socket);
    hub.peers.push(client);
    return client;
  }

  // The next response; `headOnly` to HEAD.
  async response({ headOnly = false, what = 'a response' } = {}) {
    const one = await this.take((bytes) => {
      const head = headOf(bytes);
      if (!head) return null;
      const whole = head.at + lengthOf(head, headOnly);
      if (bytes.length < whole) return null;
      return { whole, value: new Response(head.status, head.fields, bytes.subarray(head.at, whole)) };
    }, what);
    if (one.status === 100) return one;
    assert.match(one.fields.date, /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/);
    assert.equal(one.fields['cache-control'], 'no-store');
    assert.equal(one.fields['x-content-type-options'], 'nosniff');
    return one;
  }

  async send(...bytes) {
    this.write(...bytes);
    return this.response();
  }

  // Proves that the connection goes on, and that nothing else has come.
  async lives(what = 'a request') {
    const { status, text: words } = await this.send(request('GET /healthz'));
    assert.equal(status, 200, `after ${what}: ${words}`);
  }
}

// Sends a request on a connection of its own. Returns the answer, and whether the hub closed the connection behind the
// answer.
export async function alone(hub, bytes, { headOnly = false } = {}) {
  const client = await Client.open(hub);
  client.write(bytes);
  const response = await client.response({ headOnly, what: `the answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 200))}` });
  response.closes = response.fields.connection === 'close';
  if (response.closes) await client.gone();
  else await client.lives(bytes.toString('latin1').slice(0, 200));
  client.drop();
  return response;
}
