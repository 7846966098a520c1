// Opens a connection to a hub from a browser, over the browser's own WebSocket.
const LOOK_MS = 20; // a browser doesn't tell when what waits has gone

class BrowserTransport {
  hasFields = false;
  isOpen = true;
  #socket;
  #closed = () => {};
  #looks = new Set(); // of those who wait for what waits to go

  // The socket is open; nothing of it was heard.
  constructor(socket) {
    this.#socket = socket;
  }

  get waiting() {
    return this.#socket.bufferedAmount;
  }

  // From now on `heard(text, bytes)` gets each body, and `closed(error)` is called once.
  listen(heard, closed) {
    const socket = this.#socket;
    this.#closed = closed;
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string') heard(data, data.length);
      else this.destroy();
    };
    socket.onclose = ({ code, wasClean }) => this.#end(wasClean ? undefined : new Error(`the WebSocket was closed with ${code}`));
    if (socket.readyState > WebSocket.OPEN) this.#end();
  }

  #end(error) {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#socket.onmessage = this.#socket.onclose = null;
    for (const look of this.#looks) look();
    this.#closed(error);
  }

  send(body) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(body);
  }

  // Resolves once less than `count` waits, or the connection has ended.
  drained(count) {
    if (this.waiting < count || !this.isOpen) return undefined;
    return new Promise((resolve) => {
      const look = () => {
        if (this.isOpen && this.waiting >= count) return;
        clearInterval(timer);
        this.#looks.delete(look);
        resolve();
      };
      const timer = setInterval(look, LOOK_MS);
      this.#looks.add(look);
    });
  }

  end() {
    this.#socket.close(1000);
  }

  destroy() {
    this.#socket.close();
    this.#end();
  }
}

// A transport, or an error. The signal ends the attempt.
export function dial(address, options, signal) {
  const { secure, authority, path } = address;
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${secure ? 'wss' : 'ws'}://${authority}${path}`, 'hugai.v2');
    const settle = (how, value) => {
      signal.removeEventListener('abort', abort);
      socket.onopen = socket.onclose = null;
      how(value);
    };
    const abort = () => {
      settle(reject, signal.reason);
      socket.close();
    };
    socket.onopen = () => settle(resolve, new BrowserTransport(socket));
    socket.onclose = ({ code }) => settle(reject, new Error(`the hub opens no WebSocket (${code})`));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
}
