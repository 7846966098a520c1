// A target of `patchbay bench --program`, written with the client.
//
// usage: node_library.mjs AGENT-ID FILL
import { connect } from '../../tools/clients/node/index.js';

const [agentId, fill] = process.argv.slice(2);
const filler = 'y'.repeat(Number(fill));
const hub = await connect();
hub.task('bench', async ({ context }) => context.nonce + filler);
await hub.register(agentId);
console.log('ready');
