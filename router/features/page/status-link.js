// The page's connection to its hub: JSON-RPC over the hub's own WebSocket. The connection comes back by itself when the hub
// does, after pauses that double. The page never asks again before it has been answered.
const PAUSE_MS = 500, PAUSE_MAX_MS = 8000, PATIENCE_MS = 5000;

export class Link {
  #socket = null;
  #asked = new Map();
  #id = 0;
  #pause = PAUSE_MS;
  #timer = 0;

  // `on` is told with onOpen, onClosed(ms until it tries again) and, of a notification, onHeard(body).
  constructor(on) {
    this.on = on;
    this.#dial();
    addEventListener('online', () => this.hurry());
    document.addEventListener('visibilitychange', () => document.hidden || this.hurry());
  }

  get open() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  // Tries at once where it would wait.
  hurry() {
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#dial();
  }

  #dial() {
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
    this.#socket = socket;
    socket.onopen = () => {
      this.ask('initialize', {}).then(() => {
        this.#pause = PAUSE_MS;
        this.on.onOpen();
      }, () => socket.close());
    };
    socket.onmessage = (message) => this.#take(message.data);
    socket.onclose = () => this.#closed();
  }

  #closed() {
    for (const { reject, timer } of this.#asked.values()) {
      clearTimeout(timer);
      reject(new Error('the connection was lost'));
    }
    this.#asked.clear();
    const pause = this.#pause * (0.75 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, PAUSE_MAX_MS);
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      this.#dial();
    }, pause);
    this.on.onClosed(pause);
  }

  #take(text) {
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      return;
    }
    if ('method' in body && !('id' in body)) this.on.onHeard(body);
    const asked = this.#asked.get(body.id);
    if (!asked) return;
    this.#asked.delete(body.id);
    clearTimeout(asked.timer);
    if ('error' in body) asked.reject(new Error(`${body.error.message} (${body.error.code})`));
    else asked.resolve({ result: body.result, bytes: text.length });
  }

  // The result, and how long the answer was. A hub that doesn't answer is as good as gone.
  ask(method, params) {
    if (!this.open) return Promise.reject(new Error('no connection'));
    const id = ++this.#id, socket = this.#socket;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => socket.close(), PATIENCE_MS);
      this.#asked.set(id, { resolve, reject, timer });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) }));
    });
  }
}
