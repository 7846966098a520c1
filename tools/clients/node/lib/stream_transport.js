// Messages over a socket of Node's: what is said in one turn of the event loop goes out in one write.
const WRITE_CHARACTERS = 64 * 1024; // so much is written at once
export const BODY_BYTES_MAX = 256 * 1024 * 1024; // of what comes in; under the longest text of the engine

export class StreamTransport {
  #socket;
  #codec;
  #reader;
  #parts = []; // said in this turn
  #characters = 0; // in them
  #isScheduled = false;
  #waiters = [];
  #fault;
  #flush = () => this.#write();
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

  // What waits for the socket, about.
  get waiting() {
    return this.#characters + this.#socket.writableLength;
  }

  // From now on `heard(text, bytes)` gets each body, and `closed(error)` is called once.
  listen(heard, closed) {
    const socket = this.#socket;
    const reply = (bytes) => this.#put(bytes, bytes.length);
    socket.on('data', (chunk) => {
      try {
        if (this.#reader.take(chunk, heard, reply)) this.#finish();
      } catch (error) {
        this.#fail(error);
      }
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

  // `fields` are whole header lines, or empty; only for a transport that has them.
  send(body, fields) {
    const data = this.#codec.encode(body, fields);
    this.#put(data, data.length);
  }

  #put(data, length) {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    this.#parts.push(data);
    this.#characters += length;
    if (this.#characters >= WRITE_CHARACTERS) this.#write();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      process.nextTick(this.#flush);
    }
  }

  #write() {
    const parts = this.#parts;
    this.#isScheduled = false;
    if (parts.length === 0 || this.#socket.destroyed) return;
    this.#parts = [];
    this.#characters = 0;
    const data = parts.length === 1 ? parts[0] : typeof parts[0] === 'string' ? parts.join('') : Buffer.concat(parts);
    this.#socket.write(data, this.#written);
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
