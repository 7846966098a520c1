// An MCP server with everything that the official conformance suite asks for, in both eras.
//
// usage: conformance_server.mjs stdio    serves its standard input and output, as a child of the hub
//        conformance_server.mjs http     prints its URL and serves HTTP, without a hub
//
// The suite hard-codes the names of tools, prompts and resources, and what each of them does.
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import {
  acceptedContent, classifyInboundRequest, CLIENT_CAPABILITIES_META_KEY, createMcpHandler, createRequestStateCodec, fromJsonSchema,
  inputRequired, isInitializeRequest, McpServer, ResourceTemplate,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = Buffer.concat([
  Buffer.from('RIFF'), Buffer.from([36, 0, 0, 0]), Buffer.from('WAVEfmt '), Buffer.from([16, 0, 0, 0, 1, 0, 1, 0, 64, 31, 0, 0, 128, 62, 0, 0, 2, 0, 16, 0]),
  Buffer.from('data'), Buffer.from([0, 0, 0, 0]),
]).toString('base64');

// Texts that come back with a request of the modern era are sealed, so that a client can't change them.
const sealed = createRequestStateCodec({ key: randomBytes(32) });
const text = value => ({ content: [{ type: 'text', text: value }] });
const form = (properties, message = 'Please answer', required = Object.keys(properties)) =>
  ({ message, requestedSchema: { type: 'object', properties, required } });
const NAME = { name: { type: 'string' } }, OK = { ok: { type: 'boolean' } };
const askSampling = question => inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: question } }], maxTokens: 64 });

const titled = (word, count, first) => Array.from({ length: count }, (_, n) => ({ const: `${word}${n + 1}`, title: `${first[n]}` }));
const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled('value', 3, ['First Option', 'Second Option', 'Third Option']) },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled('value', 3, ['First Choice', 'Second Choice', 'Third Choice']) } },
};
const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' }, age: { type: 'integer', default: 30 }, score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' }, verified: { type: 'boolean', default: true },
};
const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object',
  $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
  properties: {
    name: { type: 'string' }, address: { $ref: '#/$defs/address' }, contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' }, email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] }, then: { required: ['phone'] }, else: { required: ['email'] },
  additionalProperties: false,
};

// Asks the client by a request in the middle of a call, as servers of one era do. Returns the text of its answer.
async function ask(ctx, request, read) {
  try {
    return text(read(await ctx.mcpReq.send(request)));
  } catch (error) {
    return text(`refused: ${error.message}`);
  }
}
const elicit = (ctx, params) => ask(ctx, { method: 'elicitation/create', params },
  ({ action, content }) => `Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);

// Tools that answer by content alone, and tools that notify.
function registerPlainTools(server) {
  const tool = (name, answer, inputSchema = z.object({})) => server.registerTool(name, { description: `Conformance: ${name}`, inputSchema }, answer);
  const resource = (uri, mimeType, content) => ({ type: 'resource', resource: { uri, mimeType, text: content } });
  const image = { type: 'image', data: PNG, mimeType: 'image/png' };
  tool('test_simple_text', () => text('This is a simple text response for testing.'));
  tool('test_image_content', () => ({ content: [image] }));
  tool('test_audio_content', () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }));
  tool('test_embedded_resource', () => ({ content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')] }));
  tool('test_multiple_content_types', () => ({
    content: [{ type: 'text', text: 'Multiple content types test:' }, image, resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}')],
  }));
  tool('test_error_handling', () => { throw new Error('This tool intentionally returns an error for testing'); });
  tool('json_schema_2020_12_tool', args => text(`called with: ${JSON.stringify(args)}`), fromJsonSchema(SCHEMA_2020_12));
  tool('test_x_mcp_header', ({ region }) => text(`region=${region ?? 'none'}`), fromJsonSchema({
    type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
  }));
  tool('test_streaming_elicitation', () => text('a result alone'));
  tool('test_tool_with_logging', async (_, ctx) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
      await pause(50);
    }
    return text('Tool with logging executed successfully');
  });
  tool('test_logging_tool', async (_, ctx) => {
    await ctx.mcpReq.log('info', 'told where the request names a level');
    return text('logged');
  });
  tool('test_tool_with_progress', async (_, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` } });
      await pause(50);
    }
    return text(String(progressToken ?? 'none'));
  });
}

