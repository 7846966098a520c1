// Parts that the hub may not change: ids come back byte for byte, and bodies arrive byte for byte but for the id.
// Header fields are carried with their values and in their order, Content-Length first and canonical.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError, frame, requestText } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };

const IDS = [
  '0', '-0', '-1', '1', '1.0', '1e3', '1E+3', '0.1e-7', '12345678901234567890', '9007199254740993', '-1.5e308',
  '1'.repeat(256), '""', '"a"', '"1"', '"null"', '"\\u0041\\/\\n"', '"say \\"hi\\" \\\\"', '"\\ud83d\\ude00"', '"😀 ñ"',
  '"{\\"id\\":1}"', '" "', `"${'x'.repeat(254)}"`, `"${'\\n'.repeat(127)}"`,
];

scenario('every spelling of an id comes back as it was sent', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const ask = (id, n) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":{"n":${n},"targetAgent":"target"}}`;
  IDS.forEach((id, n) => source.send(ask(id, n)));
  for (let n = 0; n < IDS.length; n++) {
    const seen = await target.next(`the request with id ${IDS[n]}`);
    const hubId = String(seen.json.id);
    assert.equal(seen.text, ask(hubId, n));
    target.send(`{"id" : ${hubId}\t,"result":{"n":${n}},"jsonrpc":"2.0"}`);
    const answer = await source.next(`the answer to id ${IDS[n]}`);
    assert.equal(answer.text, `{"id" : ${IDS[n]}\t,"result":{"n":${n}},"jsonrpc":"2.0"}`);
  }
});

scenario("errors of the hub's own carry every spelling too", {}, async (hub) => {
  const source = await hub.peer();
  for (const id of IDS) {
    source.send(`{"jsonrpc":"2.0","id":${id},"method":"no/such"}`);
    const answer = await source.next();
    assertError(answer.json, -32601);
    const spelled = answer.text.replace(/\s/g, '');
    assert.ok(spelled.includes(`"id":${id.replace(/\s/g, '')}`), `${id} came back in ${answer.text}`);
  }
});

scenario('an id over the limit, or of another type, is -32600 with id null', {}, async (hub) => {
  const source = await hub.peer();
  const bad = ['1'.repeat(257), `"${'x'.repeat(257)}"`, 'null', 'true', 'false', '{}', '[]', '[1]', '{"a":1}'];
  for (const id of bad) {
    source.send(`{"jsonrpc":"2.0","method":"hub/ping","id":${id}}`);
    const answer = (await source.next()).json;
    assertError(answer, -32600, id);
    assert.equal(answer.id, null);
  }
  assert.equal((await source.ask('hub/ping', 1)).result, 1);
});

scenario('two pending requests with one id are both answered', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  for (const n of [1, 2]) source.send(requestText('same', 'm', { targetAgent: 'target', n }));
  const first = (await target.next()).json;
  const second = (await target.next()).json;
  assert.notEqual(first.id, second.id);
  target.reply(second.id, 2);
  target.reply(first.id, 1);
  const results = [(await source.next()).json, (await source.next()).json];
  assert.deepEqual(results.map((one) => one.id), ['same', 'same']);
  assert.deepEqual(results.map((one) => one.result).sort(), [1, 2]);
});

// @ stands for the id.
const REQUESTS = [
  '{"id":@,"jsonrpc":"2.0","method":"m","params":{"targetAgent":"target"}}',
  '{"jsonrpc":"2.0","method":"m","id":@,"params":{"targetAgent":"target"}}',
  '{"jsonrpc":"2.0","method":"m","params":{"targetAgent":"target"},"id":@}',
  '\r\n\t {\n"params" :\t{ "targetAgent"\r:\n"target" } , "id"  : \n@\r\n,"method":"m","jsonrpc" : "2.0" }\n \t',
  '{"params":{"context":{"id":1,"params":{"id":[{"id":"@@"}]},"targetAgent":"other"},"targetAgent":"target"},"id":@,"method":"m"}',
  '{"method":"m","params":{"text":"\\"id\\":1,\\"targetAgent\\":\\"x\\"}]","targetAgent":"target"},"x":"}{][","id":@}',
  '{"method":"m","params":{"n":[1.0,1e400,-0,12345678901234567890],"s":"\\u0000\\ud800\\/ß😀","targetAgent":"target"},"id":@}',
  '{"method":"m","extra":null,"":{"":[]},"params":{"id":"mine","targetAgent":"target","a":[[[[[[[[{}]]]]]]]]},"id":@}',
  '{"method":"m","params":{"same":1,"same":2,"deep":{"id":1,"id":2},"targetAgent":"target"},"more":1,"more":2,"id":@}',
];
const RESPONSES = [
  '{"id":@,"result":null}',
  '{"jsonrpc":"2.0","result":{"id":7,"result":[{"error":1}]},"id":@}',
  ' {"result" : "\\u00e9\\n é",\n"id"\t:@ , "jsonrpc":"2.0" } \r\n',
  '{"jsonrpc":"2.0","error":{"code":-1.0e2,"message":"no \\"way\\"","data":[1.10,{}]},"id":@}',
  '{"error":{"code":-32050,"message":"my own"},"id":@,"jsonrpc":"2.0","x-extra":[]}',
];

