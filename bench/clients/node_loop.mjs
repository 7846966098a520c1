// The same agent as node_library.mjs, with a loop written by hand: what its author would write without a library.
//
// usage: node node_loop.mjs URI AGENT-ID
import net from 'node:net';

const [uri, agentId] = process.argv.slice(2);
const { hostname, port } = new URL(uri);
const socket = net.connect(Number(port), hostname);
socket.setNoDelay(true);

function write(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  socket.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

async function answer({ method, params: { text } }) {
  if (method !== 'tests/echo') throw new Error(`no method ${method}`);
  return { text };
}

async function handle(message) {
  if (message.method === undefined) {
    process.stdout.write('ready\n');
    return;
  }
  try {
    write({ id: message.id, result: await answer(message) });
  } catch (error) {
    write({ id: message.id, error: { code: -32603, message: error.message } });
  }
}

let bytes = Buffer.alloc(0);
socket.on('data', (chunk) => {
  bytes = bytes.length > 0 ? Buffer.concat([bytes, chunk]) : chunk;
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(/^Content-Length: (\d+)/im.exec(bytes.toString('latin1', 0, end))[1]), whole = end + 4 + length;
    if (bytes.length < whole) return;
    const message = JSON.parse(bytes.toString('utf8', end + 4, whole));
    bytes = bytes.subarray(whole);
    handle(message);
  }
});
write({ id: 1, method: 'agent/register', params: { agentId, capabilities: {}, governanceLevel: 'autonomous' } });