// Tools of the eras with sessions: these ask their client by requests.
function registerAskingTools(server, closeStream) {
  const tool = (name, answer, shape = {}) => server.registerTool(name, { description: `Conformance: ${name}`, inputSchema: z.object(shape) }, answer);
  tool('test_sampling', ({ prompt }, ctx) => ask(ctx,
    { method: 'sampling/createMessage', params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 } },
    result => `LLM response: ${result.content?.text ?? 'none'}`), { prompt: z.string() });
  tool('test_elicitation', ({ message }, ctx) => elicit(ctx, form({ response: { type: 'string' } }, message)), { message: z.string() });
  tool('test_elicitation_sep1034_defaults', (_, ctx) => elicit(ctx, form(DEFAULTS, 'Please review', [])));
  tool('test_elicitation_sep1330_enums', (_, ctx) => elicit(ctx, form(ENUMS, 'Please select', [])));
  tool('test_reconnection', async (_, ctx) => {
    closeStream(ctx);
    await pause(100);
    return text('Reconnection test completed successfully.');
  });
}

// Tools of the modern era: a result may ask for input, and the client calls again with the answers.
function registerInputTools(server) {
  const tool = (name, answer) => server.registerTool(name, { description: `Conformance: ${name}`, inputSchema: z.object({}) }, (_, ctx) => answer(ctx.mcpReq, ctx));
  const accepted = (request, key) => acceptedContent(request.inputResponses, key);
  const askName = () => inputRequired.elicit(form(NAME, 'What is your name?'));
  tool('test_missing_capability', request => request.inputResponses?.llm_answer === undefined
    ? inputRequired({ inputRequests: { llm_answer: askSampling('Reply with the single word: pong') } }) : text('sampled'));
  tool('test_input_required_result_elicitation', request => {
    const name = accepted(request, 'user_name')?.name;
    return typeof name === 'string' ? text(`Hello, ${name}!`) : inputRequired({ inputRequests: { user_name: askName() } });
  });
  tool('test_input_required_result_sampling', request => {
    const answer = request.inputResponses?.capital_question;
    return answer ? text(`Sampling response: ${answer.content?.text}`) : inputRequired({ inputRequests: { capital_question: askSampling('What is the capital of France?') } });
  });
  tool('test_input_required_result_list_roots', request => {
    const roots = request.inputResponses?.client_roots?.roots;
    return Array.isArray(roots) ? text(`${roots.length} root(s): ${roots.map(root => root.uri)}`) : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
  });
  const confirm = async tool => inputRequired({
    inputRequests: { confirm: inputRequired.elicit(form(OK, 'Please confirm')) }, requestState: await sealed.mint({ tool, nonce: randomUUID() }),
  });
  tool('test_input_required_result_request_state', request => accepted(request, 'confirm') && request.requestState() ? text('state-ok') : confirm('request_state'));
  tool('test_input_required_result_tampered_state', request => accepted(request, 'confirm') && request.requestState() ? text('integrity-ok') : confirm('tampered_state'));
  tool('test_input_required_result_multiple_inputs', async request => {
    const name = accepted(request, 'user_name')?.name, greeting = request.inputResponses?.greeting?.content?.text;
    const roots = request.inputResponses?.client_roots?.roots;
    if (name && greeting && roots) return text(`${greeting} ${name}, ${roots.length} root(s)`);
    return inputRequired({
      inputRequests: { user_name: askName(), greeting: askSampling('Generate a greeting'), client_roots: inputRequired.listRoots() },
      requestState: await sealed.mint({ tool: 'multiple_inputs', nonce: randomUUID() }),
    });
  });
  tool('test_input_required_result_multi_round', async request => {
    const { round = 0, name } = request.requestState() ?? {};
    if (round === 0)
      return inputRequired({ inputRequests: { step1: askName() }, requestState: await sealed.mint({ round: 1, nonce: randomUUID() }) });
    if (round === 1)
      return inputRequired({
        inputRequests: { step2: inputRequired.elicit(form({ color: { type: 'string' } }, 'What is your favorite color?')) },
        requestState: await sealed.mint({ round: 2, name: accepted(request, 'step1')?.name, nonce: randomUUID() }),
      });
    return text(`Multi-round complete: ${name} likes ${accepted(request, 'step2')?.color}`);
  });
  tool('test_input_required_result_capabilities', request => {
    const declared = request.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
    const inputRequests = {
      ...declared.elicitation && { user_name: askName() }, ...declared.sampling && { greeting: askSampling('Generate a greeting') },
      ...declared.roots && { client_roots: inputRequired.listRoots() },
    };
    return request.inputResponses || !Object.keys(inputRequests).length ? text('done') : inputRequired({ inputRequests });
  });
}

function registerResources(server) {
  const add = (name, uri, mimeType, content) =>
    server.registerResource(name, uri, { title: name, description: `Conformance: ${name}`, mimeType }, () => ({ contents: [{ uri, mimeType, ...content }] }));
  add('static-text', 'test://static-text', 'text/plain', { text: 'This is the content of the static text resource.' });
  add('static-binary', 'test://static-binary', 'image/png', { blob: PNG });
  add('watched-resource', 'test://watched-resource', 'text/plain', { text: 'Watched resource content' });
  server.registerResource('template', new ResourceTemplate('test://template/{id}/data', { list: undefined }), { title: 'template', mimeType: 'application/json' },
    (uri, { id }) => ({ contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }] }));
}

