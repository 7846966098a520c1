// One connection to the hub, which is opened again when it is lost.
import { isNode } from './environment.js';
import { HubError, code } from './errors.js';
import { Pauses } from './pauses.js';

const PATIENCE_MS = 10_000; // for the transport, and for what the hub answers first

const dialler = () => (isNode ? import('./dial_node.js') : import('./dial_browser.js'));

// The errors with which the hub refuses a wrong credential, or a missing one. Trying again would not help.
const REFUSALS = [code.notAllowed, code.notInitialized, code.invalidParams];
const isRefusal = (error) => error instanceof HubError && REFUSALS.includes(error.code);

export class Connection {
  #address;
  #options; // of the transport
  #events;
  #transport; // also while it is being greeted
  #stands = false;
  #over = false;
  #pauses = new Pauses(0);
  #abort = new AbortController();
  #pause; // {timer, wake} while there is one

  // `events` has heard(text, bytes, transport), and
  // greet(transport): opens the session; rejects with the hub's error, or when the transport ends;
  // restore(transport): makes again what the last connection had;
  // opened(transport); lost(error, stood): `stood` tells whether the transport had been opened; refused(error).
  constructor(address, options, events) {
    this.#address = address;
    this.#options = options;
    this.#events = events;
  }

  // The transport of the connection that stands; undefined: none does.
  get transport() {
    return this.#stands ? this.#transport : undefined;
  }

  // The first connection: an error is the caller's.
  async open() {
    try {
      await this.#try();
    } catch (error) {
      this.#over = true;
      throw error;
    }
  }

  async #try() {
    const { dial } = await dialler();
    const transport = await this.#patiently((signal) => dial(this.#address, this.#options, signal));
    const { heard, greet, restore, opened } = this.#events;
    this.#transport = transport;
    transport.listen((text, bytes) => heard(text, bytes, transport), (error) => this.#closed(transport, error));
    try {
      await this.#patiently(async () => {
        await greet(transport);
        this.#pauses.reset();
        await restore(transport);
      }, () => transport.destroy());
      if (!transport.isOpen || this.#over) throw new Error('the hub closed the connection');
    } catch (error) {
      if (this.#transport === transport) this.#transport = undefined;
      transport.destroy();
      throw error;
    }
    this.#stands = true;
    opened(transport);
  }

  // Runs `attempt(signal)` for PATIENCE_MS at most, or until `stop`. Then the signal is aborted, and `giveUp` is called.
  async #patiently(attempt, giveUp = () => {}) {
    const limit = new AbortController();
    const stop = () => {
      limit.abort(this.#abort.signal.aborted ? this.#abort.signal.reason : new Error('the hub does not answer'));
      giveUp();
    };
    const timer = setTimeout(stop, PATIENCE_MS);
    this.#abort.signal.addEventListener('abort', stop);
    if (this.#abort.signal.aborted) stop();
    try {
      return await attempt(limit.signal);
    } catch (error) {
      throw limit.signal.aborted ? limit.signal.reason : error;
    } finally {
      clearTimeout(timer);
      this.#abort.signal.removeEventListener('abort', stop);
    }
  }

  #closed(transport, error) {
    if (this.#transport !== transport) return;
    const stood = this.#stands;
    this.#transport = undefined;
    this.#stands = false;
    this.#events.lost(error, stood);
    if (stood && !this.#over) this.#reopen();
  }

  async #reopen() {
    while (!this.#over) {
      await this.#wait(this.#pauses.next());
      if (this.#over) return;
      try {
        await this.#try();
        return;
      } catch (error) {
        if (isRefusal(error)) this.#refuse(error);
      }
    }
  }

  #wait(ms) {
    if (ms === 0) return undefined;
    return new Promise((wake) => { this.#pause = { wake, timer: setTimeout(wake, ms) }; });
  }

  #refuse(error) {
    if (this.#over) return;
    this.#over = true;
    this.#events.refused(error);
  }

  // No connection is opened any more; the caller ends the one that stands.
  stop() {
    this.#over = true;
    this.#abort.abort(new Error('the client is closed'));
    clearTimeout(this.#pause?.timer);
    this.#pause?.wake();
  }
}
