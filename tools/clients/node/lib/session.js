// The inside of a client: puts its parts together, and says to each what the hub says.
import { Calls, LEVELS } from './calls.js';
import { Connection } from './connection.js';
import { defaultAuthorities, defaultHub, defaultToken, isNode } from './environment.js';
import { ConnectionLost, HubError, code } from './errors.js';
import { Subscriptions } from './events.js';
import { initialize, redacted } from './initialize.js';
import { Handlers, sendAnswer } from './handlers.js';
import { Outbox } from './outbox.js';
import { Registrations } from './registrations.js';
import { errorText, resultText, salvage } from './text.js';
import { parseUri } from './uri.js';

const DRAINED_BYTES = 1024 * 1024; // a sender goes on once fewer bytes wait for the socket
const UNREGISTER_MS = 1000, HANDLERS_MS = 5000, END_MS = 1000; // of `close`

const isId = (id) => typeof id === 'number' || typeof id === 'string';

// Resolves with the promise, but after `ms` milliseconds at the latest. The signal ends the wait.
function atMost(promise, ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    Promise.resolve(promise).then(end, end);
  });
}

export class Session {
  #token;
  #connection;
  #outbox = new Outbox();
  #calls;
  #handlers;
  #registrations;
  #subscriptions;
  #listeners = new Set(); // of states
  #report;
  #lost = new AbortController(); // aborted when there is no connection and none will be
  #closing; // the promise of `close`
  #fault; // the hub's last error that answers no request, which may tell why the hub ends the connection

  constructor(uri = defaultHub(), options) {
    const { tlsCa = defaultAuthorities(), tlsCertificate, tlsKey, concurrency = 64, governanceLevel = 'autonomous', onError = console.error } = options;
    const token = this.#token = options.token ?? defaultToken();
    if (token !== undefined && typeof token !== 'string') throw new TypeError('token must be a string');
    if (!Number.isInteger(concurrency) || concurrency < 1) throw new RangeError('concurrency must be a whole number above 0');
    if (!LEVELS.includes(governanceLevel)) throw new TypeError(`governanceLevel must be one of ${LEVELS.join(', ')}`);
    if (tlsKey !== undefined && tlsCertificate === undefined) throw new TypeError('tlsKey needs tlsCertificate');
    const address = parseUri(String(uri ?? ''));
    if (!isNode && address.framing !== 'websocket') throw new TypeError('a browser takes ws:// and wss:// alone');
    this.#report = (error) => queueMicrotask(() => onError(error)); // what that throws is the program's, and breaks nothing here
    this.#calls = new Calls(this.#outbox, address.framing === 'content-length');
    this.#handlers = new Handlers({ concurrency, drainLimit: DRAINED_BYTES, bound: this.#calls, report: this.#report });
    this.#registrations = new Registrations(this.#calls, this.#report);
    this.#subscriptions = new Subscriptions(this.#calls);
    this.#connection = new Connection(address, { tlsCa, tlsCertificate, tlsKey }, {
      heard: (text, bytes, transport) => this.#hear(text, bytes, transport),
      greet: (transport) => this.#greet(transport, governanceLevel),
      restore: (transport) => Promise.all([this.#registrations.restore(transport), this.#subscriptions.restore(transport)]),
      opened: (transport) => this.#opened(transport),
      lost: (error, stood) => this.#lose(error, stood),
      refused: (error) => this.#refuse(error),
    });
  }

  open() {
    return this.#connection.open();
  }

  // --- Calls by the program

  call(method, params, options) {
    return this.#calls.call(method, params, options);
  }

  request(agentId, task, { context, priority, ...options }) {
    const params = { sourceAgent: this.#registrations.source, targetAgent: agentId, task, context, priority };
    return this.#calls.call('agent/request', params, options);
  }

  async publish(event, data, options) {
    const delivered = (await this.#calls.call('event', { event, data }, options))?.delivered;
    if (!Number.isInteger(delivered)) throw new HubError(code.internal, 'the hub does not tell how many got the event');
    return delivered;
  }

  notify(method, params, options) {
    return this.#calls.notify(method, params, options, DRAINED_BYTES);
  }

  register(agentId, options) {
    return this.#registrations.register(agentId, options);
  }

  unregister(agentId) {
    return this.#registrations.unregister(agentId);
  }

  events(pattern) {
    return this.#subscriptions.open(pattern);
  }

  get handlers() {
    return this.#handlers;
  }

  // Returns a function that removes the listener.
  onState(listener) {
    if (typeof listener !== 'function') throw new TypeError('a listener of states must be a function');
    const one = (state, detail) => listener(state, detail);
    this.#listeners.add(one);
    return () => { this.#listeners.delete(one); };
  }

  // --- Messages from the hub

  #hear(text, bytes, transport) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      this.#hearBroken(text, transport);
      return;
    }
    if (typeof message !== 'object' || message === null) return;
    const { method, id } = message;
    if (method === undefined) this.#hearAnswer(message);
    else if (typeof method !== 'string') return;
    else if (id === undefined) this.#hearNotification(message, bytes, transport);
    else if (isId(id)) this.#hearRequest(message, bytes, transport);
  }

  #hearBroken(text, transport) {
    const found = salvage(text);
    if (found?.isRequest) sendAnswer(transport, errorText(found.id, new HubError(code.parse, 'parse error')));
    else if (found) this.#calls.spoil(found.id);
  }

