// One connection as bytes: what a test writes goes out as it is, and what comes is cut from the front.
import { once } from 'node:events';
import net from 'node:net';
import { within } from './peer.mjs';

export class Stream {
  bytes = Buffer.alloc(0);
  over = null; // how the connection ended, as seen from here
  #wake = () => {};

  // A connection to this URI; HOST may be a bracketed address.
  static async dial(uri) {
    const { hostname, port } = new URL(uri);
    const socket = net.connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), allowHalfOpen: true });
    await within(once(socket, 'connect'), `a connection to ${uri}`);
    socket.setNoDelay(true);
    return new Stream(socket);
  }

  constructor(socket) {
    this.socket = socket;
    socket.on('data', (chunk) => {
      this.bytes = this.bytes.length > 0 ? Buffer.concat([this.bytes, chunk]) : chunk;
      this.#wake();
    });
    const over = (why) => {
      this.over ??= why;
      this.#wake();
    };
    socket.on('end', () => over('end'));
    socket.on('error', (error) => over(error.code));
    socket.on('close', () => over('close'));
  }

  // Resolves once the kernel has the bytes; also where the hub doesn't take them any more.
  write(...parts) {
    if (this.socket.destroyed || this.socket.writableEnded) return Promise.resolve();
    const bytes = Buffer.concat(parts.map((part) => (Buffer.isBuffer(part) ? part : Buffer.from(part))));
    return new Promise((resolve) => this.socket.write(bytes, () => resolve()));
  }

  // `cut` returns { whole, value } for what stands in front, or nothing as long as that isn't whole.
  async take(cut, what) {
    for (;;) {
      const one = cut(this.bytes);
      if (one) {
        this.bytes = this.bytes.subarray(one.whole);
        return one.value;
      }
      if (this.over) throw new Error(`the hub closed (${this.over}); no ${what}; it had said ${JSON.stringify(this.bytes.toString().slice(0, 500))}`);
      await within(new Promise((resolve) => (this.#wake = resolve)), what);
    }
  }

  // Waits for the end, with nothing before it.
  async gone(what = 'the hub to close') {
    while (!this.over) await within(new Promise((resolve) => (this.#wake = resolve)), what);
    if (this.bytes.length > 0) throw new Error(`before the end came ${JSON.stringify(this.bytes.toString().slice(0, 500))}`);
    return this.over;
  }

  // Gives the socket to somebody else, who reads what has come and not been taken.
  detach() {
    this.socket.removeAllListeners();
    this.socket.pause();
    if (this.bytes.length > 0) this.socket.unshift(this.bytes);
    return this.socket;
  }

  // No more will be sent; what the hub sends is still read.
  finish() {
    this.socket.end();
  }

  drop() {
    this.socket.destroy();
  }
}
