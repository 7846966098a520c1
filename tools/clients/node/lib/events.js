// Events: who iterates over which, and what is subscribed to at the hub.
import { ConnectionLost } from './errors.js';
import { insist, isOverload } from './insist.js';

const QUEUE_EVENTS_MAX = 1000;

// A pattern is an exact name, or a prefix and `*`.
const matches = (pattern, name) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern);

// One subscription at the hub, and who iterates over its events.
class Subscription {
  iterators = new Set();
  confirmed; // a promise that the hub's answer settles
  hasStood = false; // the hub has confirmed it before
  confirm;
  refuse;

  constructor() {
    this.confirmed = new Promise((resolve, reject) => {
      this.confirm = () => {
        this.hasStood = true;
        resolve();
      };
      this.refuse = reject;
    });
    this.confirmed.catch(() => {}); // whoever doesn't wait for it hears of it by the iterator
  }

  end(error) {
    this.refuse(error ?? new ConnectionLost('the client is closed'));
    for (const iterator of this.iterators) iterator.end(error);
  }
}

// The iterator that `hub.events` returns. An event is {name, data, missed}.
class EventIterator {
  subscribed;
  #queue = [];
  #missed = 0; // before the next event that comes
  #readers = [];
  #error; // that ends the iteration
  #isOver = false;
  #leave;

  constructor(subscribed, leave) {
    this.subscribed = subscribed;
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

  // Ends the iteration: events in the queue are still read, and then the error is thrown, if there is one.
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
  #byPattern = new Map();
  #isLive = false; // what is added is told to the hub at once; else when the connection stands again
  #end; // [error] once the client is closed or refused; the error may be undefined
  #stop; // an AbortController, which ends the attempts on this connection

  constructor(calls) {
    this.#calls = calls;
  }

  open(pattern) {
    if (typeof pattern !== 'string' || pattern === '') throw new TypeError('the pattern of events must be a name, or a prefix and *');
    const known = this.#byPattern.get(pattern), subscription = known ?? new Subscription();
    const iterator = new EventIterator(subscription.confirmed, () => this.#leave(pattern, iterator));
    subscription.iterators.add(iterator);
    if (this.#end) subscription.end(this.#end[0]);
    else if (!known) {
      this.#byPattern.set(pattern, subscription);
      if (this.#isLive) this.#subscribe(pattern, subscription);
    }
    return iterator;
  }

  // Resolves when the hub has answered for the first time.
  #subscribe(pattern, subscription, transport = undefined) {
    const ask = async () => {
      if (this.#byPattern.get(pattern) !== subscription) return; // nobody wants it any more
      await this.#calls.call('hub/subscribe', { events: [pattern] }, { transport });
      subscription.confirm();
    };
    const isTransient = (error) => subscription.hasStood && isOverload(error);
    return insist(ask, this.#stop.signal, isTransient, (error) => this.#fail(pattern, subscription, error));
  }

  // The hub refuses the pattern. A connection that is lost refuses nothing.
  #fail(pattern, subscription, error) {
    if (error instanceof ConnectionLost) return;
    if (this.#byPattern.get(pattern) === subscription) this.#byPattern.delete(pattern);
    subscription.end(error);
  }

  async #leave(pattern, iterator) {
    const subscription = this.#byPattern.get(pattern);
    if (!subscription?.iterators.delete(iterator) || subscription.iterators.size > 0) return;
    this.#byPattern.delete(pattern);
    // Where the connection is lost, the subscription is, too.
    if (this.#isLive) await this.#calls.call('hub/unsubscribe', { events: [pattern] }).catch(() => {});
  }

  // Makes the subscriptions again on a new connection; resolves when the hub has answered for the first time.
  restore(transport) {
    this.#isLive = true;
    this.#stop = new AbortController();
    return Promise.all([...this.#byPattern].map(([pattern, subscription]) => this.#subscribe(pattern, subscription, transport)));
  }

  lose() {
    this.#isLive = false;
    this.#stop?.abort();
  }

  take(params) {
    const name = params?.event;
    if (typeof name !== 'string') return;
    for (const [pattern, { iterators }] of this.#byPattern) {
      if (matches(pattern, name)) for (const iterator of iterators) iterator.push(name, params.data);
    }
  }

  // The hub tells that it dropped events of this connection.
  dropped(params) {
    const count = (Number.isSafeInteger(params?.count) && params.count > 0 ? params.count : 0) + (params?.unknown ? 1 : 0);
    for (const { iterators } of this.#byPattern.values()) for (const iterator of iterators) iterator.miss(count);
  }

  // No more events come; iterators end, with the error if there is one.
  end(error) {
    this.lose();
    this.#end = [error];
    for (const subscription of this.#byPattern.values()) subscription.end(error);
    this.#byPattern.clear();
  }
}
