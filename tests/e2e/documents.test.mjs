// The example messages of the three protocol documents, as typed there: HugAI v2 headers, HugAI v2 messages, and the
// Hermes extension API.
import assert from 'node:assert/strict';
import { scenario } from './hub.mjs';
import { assertError } from './peer.mjs';

const EVERYWHERE = { shards: [1, 2] };
const REGISTER_2 = `{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "agent/register",
  "params": {
    "agentId": "architecture-agent",
    "capabilities": {
      "tasks": ["design", "review"],
      "governanceLevel": "supervised"
    }
  }
}`;

scenario('HugAI headers, section 3: registration under all header fields', EVERYWHERE, async (hub) => {
  const fields = ['Content-Type: application/vscode-jsonrpc; charset=utf-8', 'HugAI-Version: 2.0.0',
    'Governance-Level: supervised'];
  const agent = await hub.peer();
  agent.send(REGISTER_2, ...fields);
  const answer = (await agent.next()).json;
  assert.deepEqual(answer, { jsonrpc: '2.0', id: 1, result: { agentId: 'architecture-agent', registered: true } });
  const source = await hub.peer();
  const { agents } = (await source.ask('hub/agents', { capability: 'review' })).result;
  assert.deepEqual(agents.map((one) => [one.agentId, one.governanceLevel]), [['architecture-agent', 'supervised']]);
  agent.serve(() => 'designed');
  const ask = (level) => source.ask('m', { targetAgent: 'architecture-agent' }, `Governance-Level: ${level}`);
  assert.equal((await ask('supervised')).result, 'designed');
  assertError(await ask('manual'), -32011);
});

const INITIALIZE = `{
"jsonrpc": "2.0",
"method": "initialize",
"params": {
"processId": 12345,
"agentId": "demo-agent-1",
"capabilities": { "code-generation": true, "testing": true },
"governanceLevel": "supervised",
"clientInfo": { "name": "HugAI Client", "version": "1.0.0" },
"workspaceFolders": ["/project/demo"]
},
"id": 1
}`;
const REGISTER = `{
"jsonrpc": "2.0",
"method": "agent/register",
"params": {
"agentId": "advanced-agent-1",
"capabilities": { "code-generation": true, "testing": true, "refactoring": true },
"governanceLevel": "supervised",
"version": "1.2.0",
"author": "HugAI Team",
"description": "Advanced agent for code generation and refactoring",
"dependencies": ["test-agent", "review-agent"]
},
"id": 2
}`;
const REQUEST = `{
"jsonrpc": "2.0",
"method": "agent/request",
"params": {
"sourceAgent": "demo-agent-1",
"targetAgent": "test-agent-2",
"task": "generate-tests",
"context": { "file": "main.ts" },
"priority": "high"
},
"id": 3
}`;

scenario('HugAI messages 3.1 to 3.4: initialize, register, request, response', EVERYWHERE, async (hub) => {
  const demo = await hub.peer();
  demo.send(INITIALIZE);
  const opened = (await demo.next()).json;
  assert.equal(opened.id, 1);
  assert.equal(opened.result.agentId, 'demo-agent-1');
  await demo.register('demo-agent-1');
  demo.send(REGISTER);
  assert.deepEqual((await demo.next()).json.result, { agentId: 'advanced-agent-1', registered: true });
  const test = await hub.agent('test-agent-2');
  demo.send(REQUEST);
  const seen = await test.next();
  assert.equal(seen.text, REQUEST.replace('"id": 3', `"id": ${seen.json.id}`));
  test.send(`{ "jsonrpc": "2.0", "id": ${seen.json.id}, "result": { "tests": ["main.test.ts"] } }`);
  assert.equal((await demo.next()).text, '{ "jsonrpc": "2.0", "id": 3, "result": { "tests": ["main.test.ts"] } }');
});

