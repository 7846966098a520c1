// An agent of the Agent Client Protocol, on standard input and output. The file that JOURNAL names gets a line of JSON
// for what it does.
import { appendFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const { initialize, session } = acp.methods.agent, { update, requestPermission } = acp.methods.client.session;
const cancels = new Map(); // by session
let sessions = 0;

const note = (what) => appendFileSync(process.env.JOURNAL, `${JSON.stringify({ pid: process.pid, what })}\n`);
const say = (client, sessionId, text) => client.notify(update, { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } });

async function askPermission(client, sessionId) {
  const { outcome } = await client.request(requestPermission, {
    sessionId,
    toolCall: { toolCallId: 'call-1', title: 'Write main.ts', kind: 'edit', status: 'pending' },
    options: [{ optionId: 'yes', name: 'Allow', kind: 'allow_once' }, { optionId: 'no', name: 'Reject', kind: 'reject_once' }],
  });
  return outcome.outcome === 'selected' ? outcome.optionId : outcome.outcome;
}

// Until the client gives the request up, or cancels the session's turn.
async function waitForCancel(sessionId, signal) {
  const how = await new Promise((resolve) => {
    cancels.set(sessionId, () => resolve('session/cancel'));
    signal.addEventListener('abort', () => resolve('$/cancel_request'));
    note('waits');
  });
  note(how);
  if (how === '$/cancel_request') throw acp.RequestError.requestCancelled();
  return { stopReason: 'cancelled' };
}

async function prompt({ params: { sessionId, prompt: [{ text }] }, client, signal }) {
  if (text === 'wait') return waitForCancel(sessionId, signal);
  for (let n = 0; n < 3; n++) await say(client, sessionId, `${text} ${n}, `);
  if (text === 'permission') await say(client, sessionId, await askPermission(client, sessionId));
  return { stopReason: 'end_turn' };
}

note('starts');
const connection = acp.agent({ name: 'patchbay-test' })
  .onRequest(initialize, ({ params }) => ({ protocolVersion: params.protocolVersion, agentCapabilities: { loadSession: false }, authMethods: [] }))
  .onRequest(session.new, () => ({ sessionId: `${process.pid}-${++sessions}` }))
  .onRequest(session.prompt, prompt)
  .onNotification(session.cancel, ({ params }) => cancels.get(params.sessionId)?.())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
note('ends');
