// An agent in Node: it registers, answers tests/reverse, and reports progress. PATCHBAY_HUB names another hub than
// tcp://127.0.0.1:7411. A program outside this folder imports '@patchbay/client' (npm install tools/clients/node).
import { connect } from '../clients/node/index.js';

const hub = await connect();

hub.method('tests/reverse', async ({ text }, request) => {
  await request.progress({ kind: 'begin', title: 'reversing' });
  return { text: [...text].reverse().join('') };
});

console.log(JSON.stringify(await hub.register('reverser', { capabilities: { methods: ['tests/reverse'] } })));
process.once('SIGINT', () => hub.close());
