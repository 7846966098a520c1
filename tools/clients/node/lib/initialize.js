// Opens a session at the hub: `initialize`, with the token if there is one.
import { processId } from './environment.js';
import { HubError } from './errors.js';

const AGENT_ID = 'patchbay-client'; // of the session; it registers nothing

// Returns an error in which the token does not stand: the hub's own error, or another one in its place.
export function redacted(error, token) {
  if (!(error instanceof HubError) || !token) return error;
  const written = JSON.stringify(token).slice(1, -1); // as JSON writes its quotes and backslashes
  const says = (value) => (JSON.stringify(value) ?? '').includes(written);
  if (!says(error.message) && !says(error.data)) return error;
  return new HubError(error.code, 'the hub refused the session');
}

// Resolves with the hub's answer to `initialize`, or rejects with its error. `ask(method, params)` makes a call.
export async function initialize(ask, { token, governanceLevel }) {
  try {
    return await ask('initialize', { processId, agentId: AGENT_ID, capabilities: {}, governanceLevel, token });
  } catch (error) {
    throw redacted(error, token);
  }
}
