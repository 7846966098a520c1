// One connection to the hub, with the framing written by hand. A test's bytes go out as they are. The hub's frames are
// read strictly (Content-Length first, canonical, CR LF; or one text and a line feed). A frame that the hub writes in
// any other form fails the test that waits for it. Every wait has a deadline that fails.
import assert from 'node:assert/strict';
import { once } from 'node:events';

export const WAIT_MS = Number(process.env.PATCHBAY_WAIT_MS ?? 30_000);

// Waits for a promise, but not for ever.
export async function within(promise, what, ms = WAIT_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${ms} ms for ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const bytesOf = (body) =>
  (Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));

// The bytes of one line.
export function line(body) {
  return Buffer.concat([bytesOf(body), Buffer.from('\n')]);
}

// The bytes of one frame. `fields` are further header lines, without their line ends.
export function frame(body, ...fields) {
  const bytes = bytesOf(body);
  const head = [`Content-Length: ${bytes.length}`, ...fields].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), bytes]);
}

export function requestText(id, method, params) {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

class Frame {
  constructor(fields, body) {
    this.fields = fields;
    this.body = body;
  }
  get text() {
    return this.body.toString('utf8');
  }
  get json() {
    return JSON.parse(this.text);
  }
}

function fieldsOf(head) {
  return head.toString('latin1').split('\r\n').map((text) => {
    const colon = text.indexOf(':');
    assert.ok(colon > 0, `the hub wrote a header line without a name: ${JSON.stringify(text)}`);
    return [text.slice(0, colon), text.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')];
  });
}

// Wires. `cut` tells where the first frame ends, and what it is; or how many bytes must be there before it can be told.
const FRAMED = {
  write: frame,
  cut(bytes) {
    const blank = bytes.indexOf('\r\n\r\n');
    if (blank < 0) return { need: bytes.length + 1 };
    const head = bytes.subarray(0, blank);
    const length = /^Content-Length: ([1-9][0-9]*)(\r\n|$)/.exec(head.toString('latin1'));
    assert.ok(length, `the hub wrote a header block in no canonical form: ${JSON.stringify(head.toString('latin1'))}`);
    const whole = blank + 4 + Number(length[1]);
    if (bytes.length < whole) return { need: whole };
    return { whole, frame: new Frame(fieldsOf(head), bytes.subarray(blank + 4, whole)) };
  },
};
export const LINES = {
  write(body, ...fields) {
    assert.equal(fields.length, 0, 'header fields go with no line');
    return line(body);
  },
  cut(bytes) {
    const feed = bytes.indexOf('\n');
    if (feed < 0) return { need: bytes.length + 1 };
    const body = bytes.subarray(0, feed);
    assert.ok(body.length > 0 && !body.includes('\r'), `the hub wrote a line in no canonical form: ${JSON.stringify(body.toString())}`);
    return { whole: feed + 1, frame: new Frame([], body) };
  },
};

export class Peer {
  #chunks = [];
  #have = 0;
  #need = 1; // bytes that must be there before looking again
  #asked = 0;
  #waiting = [];
  #over;
  frames = []; // arrived, and no one has taken them yet
  closed = false;
  fault = null;

  constructor(socket, wire = FRAMED) {
    this.socket = socket;
    this.wire = wire;
    socket.setNoDelay?.(true);
    this.end = new Promise((resolve) => {
      this.#over = (why) => {
        if (this.closed) return;
        this.closed = true;
        const error = this.fault ?? new Error(`the hub closed the connection (${why})`);
        for (const waiter of this.#waiting.splice(0)) waiter.reject(error);
        resolve(why);
      };
    });
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('end', () => this.#over('end'));
    socket.on('error', (error) => this.#over(error.code));
    socket.on('close', () => this.#over('close'));
  }

  #take(chunk) {
    this.#chunks.push(chunk);
    this.#have += chunk.length;
    try {
      while (this.#have >= this.#need && this.#one());
    } catch (error) {
      this.fault = error;
      this.socket.destroy();
    }
  }

  // Takes one frame from the front of what has come; false when it is not whole yet.
  #one() {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks = [bytes];
    const cut = this.wire.cut(bytes);
    if (!cut.frame) {
      this.#need = cut.need;
      return false;
    }
    const rest = bytes.subarray(cut.whole);
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#have = rest.length;
    this.#need = 1;
    this.#arrived(cut.frame);
    return this.#have > 0;
  }

  #arrived(one) {
    if (this.answers) {
      const message = one.json;
      if ('method' in message && 'id' in message) return this.reply(message.id, this.answers(message));
    }
    const at = this.#waiting.findIndex((waiter) => waiter.match(one));
    if (at < 0) this.frames.push(one);
    else this.#waiting.splice(at, 1)[0].resolve(one);
  }

  // The first frame that matches, arrived or to come; the others stay.
  find(match, what) {
    const at = this.frames.findIndex(match);
    if (at >= 0) return Promise.resolve(this.frames.splice(at, 1)[0]);
    if (this.closed) return Promise.reject(this.fault ?? new Error(`the hub had closed; no ${what}`));
    const promise = new Promise((resolve, reject) => this.#waiting.push({ match, resolve, reject }));
    return within(promise, what);
  }

  // The next frame, whatever it is.
  next(what = 'the next frame') {
    return this.find(() => true, what);
  }

  // Resolves once the kernel has the bytes. A peer that has finished, or was cut off, writes no more.
  write(bytes) {
    if (this.socket.writableEnded || this.socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  send(body, ...fields) {
    return this.write(this.wire.write(body, ...fields));
  }

  notify(method, params, ...fields) {
    return this.send({ jsonrpc: '2.0', method, params }, ...fields);
  }

  // Sends a request with an id of its own and returns the answer, parsed.
  async ask(method, params, ...fields) {
    const id = `ask-${++this.#asked}`;
    this.send({ jsonrpc: '2.0', id, method, params }, ...fields);
    const answer = await this.find((one) => one.json.id === id, `the answer to ${method}`);
    return answer.json;
  }

  reply(id, result = null) {
    return this.send({ jsonrpc: '2.0', id, result });
  }

  // From now on every request that comes is answered with what `answers` makes of it.
  serve(answers) {
    this.answers = answers;
    return this;
  }

  // Proves that the hub has handled all this peer sent and that nothing else came back: a ping's answer is next.
  async silent(what) {
    const id = `silent-${++this.#asked}`;
    this.send({ jsonrpc: '2.0', id, method: 'hub/ping' });
    const answer = await this.next(`the ping after ${what}`);
    assert.equal(answer.json.id, id, `${what} brought ${answer.text.slice(0, 300)}`);
  }

  async register(agentId, capabilities = {}, more = {}) {
    const answer = await this.ask('agent/register', { agentId, capabilities, ...more });
    assert.deepEqual(answer.result, { agentId, registered: true }, JSON.stringify(answer));
    return this;
  }

  // No more will be sent; the hub's answers are still read.
  async finish() {
    this.socket.end();
    await once(this.socket, 'finish');
  }

  // Waits for the hub to close its direction.
  gone(what = 'the hub to close') {
    return within(this.end, what);
  }

  drop() {
    this.socket.destroy();
  }
}

// Asserts an error answer: the code, an object as data, and a text as message; returns the error.
export function assertError(answer, code, what = '') {
  assert.equal(answer.error?.code, code, `${what} ${JSON.stringify(answer).slice(0, 400)}`);
  assert.equal(typeof answer.error.message, 'string');
  assert.ok(answer.error.data !== null && typeof answer.error.data === 'object', `data of ${JSON.stringify(answer)}`);
  assert.ok(!('result' in answer));
  assert.equal(answer.jsonrpc, '2.0');
  return answer.error;
}
