// A request that came in, or a notification: what the client keeps of it, and what its handler sees.
import { notificationText } from './text.js';

const DRAINED_BYTES = 1024 * 1024;

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

// Makes the message that reports progress of a request: `$/progress` with the request's token, or MCP's notification.
function progressText(params, value) {
  const { workDoneToken, partialResultToken, _meta } = params, token = workDoneToken ?? partialResultToken;
  if (token !== undefined && token !== null) return notificationText('$/progress', { token, value });
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return notificationText('notifications/progress', { ...(isObject(value) ? value : { progress: value }), progressToken });
}

// The request as a handler sees it.
class RequestFace {
  #request;

  constructor(request) {
    this.#request = request;
  }

  get method() {
    return this.#request.method;
  }

  get params() {
    return this.#request.params;
  }

  // Aborted when the source gives the request up, or the connection is lost.
  get signal() {
    return this.#request.signal;
  }

  // Tells the source how far the request is, if the source asked for that. Resolves once less than 1 MiB waits.
  async progress(value) {
    await this.#request.progress(value);
  }
}

export class Request {
  owes; // an answer
  isCancelled = false;
  #controller;
  #reason;

  // `bound` has fits(body), whether the hub takes it, and tooLarge(), the error of what it doesn't take.
  constructor(id, method, params, handler, bytes, transport, bound) {
    this.id = id;
    this.method = method;
    this.params = params;
    this.handler = handler;
    this.bytes = bytes;
    this.transport = transport;
    this.bound = bound;
    this.owes = id !== undefined;
  }

  get face() {
    return new RequestFace(this);
  }

  get signal() {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.isCancelled) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  cancel(reason) {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  progress(value) {
    if (!this.owes) return undefined;
    const text = progressText(this.params, value);
    if (text === undefined) return undefined;
    if (!this.bound.fits(text)) throw this.bound.tooLarge();
    this.transport.send(text, '');
    return this.transport.drained(DRAINED_BYTES);
  }
}
