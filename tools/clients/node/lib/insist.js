// Asks the hub again for what may be had later.
import { HubError, code } from './errors.js';
import { Pauses } from './pauses.js';

export const isOverload = (error) => error instanceof HubError && error.code === code.overloaded; // which passes

// Calls `ask` until it resolves, with pauses between while `isTransient(error)`; any other error is for `failed(error)`.
// The signal ends the attempts. Resolves behind the first answer, whatever that says.
export async function insist(ask, signal, isTransient, failed) {
  const pauses = new Pauses();
  const attempt = async () => {
    try {
      await ask();
    } catch (error) {
      if (signal.aborted) return;
      if (isTransient(error)) again();
      else failed(error);
    }
  };
  const again = () => {
    const stop = () => clearTimeout(timer);
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      attempt();
    }, pauses.next());
    signal.addEventListener('abort', stop);
  };
  await attempt();
}
