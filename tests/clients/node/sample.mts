// A program that uses every function of @patchbay/client: it is compiled, strictly, and run.
import { connect, ConnectionLost, HubError } from '@patchbay/client';
import type {
  CallOptions, Capabilities, ConnectOptions, EventIterator, GovernanceLevel, Handler, Hub, HubEvent, NotifyOptions, Priority, RegisterOptions, Registered,
  Request, RequestOptions, State, StateDetail,
} from '@patchbay/client';

interface Passed { passed: number }

export async function run(uri: string): Promise<string[]> {
  const said: string[] = [], errors: unknown[] = [];
  const level: GovernanceLevel = 'manual', priority: Priority = 'high';
  const options: ConnectOptions = { concurrency: 8, governanceLevel: level, onError: (error) => errors.push(error), token: undefined, tlsCa: undefined };
  const hub: Hub = await connect(new URL(uri), options), other: Hub = await connect(uri);
  const capabilities: Capabilities = { methods: ['tests/run'] }, how: RegisterOptions = { capabilities, governanceLevel: 'manual', version: '1.0.0' };
  const registered: Registered = await hub.register('test-agent', how);
  said.push(registered.agentId);

  const echo: Handler = (params) => params;
  hub.method('echo', echo);
  hub.method('tests/run', async (params: { files: string[] }, request: Request) => {
    await request.progress({ of: params.files.length });
    request.signal.throwIfAborted();
    return { passed: params.files.length } satisfies Passed;
  });
  hub.task('fail', () => { throw new HubError(-31000, 'no', { why: 'x' }); });

  const controller = new AbortController();
  const calling: CallOptions = { timeoutMs: 5000, signal: controller.signal, onProgress: (value: { of: number }) => said.push(`of ${value.of}`) };
  const { passed } = await other.call<Passed>('tests/run', { files: ['a', 'b'] }, calling);
  said.push(`passed ${passed}`);
  const asking: RequestOptions = { ...calling, context: { file: 'main.ts' }, priority, level };
  try {
    await other.request<never>('test-agent', 'fail', asking);
  } catch (error) {
    if (!(error instanceof HubError) || error instanceof ConnectionLost) throw error;
    const code: number = error.code, text: string = error.message;
    said.push(`${error.name} ${code} ${text} ${error.data.why}`);
  }
  const noting: NotifyOptions = { level };
  await other.notify('echo', { targetAgent: 'test-agent' }, noting);
  await other.call('hub/ping', [1]);

  const stop: () => void = hub.onState((state: State, detail: StateDetail) => said.push(state, String(detail.error ?? detail.agentId)));
  hub.onState((state: string) => { said.push(state); })();
  stop();
  const events: EventIterator<{ n: number }> = hub.events<{ n: number }>('build-*');
  await events.subscribed;
  said.push(`delivered ${await other.publish('build-done', { n: 7 }, { timeoutMs: 1000 })}`);
  for await (const event of events) {
    const { name, data, missed }: HubEvent<{ n: number }> = event;
    said.push(`${name} ${data.n} ${missed}`);
    break;
  }
  const dropped: number = hub.dropped;
  said.push(`dropped ${dropped}`);

  // @ts-expect-error: no such level
  hub.request('a', 't', { level: 'strict' }).catch(() => {});
  // @ts-expect-error: times are numbers of milliseconds
  hub.call('m', {}, { timeoutMs: '5s' }).catch(() => {});
  // @ts-expect-error: a handler is a function
  try { hub.method('m', 7); } catch { /* a TypeError */ }
  // @ts-expect-error: made by connect alone
  hub.connection;

  said.push(String((await hub.unregister('test-agent')).registered));
  await hub.close();
  await other.close();
  const lost = new ConnectionLost();
  said.push(`${lost.name} ${lost.code} ${errors.length}`);
  return said;
}
