// A request that came in, or a notification: what the client keeps of it, and what its handler sees.
import { notificationText } from './text.js';

const DRAINED_BYTES = 1024 * 1024;

// What sends progress for a request: `$/progress` with its token, or as MCP has it.
function progressText(params, value) {
  const { workDoneToken, _meta } = params;
  if (workDoneToken !== undefined) return notificationText('$/progress', { token: workDoneToken, value });
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return notificationText('notifications/progress', { ...(typeof value === 'object' ? value : { message: String(value) }), progressToken });
}

// What a handler sees.
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

  constructor(id, method, params, handler, bytes, transport) {
    this.id = id;
    this.method = method;
    this.params = params;
    this.handler = handler;
    this.bytes = bytes;
    this.transport = transport;
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
    this.transport.send(text, '');
    return this.transport.drained(DRAINED_BYTES);
  }
}