scenario('bodies arrive byte for byte but for the id, both ways', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  let n = 0;
  for (const request of REQUESTS) {
    for (const response of RESPONSES) {
      const own = `"own-${++n}"`;
      const put = (text, id) => text.replace(/(?<!")@(?!")/, id);
      source.send(put(request, own));
      const seen = await target.next(request);
      const hubId = String(seen.json.id);
      assert.equal(seen.text, put(request, hubId));
      target.send(put(response, hubId));
      assert.equal((await source.next(response)).text, put(response, own));
    }
  }
});

// Name, colon and value as sent; what a receiver must see of it.
const FIELDS = [
  'Content-Type: application/vscode-jsonrpc; charset=utf-8',
  'HugAI-Version: 2.0.0',
  'governance-level:autonomous',
  'Request-Id: "abc", 1; q=0.5',
  'Custom-Timeout-Ms: 60000',
  'X-First:one',
  'Transfer-Encoding: chunked',
  "!#$%&'*+-.^_`|~09aZ: odd name",
  'Custom-Empty:',
  'X-Padded: \t  in the middle  two  \t ',
  'X-First: two',
  'X-Colons: a:b::c',
  'X-Bytes: \u00e9\u00ff\u0080',
];

function otherFields(one) {
  assert.equal(one.fields[0][0], 'Content-Length');
  assert.equal(one.fields[0][1], String(one.body.length));
  return one.fields.slice(1).map(([name, value]) => [name.toLowerCase(), value]);
}

const expected = FIELDS.map((line) => {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')];
});

scenario('header fields are carried in order, values byte for byte', EVERYWHERE, async (hub) => {
  const target = await hub.agent('target');
  const source = await hub.peer();
  const body = '{"id":1,"method":"m","params":{"targetAgent":"target"}}';
  const lengths = [`Content-Length: ${body.length}`, `content-length:${body.length}`,
    `CONTENT-LENGTH: \t 00${body.length} `];
  for (const length of lengths) {
    for (const at of [0, 4, FIELDS.length]) {
      const lines = [...FIELDS.slice(0, at), length, ...FIELDS.slice(at)];
      source.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1'));
      const seen = await target.next(`the request with ${length} at ${at}`);
      assert.deepEqual(otherFields(seen), expected);
      target.send(`{"id":${seen.json.id},"result":1}`, 'X-Answer: yes', 'Request-Id: abc');
      const answer = await source.next();
      assert.equal(answer.text, '{"id":1,"result":1}');
      assert.deepEqual(otherFields(answer), [['x-answer', 'yes'], ['request-id', 'abc']]);
    }
  }
});

// The place where a frame may be cut, and the part of it that then moves, depend on the sizes of both parts. Each size
// is near the bounds of both, with a whole frame before and behind it in the same arrivals.
scenario('frames that two arrivals share, cut anywhere', { shards: [1, 2] }, async (hub) => {
  (await hub.agent('echo')).serve((message) => message.params.filler);
  const source = await hub.peer(), witness = await hub.peer();
  let id = 0;
  const request = (bytes) => {
    const filler = 'abcdefghij'.repeat(bytes / 10);
    return { id, filler, bytes: frame(requestText(id++, 'm', { targetAgent: 'echo', filler })) };
  };
  for (const bytes of [300, 4000, 9000, 16_400, 30_000, 45_000]) {
    const cuts = [1, 20, 30, 4095, 4096, 4097, bytes >> 1, bytes - 12_288, bytes - 4097, bytes - 4096, bytes - 30, bytes];
    for (const cut of cuts.filter((one) => one > 0 && one <= bytes)) {
      for (const before of [0, 500, 5000]) {
        const [first, middle, last] = [request(before + 200), request(bytes), request(250)];
        const at = (before ? first.bytes.length : 0) + cut;
        const all = Buffer.concat([...(before ? [first.bytes] : []), middle.bytes, last.bytes]);
        await source.write(all.subarray(0, at));
        await witness.ask('hub/ping'); // the first part has been looked at
        await source.write(all.subarray(at));
        for (const one of before ? [first, middle, last] : [middle, last]) {
          const answer = (await source.find((message) => message.json.id === one.id, `the answer to ${one.id}`)).json;
          assert.equal(answer.result, one.filler, `${bytes} bytes cut at ${cut} behind ${before}`);
        }
      }
    }
  }
});
