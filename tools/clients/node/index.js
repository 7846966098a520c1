// The client of a patchbay hub: connects, registers agents, makes calls, and iterates over events.
import { Hub } from './lib/hub.js';
import { Session } from './lib/session.js';

export { ConnectionLost, HubError } from './lib/errors.js';

// Connects to the hub at `uri`, and opens its session. PATCHBAY_HUB, PATCHBAY_TOKEN and PATCHBAY_TLS_CA are the defaults.
// Rejects with a TypeError for what this client can't speak, with the system's error for a hub that can't be reached,
// and with a HubError for a session that the hub refuses.
export async function connect(uri = undefined, options = {}) {
  const session = new Session(uri, options);
  await session.open();
  return new Hub(session);
}
