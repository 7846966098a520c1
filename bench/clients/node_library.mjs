// An agent with @patchbay/client that answers tests/echo with what it is asked.
//
// usage: node node_library.mjs URI AGENT-ID
import { connect } from '../../tools/clients/node/index.js';

const [uri, agentId] = process.argv.slice(2);
const hub = await connect(uri);
hub.method('tests/echo', async ({ text }) => ({ text }));
await hub.register(agentId);
process.stdout.write('ready\n');
