// An agent in Node with vscode-jsonrpc: it registers, answers tests/reverse, and reports progress.
//
// usage: node agent.mjs [HOST:PORT]
import net from 'node:net';
import rpc from 'vscode-jsonrpc/node';

const [host, port] = (process.argv[2] ?? '127.0.0.1:7411').split(':');
const socket = net.connect(Number(port), host);
const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(socket), new rpc.StreamMessageWriter(socket));

connection.onRequest('tests/reverse', ({ text, workDoneToken }) => {
  if (workDoneToken !== undefined) connection.sendNotification('$/progress', { token: workDoneToken, value: { kind: 'begin', title: 'reversing' } });
  return { text: [...text].reverse().join('') };
});
connection.onClose(() => process.exit(0));
connection.listen();
console.log(JSON.stringify(await connection.sendRequest('agent/register', {
  agentId: 'reverser',
  capabilities: { methods: ['tests/reverse'] },
})));
