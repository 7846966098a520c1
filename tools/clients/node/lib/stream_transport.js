// Messages over a socket of Node's: what is said in one turn of the event loop goes out in one write, but answers in one for
// every four.
const WRITE_BYTES = 64 * 1024; // so much is written at once
const WRITE_ANSWERS = 4; // so many, too: the hub reads them while handlers make the next ones
const UNREAD_BYTES_MAX = 16 * 1024 * 1024; // of what the protocol owes
export const BODY_BYTES_MAX = 256 * 1024 * 1024; // of what comes in; under the longest text of the engine

export class StreamTransport {
  #socket;
  #codec;
  #reader;
  #parts = []; // said in this turn
  #bytes = 0; // in them
  #answers = 0; // among them
  #isAscii = true; // all of them are
  #isScheduled = false;
  #waiters = [];
  #fault;
  #flush = () => {
    this.#isScheduled = false;
    this.#write();
  };
  #written = () => this.#wake();

  // The socket is connected; nothing of it has been read.
  constructor(socket, codec) {
    this.#socket = socket;
    this.#codec = codec;
    this.#reader = codec.reader(BODY_BYTES_MAX);
  }

  get hasFields() {
    return this.#codec.hasFields;
  }

  get isOpen() {
    return !this.#socket.destroyed;
  }

  // Bytes that wait for the socket.
  get waiting() {
    return this.#bytes + this.#socket.writableLength;
  }

  // From now on `heard(text, bytes)` gets each body, and `closed(error)` is called once.
  listen(heard, closed) {
    const socket = this.#socket;
    const reply = (bytes) => {
      if (this.waiting > UNREAD_BYTES_MAX) throw new Error('the hub does not read');
      this.#put(bytes, bytes.length);
    };
    socket.on('data', (chunk) => {
      const messages = []; // each a text and its bytes
      let end;
      try {
        if (this.#reader.take(chunk, (text, bytes) => messages.push(text, bytes), reply)) end = () => this.#finish();
      } catch (error) {
        end = () => this.#fail(error);
      }
      this.#tell(messages, 0, heard, end);
    });
    socket.on('error', (error) => { this.#fault ??= error; });
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      this.#wake();
      closed(this.#fault);
    });
    if (socket.destroyed) socket.emit('close');
    else socket.resume();
  }

  // Hears messages of one read, so many at a time: what handlers of these resolve with is answered before the next ones are
  // heard. `end` is due behind the last one.
  #tell(messages, first, heard, end) {
    const last = Math.min(first + 2 * WRITE_ANSWERS, messages.length);
    try {
      for (let at = first; at < last; at += 2) heard(messages[at], messages[at + 1]);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (last < messages.length) queueMicrotask(() => this.#tell(messages, last, heard, end));
    else end?.();
  }

  // `fields` are whole header lines, or empty; only for a transport that has them. `isAnswer`: a handler's.
  send(body, fields, isAnswer) {
    if (isAnswer) this.#answers++;
    const bytes = Buffer.byteLength(body);
    if (bytes > body.length) this.#isAscii = false;
    this.#put(this.#codec.encode(body, fields, bytes), bytes);
  }

  #put(data, bytes) {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#parts.push(data);
    this.#bytes += bytes;
    if (this.#bytes >= WRITE_BYTES || this.#answers >= WRITE_ANSWERS) this.#write();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(this.#flush);
    }
  }

  #write() {
    const parts = this.#parts, encoding = this.#isAscii ? 'latin1' : 'utf8'; // the former is written faster
    // A caller that waits until less waits is woken by one of the writes that make up the bytes.
    const written = this.#bytes >= WRITE_BYTES || this.#socket.writableLength > 0 ? this.#written : undefined;
    if (parts.length === 0 || this.#socket.destroyed) return;
    this.#parts = [];
    this.#bytes = this.#answers = 0;
    this.#isAscii = true;
    const data = parts.length === 1 ? parts[0] : typeof parts[0] === 'string' ? parts.join('') : Buffer.concat(parts);
    this.#socket.write(data, encoding, written);
  }

  // Resolves once less than `count` waits, or the connection has ended.
  drained(count) {
    if (this.waiting < count || !this.isOpen) return undefined;
    return new Promise((resolve) => this.#waiters.push({ count, resolve }));
  }

  #wake() {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = waiters.filter(({ count }) => this.isOpen && this.waiting >= count);
    for (const { count, resolve } of waiters) if (!this.isOpen || this.waiting < count) resolve();
  }

  #fail(error) {
    this.#fault ??= error;
    if (error.farewell) this.#put(error.farewell, error.farewell.length);
    this.#write();
    this.#socket.destroy();
  }

  #finish() {
    this.#write();
    this.#socket.end();
  }

  // Says good-bye behind all that was said. The hub closes then.
  end() {
    const bye = this.#codec.bye();
    if (bye.length > 0) this.#put(bye, bye.length);
    this.#finish();
  }

  destroy() {
    this.#socket.destroy();
  }
}
