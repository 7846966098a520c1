// Calls in flight: each ends once, with a result or an error.
import { HubError, ConnectionLost, code } from './errors.js';
import { Signals } from './signals.js';
import { byteLength, requestText, notificationText } from './text.js';

const TIMER_MS_MAX = 2 ** 31 - 1; // what is longer has no timer
const FIELD_MS_MAX = 3_600_000; // the hub's longest time

export const LEVELS = ['autonomous', 'supervised', 'human-in-the-loop', 'manual'];

// The header line of a level; empty: none.
export function levelField(level, hasFields) {
  if (level === undefined) return '';
  if (!LEVELS.includes(level)) throw new TypeError(`level must be one of ${LEVELS.join(', ')}`);
  if (!hasFields) throw new TypeError('a level goes in a header block, which lines and WebSocket have not');
  return `Governance-Level: ${level}\r\n`;
}

function duration(timeoutMs) {
  if (timeoutMs === undefined || timeoutMs === Infinity) return undefined;
  if (typeof timeoutMs !== 'number' || Number.isNaN(timeoutMs)) throw new RangeError('timeoutMs must be a number');
  return timeoutMs;
}

const timedOut = () => new HubError(code.timedOut, 'timed out');

class Call {
  transport; // over which the call was sent; undefined: the call waits
  #calls;
  #body;
  #fields;
  #end; // when the call's time is up, by performance.now(); undefined: the call has no time
  #timer;
  #signal;
  #settle;

  constructor(calls, id, body, fields, settle) {
    this.id = id;
    this.#calls = calls;
    this.#body = body;
    this.#fields = fields;
    this.#settle = settle;
  }

  // Begins the call's time, and listens to its signal.
  begin(timeoutMs, signal) {
    if (timeoutMs !== undefined) {
      this.#end = performance.now() + timeoutMs;
      if (timeoutMs <= TIMER_MS_MAX) this.#timer = setTimeout(() => this.giveUp(timedOut()), timeoutMs);
    }
    if (signal) {
      this.#signal = signal;
      this.#calls.signals.add(signal, this);
    }
  }

  // Ends the call with an error, and tells the target.
  giveUp(error) {
    this.#calls.cancel(this);
    this.fail(error);
  }

  send(transport) {
    const body = this.#body;
    if (!this.#calls.fits(body)) {
      this.fail(this.#calls.tooLarge());
      return;
    }
    this.transport = transport;
    this.#body = undefined;
    this.#calls.sent(this);
    transport.send(body, transport.hasFields && this.#end !== undefined ? this.#fields + this.#timeField() : this.#fields);
  }

  #timeField() {
    const left = Math.ceil(this.#end - performance.now());
    return `Custom-Timeout-Ms: ${Math.min(Math.max(left, 1), FIELD_MS_MAX)}\r\n`;
  }

  succeed(result) {
    this.#over();
    this.#settle(undefined, result);
  }

  fail(error) {
    this.#over();
    this.#settle(error);
  }

  #over() {
    this.#calls.forget(this);
    clearTimeout(this.#timer);
    if (this.#signal) this.#calls.signals.remove(this.#signal, this);
  }
}

// A notification, which is over once less than `limit` waits for the socket.
class Notification {
  constructor(calls, body, fields, limit, settle) {
    Object.assign(this, { calls, body, fields, limit, settle });
  }

  send(transport) {
    if (!this.calls.fits(this.body)) {
      this.fail(this.calls.tooLarge());
      return;
    }
    transport.send(this.body, this.fields);
    const drained = transport.drained(this.limit);
    if (drained) drained.then(() => this.settle(transport.isOpen ? undefined : new ConnectionLost()));
    else this.settle();
  }

  fail(error) {
    this.settle(error);
  }
}

export class Calls {
  bodyBytesMax = Infinity; // of the hub
  signals = new Signals();
  #outbox;
  #hasFields;
  #lastId = 0;
  #inFlight = new Map();
  #progress = new Map(); // by token

  constructor(outbox, hasFields) {
    this.#outbox = outbox;
    this.#hasFields = hasFields;
  }

  // Begins a call. `settle(error, result)` is called once, at the answer itself; throws for what can't be sent.
  // With `transport` it doesn't wait for the connection, but goes over that one at once.
  start(method, params, { level, timeoutMs, signal, onProgress, transport } = {}, settle) {
    const fields = levelField(level, this.#hasFields), time = duration(timeoutMs), id = ++this.#lastId;
    signal?.throwIfAborted();
    if (onProgress && typeof onProgress !== 'function') throw new TypeError('onProgress must be a function');
    if (onProgress && Array.isArray(params)) throw new TypeError('a progress token has no place in an array');
    const body = requestText(id, method, onProgress ? { ...params, workDoneToken: id } : params);
    if (time <= 0) {
      settle(timedOut());
      return;
    }
    const call = new Call(this, id, body, fields, settle);
    if (onProgress) this.#progress.set(id, onProgress);
    if (time !== undefined || signal) call.begin(time, signal);
    if (transport) call.send(transport);
    else this.#outbox.put(call);
  }

  // Begins a call, as `start` does. Returns a promise of the result.
  call(method, params, options) {
    return new Promise((resolve, reject) => {
      this.start(method, params, options, (error, result) => (error === undefined ? resolve(result) : reject(error)));
    });
  }

  // Resolves once less than `limit` bytes wait for the socket.
  notify(method, params, { level } = {}, limit) {
    return new Promise((resolve, reject) => {
      const fields = levelField(level, this.#hasFields);
      const settle = (error) => (error === undefined ? resolve() : reject(error));
      this.#outbox.put(new Notification(this, notificationText(method, params), fields, limit, settle));
    });
  }

  fits(body) {
    return 3 * body.length <= this.bodyBytesMax || byteLength(body) <= this.bodyBytesMax;
  }

  tooLarge() {
    return new HubError(code.tooLarge, 'frame too large', { limit: this.bodyBytesMax });
  }

  sent(call) {
    this.#inFlight.set(call.id, call);
  }

  forget(call) {
    this.#inFlight.delete(call.id);
    this.#progress.delete(call.id);
  }

  // The target is told, if it can know of the call.
  cancel(call) {
    if (call.transport) call.transport.send(notificationText('$/cancelRequest', { id: call.id }), '');
    else this.#outbox.drop(call);
  }

  answer(message) {
    const call = this.#inFlight.get(message.id);
    if (call === undefined) return; // given up
    if (message.error !== undefined && message.error !== null) call.fail(HubError.from(message.error));
    else if (message.result !== undefined) call.succeed(message.result);
    else call.fail(new HubError(code.internal, 'the answer has neither a result nor an error'));
  }

  // The answer with this id can't be read.
  spoil(id) {
    this.#inFlight.get(id)?.fail(new HubError(code.internal, 'the answer is not JSON'));
  }

  // The callback of the call whose token this is, or undefined.
  progress(token) {
    return this.#progress.get(token);
  }

  // Ends what is in flight, and tells the targets.
  giveUp(error) {
    for (const call of [...this.#inFlight.values()]) call.giveUp(error);
  }

  // The connection is lost: what was in flight has ended.
  lose(error) {
    for (const call of [...this.#inFlight.values()]) call.fail(error);
  }
}