  #hearAnswer(message) {
    if (message.id === null && message.error) this.#fault = redacted(HubError.from(message.error), this.#token);
    else this.#calls.answer(message);
  }

  // A cancel may come as a request: the client answers null.
  #hearRequest(message, bytes, transport) {
    if (this.#cancel(message)) sendAnswer(transport, resultText(message.id, null));
    else this.#handlers.take(message, bytes, transport);
  }

  #hearNotification(message, bytes, transport) {
    if (this.#control(message)) return;
    if (message.method === 'event') this.#subscriptions.take(message.params);
    this.#handlers.take(message, bytes, transport);
  }

  // Takes a notification for the client itself. Returns whether no handler gets the notification.
  #control(message) {
    const { method, params } = message;
    switch (method) {
      case '$/progress':
        return this.#progress(params?.token, params?.value);
      case 'notifications/progress':
        return this.#progress(params?.progressToken, params);
      case 'hub/dropped':
        this.#subscriptions.dropped(params);
        return false;
      case 'hub/replaced':
        if (this.#registrations.forget(params?.agentId)) this.#tell('replaced', { agentId: params.agentId });
        return false;
      default:
        return this.#cancel(message);
    }
  }

  // Takes a cancel. Returns whether the message is one.
  #cancel({ method, params }) {
    switch (method) {
      case '$/cancelRequest':
        this.#handlers.cancel(params?.id);
        return true;
      case '$/cancel_request':
      case 'notifications/cancelled':
        this.#handlers.cancel(params?.requestId);
        return true;
      default:
        return false;
    }
  }

  #progress(token, value) {
    const callback = this.#calls.progress(token);
    if (callback) this.#safely(() => callback(value));
    return callback !== undefined;
  }

  // The program's own callbacks must not break what goes on here, nor the process where they are asynchronous.
  #safely(run) {
    try {
      const outcome = run();
      if (typeof outcome?.then === 'function') Promise.resolve(outcome).catch(this.#report);
    } catch (error) {
      this.#report(error);
    }
  }

  // --- The connection

  async #greet(transport, governanceLevel) {
    const ask = (method, params) => this.#calls.call(method, params, { transport });
    const greeting = await initialize(ask, { token: this.#token, governanceLevel });
    const { maxFrame } = Object(greeting?.capabilities);
    this.#calls.bodyBytesMax = Number.isInteger(maxFrame) && maxFrame > 0 ? maxFrame : Infinity;
    this.#fault = undefined;
  }

  #opened(transport) {
    this.#outbox.open(transport);
    this.#tell('connected');
  }

  #lose(cause, stood) {
    const error = new ConnectionLost(undefined, { cause: this.#fault ?? cause });
    this.#outbox.lose();
    this.#registrations.lose();
    this.#subscriptions.lose();
    this.#calls.lose(error);
    this.#handlers.lose(error);
    if (this.#closing) this.#lost.abort();
    else if (stood) this.#tell('lost', { error });
  }

  #refuse(error) {
    this.#outbox.fail(error);
    this.#subscriptions.end(error);
    this.#tell('refused', { error });
  }

  #tell(state, detail = {}) {
    for (const listener of this.#listeners) this.#safely(() => listener(state, detail));
  }

  // --- The end

  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close() {
    const { transport } = this.#connection, { signal } = this.#lost;
    this.#connection.stop();
    if (transport) {
      const handlersEnd = performance.now() + HANDLERS_MS;
      await atMost(this.#registrations.unregisterAll(transport), UNREGISTER_MS, signal);
      await atMost(this.#handlers.idle(), handlersEnd - performance.now(), signal);
      this.#handlers.cancelAll(new HubError(code.cancelled, 'cancelled'));
    }
    const lost = new ConnectionLost('the client is closed');
    this.#subscriptions.end();
    this.#outbox.fail(lost);
    this.#calls.giveUp(lost);
    if (!transport?.isOpen) return;
    transport.end();
    await atMost(new Promise(() => {}), END_MS, signal);
    transport.destroy();
  }
}