const EVENT = `{
"jsonrpc": "2.0",
"method": "event",
"params": {
"event": "task-progress",
"data": { "task": "generate-tests", "progress": 50 }
}
}`;
const APPROVAL = `{
"jsonrpc": "2.0",
"method": "governance/approval",
"params": {
"checkpoint": "code-review",
"artifact": { "file": "main.ts", "diff": "..." },
"approver": "user-123",
"decision": "approved",
"feedback": "Meets the standards."
},
"id": 4
}`;
const TOOL = `{
"jsonrpc": "2.0",
"method": "tool/integration",
"params": {
"tool": "ci-pipeline",
"action": "run-tests",
"data": { "branch": "feature-x" },
"callback": "event"
},
"id": 5
}`;
const AUDIT = `{
"jsonrpc": "2.0",
"method": "audit/log",
"params": {
"action": "approval",
"actor": "user-123",
"target": "main.ts",
"details": { "decision": "approved" },
"timestamp": "2024-06-01T12:34:56Z"
}
}`;

scenario('HugAI messages 3.5 to 3.8: event, approval, tool, audit', EVERYWHERE, async (hub) => {
  const source = await hub.peer();
  source.send(EVENT);
  source.send(AUDIT);
  await source.silent('an event that no one wants');
  // The agents qualify both by the rule of their own and by the methods that they offer.
  const approver = await hub.agent('user-123', { methods: ['governance/approval'] });
  const pipeline = await hub.agent('ci', { tools: ['ci-pipeline'], methods: ['tool/integration'] });
  const auditor = await hub.agent('auditor', { methods: ['audit/log'] });
  for (const [target, text, id] of [[approver, APPROVAL, 4], [pipeline, TOOL, 5]]) {
    source.send(text);
    const seen = await target.next();
    assert.equal(seen.text, text.replace(`"id": ${id}`, `"id": ${seen.json.id}`));
    target.reply(seen.json.id, {});
    assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id, result: {} });
  }
  source.send(AUDIT);
  assert.equal((await auditor.next()).text, AUDIT);
});

scenario('Hermes: an extension asks the editor by method, ids are independent both ways', EVERYWHERE, async (hub) => {
  const editor = await hub.agent('editor', { methods: ['editor/getMessage', 'editor/patchMessage', 'editor/setMessage'] });
  const extension = await hub.agent('extension', { methods: ['command/execute'] });
  const execute = '{"jsonrpc":"2.0","method":"command/execute","params":{"command":"format"}}';
  editor.send(execute);
  assert.equal((await extension.next()).text, execute);
  const get = `{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "editor/getMessage",
  "params": {
    "format": "json"
  }
}`;
  extension.send(get);
  const seen = await editor.next();
  assert.equal(seen.text, get.replace('"id": 1', `"id": ${seen.json.id}`));
  editor.send('{"jsonrpc":"2.0","id":1,"method":"command/execute","params":{}}');
  const own = (await extension.next()).json;
  const success = (id) => String.raw`{
  "jsonrpc": "2.0",
  "id": ${id},
  "result": {
    "message": "{\"MSH\":{\"1\":\"|\",\"2\":\"^~\\\\&\"}}"
  }
}`;
  editor.send(success(seen.json.id));
  assert.equal((await extension.next()).text, success(1));
  const failure = (id) => `{
  "jsonrpc": "2.0",
  "id": ${id},
  "error": {
    "code": -32600,
    "message": "Invalid Request",
    "data": "Missing required field: method"
  }
}`;
  extension.send(failure(own.id));
  assert.equal((await editor.next()).text, failure(1));
  extension.send('{\n  "jsonrpc": "2.0",\n  "method": "initialized"\n}');
  await extension.silent('initialized');
});

scenario('Hermes: the framing example, whose length is 6 short', {}, async (hub) => {
  const text = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}';
  const right = await hub.peer();
  right.send(text);
  assert.equal((await right.next()).json.result.serverInfo.name, 'patchbay');
  const wrong = await hub.peer();
  wrong.write(Buffer.from(`Content-Length: 52\r\n\r\n${text}Content-Length: 5\r\n\r\n`));
  for (const what of ['the body that was cut', 'the rest as a header']) {
    const answer = (await wrong.next(what)).json;
    assertError(answer, -32700, what);
    assert.equal(answer.id, null);
  }
  assert.equal(await wrong.gone(), 'end');
});