function registerPrompts(server) {
  const says = (...content) => ({ messages: content.map(one => ({ role: 'user', content: one })) });
  const say = value => ({ type: 'text', text: value });
  server.registerPrompt('test_simple_prompt', { description: 'A simple prompt' }, () => says(say('This is a simple prompt for testing.')));
  server.registerPrompt('test_prompt_with_arguments', { description: 'Arguments', argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    ({ arg1, arg2 }) => says(say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)));
  server.registerPrompt('test_prompt_with_embedded_resource', { description: 'A resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => says({ type: 'resource', resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } }, say('Please process the embedded resource above.')));
  server.registerPrompt('test_prompt_with_image', { description: 'An image' }, () => says({ type: 'image', data: PNG, mimeType: 'image/png' }, say('Please analyze the image above.')));
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks first' }, ctx => {
    const context = acceptedContent(ctx.mcpReq.inputResponses, 'user_context')?.context;
    return context ? says(say(`Use the following context: ${context}`))
      : inputRequired({ inputRequests: { user_context: inputRequired.elicit(form({ context: { type: 'string' } }, 'What context?')) } });
  });
}

// `closeStream` ends the stream of a request whose answer comes later; `notify` tells all who listen.
function makeServer({ closeStream = () => {}, notify }) {
  const server = new McpServer({ name: 'conformance', version: '1.0.0' }, {
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true }, logging: {}, completions: {} },
    requestState: { verify: sealed.verify },
  });
  registerPlainTools(server);
  registerAskingTools(server, closeStream);
  registerInputTools(server);
  registerResources(server);
  registerPrompts(server);
  for (const [kind, tell] of [['tool', 'toolsChanged'], ['prompt', 'promptsChanged']])
    server.registerTool(`test_trigger_${kind}_change`, { description: 'Tells that a list has changed', inputSchema: z.object({}) }, () => {
      notify(server, tell);
      return text('told');
    });
  for (const method of ['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']) server.server.setRequestHandler(method, () => ({}));
  server.server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return server;
}

function serveStandardStreams() {
  const notify = (server, tell) => tell === 'toolsChanged' ? server.sendToolListChanged() : server.sendPromptListChanged();
  serveStdio(() => makeServer({ notify }), { onerror: error => process.stderr.write(`${error.message}\n`) });
}

// The events of one session's streams, for clients that come back.
function makeEventStore() {
  const events = [];
  return {
    async storeEvent(stream, message) {
      events.push({ id: `${stream}::${events.length}`, stream, message });
      return events.at(-1).id;
    },
    async replayEventsAfter(last, { send }) {
      const place = events.findIndex(event => event.id === last), stream = events[place]?.stream ?? last.split('::')[0];
      for (const event of events.slice(place + 1))
        if (event.stream === stream && event.message && Object.keys(event.message).length) await send(event.id, event.message);
      return stream;
    },
  };
}

function serveHttp() {
  const sessions = new Map();
  const notify = (_, tell) => modern.notify[tell]();
  const closeStream = ctx => sessions.get(ctx.sessionId)?.closeSSEStream(ctx.mcpReq.id);
  const modern = createMcpHandler(() => makeServer({ notify }));
  const serveModern = toNodeHandler(modern);
  async function open() {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, eventStore: makeEventStore(), retryInterval: 1000, onsessioninitialized: id => sessions.set(id, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await makeServer({ closeStream, notify }).connect(transport);
    return transport;
  }
  const refuse = (response, status, message) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }));
  async function serve(request, response) {
    if (!/^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(request.headers.host ?? '')) return refuse(response, 403, 'Host');
    let body = '';
    for await (const part of request.setEncoding('utf8')) body += part;
    try {
      body = body ? JSON.parse(body) : undefined;
    } catch {
      return refuse(response, 400, 'no JSON');
    }
    const session = request.headers['mcp-session-id'];
    const claim = { httpMethod: request.method, protocolVersionHeader: request.headers['mcp-protocol-version'], mcpMethodHeader: request.headers['mcp-method'], body };
    if (request.method === 'POST' && classifyInboundRequest(claim).kind !== 'legacy') return serveModern(request, response, body);
    if (!session && isInitializeRequest(body)) return (await open()).handleRequest(request, response, body);
    if (!sessions.has(session)) return refuse(response, session ? 404 : 400, 'no such session');
    return sessions.get(session).handleRequest(request, response, body);
  }
  const server = createServer((request, response) => serve(request, response).catch(error => refuse(response, 500, error.message)));
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
}

({ stdio: serveStandardStreams, http: serveHttp })[process.argv[2]]();
