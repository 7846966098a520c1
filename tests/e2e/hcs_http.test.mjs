// HCS as browsers speak it: a stream of server-sent events for each client, and what it has to say by requests of its own.
import assert from 'node:assert/strict';
import { within } from './peer.mjs';
import { alone, Client, JSON_TYPE, request, web } from './web.mjs';

const TEXT = 'x'.repeat(500);
const chunk = (session_id, seq, text = TEXT, lod = 'macro') => ({ type: 'chunk', session_id, seq, lod, text });
const complete = (session_id) => ({ type: 'complete', session_id, summary: {} });
const typed = (type) => (one) => one.json.type === type;
const EVERYWHERE = { shards: [1, 2] };

// A stream of events: each a record of its fields, several data lines joined as EventSource joins them.
class Events {
  static async open(hub, query, ...fields) {
    const events = new Events();
    events.client = await Client.open(hub);
    events.client.write(request(`GET /hcs?${query}`, fields));
    const { status, fields: head } = await events.client.response({ what: 'the head of a stream' });
    assert.equal(status, 200);
    assert.equal(head['content-type'], 'text/event-stream');
    return events;
  }

  next(what = 'an event') {
    return this.client.take((bytes) => {
      const blank = bytes.indexOf('\n\n');
      if (blank < 0) return null;
      const event = { data: undefined };
      for (const line of bytes.subarray(0, blank).toString().split('\n')) {
        const [, name, value] = /^([a-z]*): ?(.*)$/.exec(line);
        if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`;
        else event[name] = value;
      }
      return { whole: blank + 2, value: event };
    }, what);
  }

  async hears(event, id, frame) {
    const got = await this.next(`${event} ${id}`);
    assert.equal(got.event, event, JSON.stringify(got));
    assert.equal(got.id, id);
    if (frame) assert.deepEqual(JSON.parse(got.data), frame);
    return got;
  }
}

const post = (frame) => request('POST /hcs', [JSON_TYPE], frame);

web('a stream begins with its place, and bears frames, their types and places, to its end', EVERYWHERE, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const events = await Events.open(hub, 'request_id=r&session_id=s&user_id=u%20%26');
  await events.hears(undefined, 's:-');
  const { json: start } = await producer.find(typed('start'), 'a start');
  assert.deepEqual(start, { type: 'start', request_id: 'r', session_id: 's', user_id: 'u &' });
  const init = { type: 'init', request_id: 'r', session_id: 's', protocol: { version: '0.2' } };
  producer.send(init);
  await events.hears('init', 's:-', init);
  for (let seq = 0; seq < 3; seq++) {
    producer.send(chunk('s', 5 * seq));
    await events.hears('chunk', `s:${5 * seq}`, chunk('s', 5 * seq));
  }
  producer.send(complete('s'));
  await events.hears('complete', 's:end', complete('s'));
  await events.client.gone();
});

web('a body with line breaks is data of several lines', EVERYWHERE, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const events = await Events.open(hub, 'request_id=r&session_id=s');
  await events.hears(undefined, 's:-');
  producer.send('{"type":"chunk",\r\n"session_id":"s",\r"seq":1,\n"text":"a"}');
  const { data } = await events.hears('chunk', 's:1');
  assert.equal(data, '{"type":"chunk",\n"session_id":"s",\n"seq":1,\n"text":"a"}');
});

web('Last-Event-ID alone decides where a stream goes on', EVERYWHERE, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const events = await Events.open(hub, 'request_id=r&session_id=s');
  await events.hears(undefined, 's:-');
  for (let seq = 0; seq < 5; seq++) producer.send(chunk('s', seq));
  for (let seq = 0; seq < 5; seq++) await events.hears('chunk', `s:${seq}`);
  events.client.drop();
  const again = await Events.open(hub, 'request_id=r&session_id=other&after_seq=0', 'Last-Event-ID: s:2');
  await again.hears(undefined, 's:2');
  await again.hears('chunk', 's:3');
  await again.hears('chunk', 's:4');
  producer.send(complete('s'));
  await again.hears('complete', 's:end');
  await again.client.gone();
  const status = async (place) => (await alone(hub, request('GET /hcs?request_id=r', [`Last-Event-ID: ${place}`]))).status;
  assert.equal(await status('s:end'), 204);
  assert.equal(await status('nobody:4'), 404);
  for (const bad of ['s', 's:', ':4', 's:x', 's:-1', 's 1:4']) assert.equal(await status(bad), 400, bad);
});

web('frames that are posted speak for the streams of their session and request', EVERYWHERE, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const events = await Events.open(hub, 'request_id=r&session_id=s');
  await events.hears(undefined, 's:-');
  producer.send(chunk('s', 0));
  await events.hears('chunk', 's:0');
  const ack = { type: 'ack', request_id: 'r', session_id: 's', seq: 0, status: 'applied' };
  assert.equal((await alone(hub, post(ack))).status, 202);
  assert.deepEqual((await producer.find(typed('ack'), 'the ack')).json, ack);
  assert.equal((await alone(hub, post({ type: 'control', request_id: 'r', session_id: 's', action: 'pause' }))).status, 202);
  await producer.find((one) => one.json.action === 'pause', 'the pause');
  for (const refused of [
    { ...ack, request_id: 'another' }, { ...ack, session_id: 'another' }, { ...ack, seq: 7 }, { type: 'start', request_id: 'r' },
    chunk('s', 1), { jsonrpc: '2.0', id: 1, method: 'hub/ping' }, [ack], 'no json',
  ]) {
    const answer = await alone(hub, post(refused));
    assert.equal(answer.status, 400, JSON.stringify(refused));
    assert.equal(answer.json.type, 'error');
    assert.equal(answer.json.code, 'INVALID_REQUEST');
  }
  assert.equal((await alone(hub, request('POST /hcs', ['Content-Type: text/plain'], ack))).status, 415);
});

web('who paused before the end may go on behind it', EVERYWHERE, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const events = await Events.open(hub, 'request_id=r&session_id=s');
  await events.hears(undefined, 's:-');
  await producer.find(typed('start'), 'the start');
  const says = async (frame) => (await alone(hub, post({ request_id: 'r', session_id: 's', ...frame }))).status;
  producer.send(chunk('s', 0));
  await events.hears('chunk', 's:0');
  assert.equal(await says({ type: 'control', action: 'pause' }), 202);
  producer.send(chunk('s', 1));
  producer.send(complete('s'));
  await producer.ask('hub/ping');
  assert.equal(await says({ type: 'ack', seq: 0 }), 202);
  assert.equal(await says({ type: 'control', action: 'tighten' }), 202);
  assert.equal(await says({ type: 'chunk', seq: 2 }), 400);
  assert.equal(await says({ type: 'ack', seq: 0, request_id: 'another' }), 400);
  assert.equal(await says({ type: 'control', action: 'resume' }), 202);
  await events.hears('chunk', 's:1', chunk('s', 1));
  await events.hears('complete', 's:end', complete('s'));
  await events.client.gone();
  assert.equal(await says({ type: 'control', action: 'resume' }), 400);
  await producer.find((one) => one.json.action === 'pause', 'the pause');
  await producer.silent('what is said behind the end');
});

// Chunks held for them come, too: the end of the hub is no time to wait.
web('a hub that ends waits for no pause', { ...EVERYWHERE, options: ['--drain-timeout', '300ms'] }, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const socket = await hub.peer('websocket'), framed = await hub.peer(), streams = {};
  for (const [id, ends] of [['live', false], ['ended', true]]) {
    const events = await Events.open(hub, `request_id=r&session_id=${id}-e`);
    await events.hears(undefined, `${id}-e:-`);
    for (const [peer, name] of [[socket, 'w'], [framed, 'f']])
      peer.send({ type: 'start', request_id: 'r', session_id: `${id}-${name}` });
    for (const name of ['e', 'w', 'f'])
      await producer.find((one) => one.json.type === 'start' && one.json.session_id === `${id}-${name}`, 'a start');
    const pause = (name) => ({ type: 'control', request_id: 'r', session_id: `${id}-${name}`, action: 'pause' });
    assert.equal((await alone(hub, post(pause('e')))).status, 202);
    socket.send(pause('w'));
    framed.send(pause('f'));
    for (const name of ['e', 'w', 'f']) {
      await producer.find((one) => one.json.action === 'pause' && one.json.session_id === `${id}-${name}`, 'a pause');
      producer.send(chunk(`${id}-${name}`, 0));
      if (ends) producer.send(complete(`${id}-${name}`));
    }
    streams[id] = events;
  }
  await producer.ask('hub/ping');
  hub.process.kill('SIGTERM');
  await streams.ended.hears('chunk', 'ended-e:0');
  await streams.ended.hears('complete', 'ended-e:end');
  await streams.live.hears('chunk', 'live-e:0');
  assert.equal(JSON.parse((await streams.live.hears('error', 'live-e:end')).data).code, 'INTERNAL');
  for (const [peer, name] of [[socket, 'w'], [framed, 'f']]) {
    const of = (id, type) => (one) => one.json.session_id === `${id}-${name}` && one.json.type === type;
    assert.equal((await peer.find(of('ended', 'chunk'), 'what was held')).json.seq, 0);
    await peer.find(of('ended', 'complete'), 'the end');
    assert.equal((await peer.find(of('live', 'chunk'), 'what was held')).json.seq, 0);
    assert.equal((await peer.find(of('live', 'error'), 'the error')).json.code, 'INTERNAL');
  }
  for (const peer of [producer, socket, framed]) peer.end.then(() => peer.drop());
  await hub.ended();
});

web('what can\'t be opened is told by a status and the frame', EVERYWHERE, async (hub) => {
  for (const query of ['', 'user_id=u', 'request_id', 'request_id=', 'request_id=r&request_id=q', 'request_id=r&x=1&x=2', 'request_id=r&session_id=a%20b', 'request_id=%ff',
    'request_id=r&session_id=s&after_seq=x', 'request_id=r&session_id=s&after_seq=9007199254740992']) {
    const answer = await alone(hub, request(`GET /hcs?${query}`));
    assert.equal(answer.status, 400, query);
    assert.equal(answer.json.code, 'INVALID_REQUEST');
  }
  const { json: refused } = await alone(hub, post({ type: 'start', request_id: 'z' }));
  assert.deepEqual([refused.code, refused.request_id, refused.refused], ['INVALID_REQUEST', 'z', 'start']);
  assert.equal((await alone(hub, request('HEAD /hcs?request_id=r'), { headOnly: true })).status, 405);
  const nobody = await Events.open(hub, 'request_id=r&target=nobody');
  const error = await nobody.hears('error', undefined);
  assert.deepEqual([JSON.parse(error.data).code, JSON.parse(error.data).retriable], ['INVALID_REQUEST', true]);
  await nobody.client.gone();
});

web('clients over HTTP, WebSocket and frames get the same bytes', EVERYWHERE, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const events = await Events.open(hub, 'request_id=r&session_id=s');
  await events.hears(undefined, 's:-');
  const socket = await hub.peer('websocket'), framed = await hub.peer();
  for (const peer of [socket, framed]) peer.send({ type: 'start', request_id: 'q', session_id: 's' });
  const init = JSON.stringify({ type: 'init', session_id: 's', protocol: {} });
  producer.send(init);
  for (const peer of [socket, framed]) assert.equal((await peer.next('init')).body.toString(), init);
  assert.equal((await events.hears('init', 's:-')).data, init);
});

web('a client that goes away is no client any more', EVERYWHERE, async (hub) => {
  const producer = await hub.agent('p', { hcs: true });
  const events = await Events.open(hub, 'request_id=r&session_id=s');
  await events.hears(undefined, 's:-');
  events.client.drop();
  const told = await producer.find(typed('control'), 'pause, since nobody is there');
  assert.deepEqual([told.json.action, told.json.reason], ['pause', 'user_busy']);
  await within(Events.open(hub, 'request_id=r&session_id=s'), 'a stream');
  assert.equal((await producer.find(typed('control'), 'resume')).json.action, 'resume');
});
