// A target of `patchbay bench --program`, written by hand: what its author would write without a library. With --batch
// the answers to what came in one read go out in one write.
//
// usage: node_loop.mjs [--batch] AGENT-ID FILL
import net from 'node:net';

const isBatching = process.argv.includes('--batch');
const [agentId, fill] = process.argv.slice(2).filter((word) => word !== '--batch');
const filler = 'y'.repeat(Number(fill));
const [, host, port, path] = /^(?:tcp:\/\/(.+):(\d+)|unix:\/\/(\/.+))$/.exec(process.env.PATCHBAY_HUB);
const socket = net.connect(path ? { path } : { host, port: Number(port) });
if (!path) socket.setNoDelay(true);

function frame(message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function answer({ id, method, params }) {
  if (method === 'agent/request' && params.task === 'bench') return frame({ id, result: params.context.nonce + filler });
  return frame({ id, error: { code: -32601, message: 'method not found' } });
}

function handle(message) {
  if (message.method !== undefined) return answer(message);
  if (message.error) throw new Error(message.error.message);
  console.log('ready');
  return '';
}

let bytes = Buffer.alloc(0);
socket.on('data', (chunk) => {
  let answers = '';
  bytes = bytes.length > 0 ? Buffer.concat([bytes, chunk]) : chunk;
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) break;
    const length = Number(/^Content-Length: (\d+)/im.exec(bytes.toString('latin1', 0, end))[1]), whole = end + 4 + length;
    if (bytes.length < whole) break;
    answers += handle(JSON.parse(bytes.toString('utf8', end + 4, whole)));
    bytes = bytes.subarray(whole);
    if (isBatching) continue;
    if (answers) socket.write(answers);
    answers = '';
  }
  if (answers) socket.write(answers);
});
socket.write(frame({ id: 1, method: 'agent/register', params: { agentId, capabilities: {}, governanceLevel: 'autonomous' } }));
