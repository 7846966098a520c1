// The agents of this client: those that it wants, and those that the hub has on this connection.
import { ConnectionLost, HubError, code } from './errors.js';
import { insist, isOverload } from './insist.js';

// A half-open connection may hold a name still.
const isTransient = (error) => (error instanceof HubError && error.code === code.taken) || isOverload(error);

export class Registrations {
  #calls;
  #report;
  #wanted = new Map(); // params by agentId, in the order in which they were registered
  #held = new Set();
  #stops = new Map(); // what ends the attempts, by agentId

  // `report(error)` is told when a registration can't be made again.
  constructor(calls, report) {
    this.#calls = calls;
    this.#report = report;
  }

  // The first one that the hub has; undefined: none.
  get source() {
    for (const agentId of this.#wanted.keys()) if (this.#held.has(agentId)) return agentId;
    return undefined;
  }

  // Resolves with the hub's answer.
  register(agentId, { capabilities = {}, governanceLevel = capabilities?.governanceLevel ?? 'autonomous', ...more } = {}) {
    const params = structuredClone({ ...more, agentId, capabilities, governanceLevel });
    return new Promise((resolve, reject) => {
      this.#calls.start('agent/register', params, {}, (error, result) => {
        if (error !== undefined) {
          reject(error);
          return;
        }
        this.#stop(agentId);
        this.#wanted.set(agentId, params);
        this.#held.add(agentId);
        resolve(result);
      });
    });
  }

  // Gives a name back. Resolves with the hub's answer.
  unregister(agentId) {
    this.forget(agentId);
    return this.#calls.call('agent/unregister', { agentId });
  }

  // Makes the registrations again on a new connection; resolves when the hub has answered for the first time.
  restore(transport) {
    return Promise.all([...this.#wanted.keys()].map((agentId) => {
      const stop = new AbortController();
      this.#stops.set(agentId, stop);
      const ask = () => this.#ask(agentId, transport);
      return insist(ask, stop.signal, isTransient, (error) => this.#fail(agentId, error));
    }));
  }

  // Asks once. The callback notes the answer at once, before the next message is read: `hub/replaced` may follow.
  #ask(agentId, transport) {
    return new Promise((resolve, reject) => {
      this.#calls.start('agent/register', this.#wanted.get(agentId), { transport }, (error) => {
        if (error === undefined) this.#held.add(agentId);
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  #fail(agentId, error) {
    if (!(error instanceof ConnectionLost)) this.#report(error);
  }

  #stop(agentId) {
    this.#stops.get(agentId)?.abort();
    this.#stops.delete(agentId);
  }

  // Has an agentId not registered again. Returns whether the client would have registered it.
  forget(agentId) {
    this.#stop(agentId);
    this.#held.delete(agentId);
    return this.#wanted.delete(agentId);
  }

  lose() {
    for (const agentId of [...this.#stops.keys()]) this.#stop(agentId);
    this.#held.clear();
  }

  // Gives all names back; resolves when the hub has answered.
  async unregisterAll(transport) {
    const held = [...this.#held];
    this.lose();
    this.#wanted.clear();
    await Promise.allSettled(held.map((agentId) => this.#calls.call('agent/unregister', { agentId }, { transport })));
  }
}
