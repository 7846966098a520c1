// Prints each event of the hub as a line of JSON, and which agents come and go, until it is interrupted.
import { connect } from '../clients/node/index.js';

const hub = await connect();
const events = hub.events('*');
process.once('SIGINT', () => hub.close());

for await (const { name, data, missed } of events) {
  if (missed > 0) console.error(`${missed} events were missed`);
  console.log(JSON.stringify({ name, data }));
}
