// The AbortSignals that calls listen to. A signal has one listener for all of its calls, however many share the signal:
// engines warn of more than ten.

export class Signals {
  #groups = new Map(); // {calls, listener} by signal

  // When the signal is aborted, `call.giveUp(reason)` is called.
  add(signal, call) {
    const known = this.#groups.get(signal);
    if (known) {
      known.calls.add(call);
      return;
    }
    const calls = new Set([call]);
    const listener = () => { for (const one of [...calls]) one.giveUp(signal.reason); };
    this.#groups.set(signal, { calls, listener });
    signal.addEventListener('abort', listener);
  }

  // The call has ended. The last one takes the listener with it.
  remove(signal, call) {
    const group = this.#groups.get(signal);
    if (!group?.calls.delete(call) || group.calls.size > 0) return;
    this.#groups.delete(signal);
    signal.removeEventListener('abort', group.listener);
  }
}
