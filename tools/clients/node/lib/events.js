// Events: who iterates over which, and what is subscribed to at the hub.
import { ConnectionLost } from './errors.js';
import { insist } from './insist.js';

const QUEUE_EVENTS_MAX = 1000;

// A pattern is an exact name, or a prefix and `*`.
const matches = (pattern, name) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern);

// What `hub.events` returns. An event is {name, data, missed}.
class EventIterator {
  #queue = [];
  #missed = 0; // before the next event that comes
  #readers = [];
  #error; // that ends the iteration
  #isOver = false;
  #leave;

  constructor(leave) {
    this.#leave = leave;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  push(name, data) {
    const event = { name, data, missed: this.#missed };
    this.#missed = 0;
    const reader = this.#readers.shift();
    if (reader) {
      reader.resolve({ value: event, done: false });
      return;
    }
    if (this.#queue.push(event) <= QUEUE_EVENTS_MAX) return;
    const gone = this.#queue.shift();
    this.#queue[0].missed += gone.missed + 1;
  }

  miss(count) {
    this.#missed += count;
  }

  // No event comes any more. Those that are here are still read; then the error is thrown, if there is one.
  end(error) {
    this.#isOver = true;
    this.#error = error;
    for (const reader of this.#readers.splice(0)) this.#finish(reader);
  }

  #finish({ resolve, reject }) {
    const error = this.#error;
    this.#error = undefined;
    if (error) reject(error);
    else resolve({ value: undefined, done: true });
  }

  next() {
    return new Promise((resolve, reject) => {
      const event = this.#queue.shift();
      if (event) resolve({ value: event, done: false });
      else if (this.#isOver) this.#finish({ resolve, reject });
      else this.#readers.push({ resolve, reject });
    });
  }

  async return(value) {
    this.#queue = [];
    if (!this.#isOver) {
      this.end();
      await this.#leave();
    }
    this.#error = undefined;
    return { value, done: true };
  }
}

export class Subscriptions {
  #calls;
  #iterators = new Map(); // sets of them by pattern
  #isLive = false; // what is added is told to the hub at once; else when the connection stands again
  #end; // [error] once there are no more events
  #stop; // ends the attempts of the connection

  constructor(calls) {
    this.#calls = calls;
  }

  open(pattern) {
    if (typeof pattern !== 'string' || pattern === '') throw new TypeError('the pattern of events must be a name, or a prefix and *');
    const iterator = new EventIterator(() => this.#leave(pattern, iterator));
    if (this.#end) {
      iterator.end(this.#end[0]);
      return iterator;
    }
    const known = this.#iterators.get(pattern);
    if (known) known.add(iterator);
    else {
      this.#iterators.set(pattern, new Set([iterator]));
      if (this.#isLive) this.#subscribe(pattern, undefined);
    }
    return iterator;
  }

  // Resolves when the hub has answered for the first time.
  #subscribe(pattern, transport) {
    const ask = () => this.#calls.call('hub/subscribe', { events: [pattern] }, { transport });
    return insist(ask, this.#stop.signal, (error) => this.#fail(pattern, error));
  }

  // The hub refuses the pattern. A connection that is lost refuses nothing.
  #fail(pattern, error) {
    if (error instanceof ConnectionLost) return;
    const iterators = this.#iterators.get(pattern) ?? [];
    this.#iterators.delete(pattern);
    for (const iterator of iterators) iterator.end(error);
  }

  async #leave(pattern, iterator) {
    const iterators = this.#iterators.get(pattern);
    if (!iterators?.delete(iterator) || iterators.size > 0) return;
    this.#iterators.delete(pattern);
    // Where the connection is lost, the subscription is, too.
    if (this.#isLive) await this.#calls.call('hub/unsubscribe', { events: [pattern] }).catch(() => {});
  }

  // Makes the subscriptions again on a new connection; resolves when the hub has answered for the first time.
  restore(transport) {
    this.#isLive = true;
    this.#stop = new AbortController();
    return Promise.all([...this.#iterators.keys()].map((pattern) => this.#subscribe(pattern, transport)));
  }

  lose() {
    this.#isLive = false;
    this.#stop?.abort();
  }

  take(params) {
    const name = params?.event;
    if (typeof name !== 'string') return;
    for (const [pattern, iterators] of this.#iterators) {
      if (matches(pattern, name)) for (const iterator of iterators) iterator.push(name, params.data);
    }
  }

  // The hub tells that it dropped events of this connection.
  dropped(params) {
    const count = (Number.isSafeInteger(params?.count) && params.count > 0 ? params.count : 0) + (params?.unknown ? 1 : 0);
    for (const iterators of this.#iterators.values()) for (const iterator of iterators) iterator.miss(count);
  }

  // No more events come; iterators end, with the error if there is one.
  end(error) {
    this.lose();
    this.#end = [error];
    for (const iterators of this.#iterators.values()) for (const iterator of iterators) iterator.end(error);
    this.#iterators.clear();
  }
}
