// The hub as a program sees it: the functions of this client. All fields are private, so that no token shows.

function checkName(name, handler) {
  if (typeof name !== 'string' || name === '') throw new TypeError('a handler needs a name');
  if (typeof handler !== 'function') throw new TypeError('a handler must be a function');
}

export class Hub {
  #session;

  constructor(session) {
    this.#session = session;
  }

  // Makes this client an agent. Resolves with the hub's answer.
  async register(agentId, options = {}) {
    return this.#session.register(agentId, options);
  }

  // Gives an agentId back. Resolves with the hub's answer.
  async unregister(agentId) {
    return this.#session.unregister(agentId);
  }

  // Answers the requests, and takes the notifications, with this method.
  method(name, handler) {
    checkName(name, handler);
    this.#session.handlers.method(name, handler);
  }

  // Answers `agent/request` with this task.
  task(name, handler) {
    checkName(name, handler);
    this.#session.handlers.task(name, handler);
  }

  // Asks an agent to do a task. Resolves with the result.
  async request(agentId, task, options = {}) {
    return this.#session.request(agentId, task, options);
  }

  // Calls a method. Resolves with the result.
  async call(method, params = {}, options = {}) {
    return this.#session.call(method, params, options);
  }

  // Sends what has no answer. Resolves once less than 1 MiB waits for the socket.
  async notify(method, params = {}, options = {}) {
    return this.#session.notify(method, params, options);
  }

  // Publishes an event. Resolves with the number of connections that it was delivered to.
  async publish(event, data = undefined, options = {}) {
    return this.#session.publish(event, data, options);
  }

  // Iterates over the events with this name, or with this prefix and `*`.
  events(pattern) {
    return this.#session.events(pattern);
  }

  // Calls `listener(state, detail)` for `connected`, `lost`, `replaced` and `refused`. Returns what ends that.
  onState(listener) {
    return this.#session.onState(listener);
  }

  // How many notifications were dropped, because their handlers were too slow.
  get dropped() {
    return this.#session.handlers.dropped;
  }

  // Unregisters, lets the handlers finish within 5 s, and ends the connection.
  async close() {
    return this.#session.close();
  }
}
