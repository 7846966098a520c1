/** The client of a patchbay hub: connects, registers agents, makes calls, and iterates over events. */

/** How closely people watch what is done, from loose to strict. */
export type GovernanceLevel = 'autonomous' | 'supervised' | 'human-in-the-loop' | 'manual';

export type Priority = 'low' | 'medium' | 'high' | 'critical';

/** The capabilities of an agent: names with truthy values, or an array of names. The hub knows `methods`, `tasks`, `tools`, `commands` and `events`. */
export type Capabilities = Record<string, unknown> | readonly string[];

/** The members of a message. */
export type Params = Record<string, unknown>;

export interface ConnectOptions {
  /** The user's credential. Default: PATCHBAY_TOKEN. The client shows the token nowhere. */
  token?: string;
  /** The authorities to trust over TLS: the name of a file, or PEM. Default: PATCHBAY_TLS_CA, else the authorities that Node brings. */
  tlsCa?: string | Uint8Array;
  /** A certificate of the client's own, and its key, as names of files or PEM. Without a key the certificate's file has it. */
  tlsCertificate?: string | Uint8Array;
  tlsKey?: string | Uint8Array;
  /** How many handlers run at a time. Default: 64. */
  concurrency?: number;
  /** The strictest level whose events come to this client while it is no agent. Default: autonomous. */
  governanceLevel?: GovernanceLevel;
  /** Told what no answer can tell: a notification's handler or a callback that threw, a registration that the hub refuses after a reconnection. Default: console.error. */
  onError?: (error: unknown) => void;
}

export interface RegisterOptions {
  /** Default: none. */
  capabilities?: Capabilities;
  /** The strictest level that the agent supports. Default: autonomous. */
  governanceLevel?: GovernanceLevel;
  version?: string;
  author?: string;
  description?: string;
  dependencies?: readonly string[];
}

export interface NotifyOptions {
  /** The level that the message requires of its target. A TypeError over lines and WebSocket, which have no place for it. */
  level?: GovernanceLevel;
}

export interface CallOptions extends NotifyOptions {
  /** When to give up, in milliseconds, also while there is no connection: the call ends with code -32051, at once for 0 or less. Default: the hub's own time. */
  timeoutMs?: number;
  /** Gives the call up when it is aborted: the call rejects with the signal's reason. */
  signal?: AbortSignal;
  /** Asks for progress, and is called with each value. */
  onProgress?: (value: any) => void;
}

export interface RequestOptions extends CallOptions {
  /** The task's input. */
  context?: unknown;
  priority?: Priority;
}

/** The request that a handler runs for. */
export interface Request {
  readonly method: string;
  readonly params: any;
  /** Aborted when the source gives the request up, or when the connection is lost. */
  readonly signal: AbortSignal;
  /**
   * Tells the source how far the request is; does nothing where the source didn't ask, or the answer has gone. An MCP client
   * wants an object with `progress`. Resolves once less than 1 MiB waits for the socket; rejects with code -32055 for more than the hub takes.
   */
  progress(value: unknown): Promise<void>;
}

/**
 * Answers a request with what it returns or resolves with; nothing is null. A HubError that it throws is answered as it is,
 * anything else with code -32603 and the error's text. For a notification nothing is answered.
 */
export type Handler = (params: any, request: Request) => unknown;

export interface HubEvent<T = any> {
  readonly name: string;
  readonly data: T;
  /** How many events were dropped before this one, by the client or by the hub; a number that the hub doesn't know counts as 1. */
  readonly missed: number;
}

export interface EventIterator<T = any> extends AsyncIterableIterator<HubEvent<T>> {
  /** Resolves once the hub has confirmed the subscription. Rejects where the hub refuses the pattern, as the next event does. */
  readonly subscribed: Promise<void>;
  next(): Promise<IteratorResult<HubEvent<T>, undefined>>;
  /** Ends the iteration, and the subscription, unless another iterator has its pattern. */
  return(): Promise<IteratorResult<HubEvent<T>, undefined>>;
}

export interface Registered {
  agentId: string;
  registered: boolean;
}

/**
 * `connected`: the connection stands again, and what was registered and subscribed is so again.
 * `lost`: the connection was lost; it is opened again. `detail.error` tells why.
 * `replaced`: another connection has `detail.agentId` now; it isn't registered again.
 * `refused`: the hub refuses the credential; it isn't tried again, and all calls end with `detail.error`.
 */
export type State = 'connected' | 'lost' | 'replaced' | 'refused';

export interface StateDetail {
  error?: HubError;
  agentId?: string;
}

/** A client of a hub. Made by `connect`. */
export interface Hub {
  /** Makes this client an agent, also after a reconnection. Rejects with code -32053 where another connection has the agentId. */
  register(agentId: string, options?: RegisterOptions): Promise<Registered>;
  /** Gives an agentId back. Rejects with code -32010 where it isn't one of this client's. */
  unregister(agentId: string): Promise<Registered>;
  /** Runs `handler` for requests and notifications with this method. It offers nothing: `register` says what is offered. */
  method(name: string, handler: Handler): void;
  /** Runs `handler` for `agent/request` with this task. */
  task(name: string, handler: Handler): void;
  /** Asks an agent to do a task (`agent/request`). */
  request<T = any>(agentId: string, task: string, options?: RequestOptions): Promise<T>;
  /** Calls a method of whoever offers it, of the agent that `params.targetAgent` names, or of the hub. */
  call<T = any>(method: string, params?: Params | readonly unknown[], options?: CallOptions): Promise<T>;
  /** Sends a notification. Resolves once less than 1 MiB waits for the socket. */
  notify(method: string, params?: Params | readonly unknown[], options?: NotifyOptions): Promise<void>;
  /** Publishes an event. Resolves with the number of connections that it was delivered to. */
  publish(event: string, data?: unknown, options?: Omit<CallOptions, 'onProgress'>): Promise<number>;
  /** Iterates over the events with this name, or with this prefix and `*`. At most 1,000 wait; past that the oldest go, which `missed` tells. */
  events<T = any>(pattern: string): EventIterator<T>;
  /** Calls `listener` when the state changes. Returns what ends that. */
  onState(listener: (state: State, detail: StateDetail) => void): () => void;
  /** How many notifications were dropped, because more than 4 MiB waited for handlers. */
  readonly dropped: number;
  /** Unregisters, gives handlers 5 s, ends calls with ConnectionLost, and ends the connection. */
  close(): Promise<void>;
}

/** The error of a call. A handler throws one to answer with that error. */
export class HubError extends Error {
  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions);
  readonly name: string;
  readonly code: number;
  readonly data: any;
  toJSON(): { code: number; message: string; data: unknown };
}

interface ErrorOptions {
  cause?: unknown;
}

/** The client's own connection was lost, or closed, before the call had an answer: whether it was served isn't known. Its code is -32050. */
export class ConnectionLost extends HubError {
  constructor(message?: string, options?: ErrorOptions);
}

/**
 * Connects to a hub: `tcp://HOST:PORT`, `tls://HOST:PORT` and `unix:///PATH`, each also with `-lines` behind the scheme, and
 * `ws://HOST:PORT` and `wss://HOST:PORT`; a browser takes the last two alone. Default: PATCHBAY_HUB, else tcp://127.0.0.1:7411.
 * Rejects with a TypeError for any other URI, with the system's error where the hub can't be reached, and with the hub's
 * where it refuses the session. A connection that stood is opened again when it is lost.
 */
export function connect(uri?: string | URL, options?: ConnectOptions): Promise<Hub>;
