// Runs the handlers of what comes in: so many at a time, and what is more waits, within a bound.
import { HubError, code } from './errors.js';
import { Request } from './request.js';
import { errorText, resultText } from './text.js';

const WAITING_BYTES_MAX = 4 * 1024 * 1024;
const TASK_SHOWN_MAX = 256; // characters of a task that an error names
// Answers that the hub doesn't read are not kept beyond this.
const UNREAD_BYTES_MAX = 16 * 1024 * 1024;

// Sends an answer for which no handler ran, so that no handler's place bounds how many of them wait. A hub that reads none of
// them is left.
export function sendAnswer(transport, text) {
  if (transport.waiting > UNREAD_BYTES_MAX) transport.destroy();
  else transport.send(text, '');
}

// Makes the error of an answer from the exception of a handler: the text alone, never a stack.
function failure(thrown) {
  try {
    if (thrown instanceof HubError) return thrown;
    return { code: code.internal, message: String(thrown instanceof Error ? thrown.message || thrown.name : thrown) };
  } catch {
    return { code: code.internal, message: 'internal error' };
  }
}

// The data of an error that says which handler is missing: the method, and of `agent/request` the task.
function missing(method, params) {
  const task = method === 'agent/request' ? params?.task : undefined;
  return typeof task === 'string' && task.length <= TASK_SHOWN_MAX ? { method, task } : { method };
}

export class Handlers {
  dropped = 0; // notifications that found no place
  #methods = new Map();
  #tasks = new Map();
  #concurrency;
  #drainLimit;
  #bound;
  #report;
  #running = new Set();
  #waiting = new Set(); // in the order in which they came
  #waitingBytes = 0;
  #asked = new Map(); // requests that owe an answer, by id
  #isPumping = false;
  #idle = [];

  // A handler's place is free once less than `drainLimit` bytes wait for the socket. `bound` has fits(body), whether the hub
  // takes it, and tooLarge(), the error of what it doesn't take;
  // `report(error)` is told of what no answer can tell.
  constructor({ concurrency, drainLimit, bound, report }) {
    this.#concurrency = concurrency;
    this.#drainLimit = drainLimit;
    this.#bound = bound;
    this.#report = report;
  }

  method(name, handler) {
    this.#methods.set(name, handler);
  }

  task(name, handler) {
    this.#tasks.set(name, handler);
  }

  #find(method, params) {
    const task = method === 'agent/request' && this.#tasks.size > 0 ? this.#tasks.get(params?.task) : undefined;
    return task ?? this.#methods.get(method);
  }

  // Takes a request, or a notification, whose id is undefined. `bytes` is the length of the body.
  take({ method, id, params }, bytes, transport) {
    const handler = this.#find(method, params);
    if (handler === undefined) {
      if (id !== undefined) this.#refuse(id, new HubError(code.methodNotFound, 'method not found', missing(method, params)), transport);
      return;
    }
    const request = new Request(id, method, params ?? {}, handler, bytes, transport, this.#bound);
    if (this.#running.size >= this.#concurrency && this.#waitingBytes + bytes > WAITING_BYTES_MAX) {
      if (id === undefined) this.dropped++;
      else this.#refuse(id, new HubError(code.overloaded, 'overloaded', { limit: WAITING_BYTES_MAX }), transport);
      return;
    }
    if (id !== undefined) this.#asked.set(id, request);
    if (this.#running.size < this.#concurrency && this.#waiting.size === 0) {
      this.#run(request);
      return;
    }
    this.#waiting.add(request);
    this.#waitingBytes += bytes;
    this.#pump();
  }

  #refuse(id, error, transport) {
    sendAnswer(transport, errorText(id, error));
  }

  #pump() {
    if (this.#isPumping) return;
    this.#isPumping = true;
    for (const request of this.#waiting) {
      if (this.#running.size >= this.#concurrency) break;
      this.#unqueue(request);
      this.#run(request);
    }
    this.#isPumping = false;
  }

  #unqueue(request) {
    if (this.#waiting.delete(request)) this.#waitingBytes -= request.bytes;
  }

  #run(request) {
    this.#running.add(request);
    let value, isPromise;
    try {
      value = request.handler(request.params, request.face);
      isPromise = typeof value?.then === 'function';
    } catch (error) {
      this.#fail(request, error);
      return;
    }
    if (isPromise) Promise.resolve(value).then((result) => this.#succeed(request, result), (error) => this.#fail(request, error));
    else this.#succeed(request, value);
  }

  #succeed(request, value) {
    if (!request.owes) {
      this.#end(request);
      return;
    }
    let text;
    try {
      text = resultText(request.id, value);
    } catch (error) {
      this.#fail(request, error);
      return;
    }
    if (this.#bound.fits(text)) this.#answer(request, text);
    else this.#fail(request, this.#bound.tooLarge());
  }

  #fail(request, thrown) {
    if (request.id === undefined && !request.isCancelled) this.#report(thrown);
    if (request.owes) this.#answer(request, this.#failureText(request.id, failure(thrown)));
    else this.#end(request);
  }

  // The data of an error may be no JSON.
  #failureText(id, error) {
    try {
      const text = errorText(id, error);
      return this.#bound.fits(text) ? text : errorText(id, this.#bound.tooLarge());
    } catch (fault) {
      return errorText(id, failure(fault));
    }
  }

  #answer(request, text) {
    this.#settle(request);
    request.transport.send(text, '', true);
    this.#end(request);
  }

  #settle(request) {
    request.owes = false;
    if (this.#asked.get(request.id) === request) this.#asked.delete(request.id);
  }

  #end(request) {
    const drained = request.transport.drained(this.#drainLimit);
    if (drained) drained.then(() => this.#leave(request));
    else this.#leave(request);
  }

  #leave(request) {
    this.#running.delete(request);
    if (this.#waiting.size > 0) this.#pump();
    if (this.#idle.length > 0) this.#tellIdle();
  }

  // Resolves once nothing waits, and nothing runs but what is cancelled.
  idle() {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#tellIdle();
    });
  }

  #tellIdle() {
    if (this.#waiting.size > 0 || [...this.#running].some((request) => !request.isCancelled)) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  // The source of the request with this id has given it up.
  cancel(id) {
    const request = this.#asked.get(id);
    if (request) this.#cancel(request, new HubError(code.cancelled, 'cancelled'));
  }

  #cancel(request, reason) {
    this.#unqueue(request);
    if (request.owes) {
      this.#settle(request);
      sendAnswer(request.transport, errorText(request.id, reason));
    }
    request.cancel(reason);
    if (this.#idle.length > 0) this.#tellIdle();
  }

  // Cancels all that runs and waits, and answers it with the reason.
  cancelAll(reason) {
    for (const request of [...this.#waiting, ...this.#running]) this.#cancel(request, reason);
  }

  // The connection is lost: cancels all that runs and waits, and answers nothing.
  lose(reason) {
    for (const request of [...this.#waiting, ...this.#running]) {
      if (request.owes) this.#settle(request);
      this.#cancel(request, reason);
    }
  }
}
