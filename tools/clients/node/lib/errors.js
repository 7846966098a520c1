// The errors of calls, and the codes that this client says itself.

export const code = Object.freeze({
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  notAllowed: -32001,
  disconnected: -32050,
  timedOut: -32051,
  overloaded: -32052,
  taken: -32053,
  notInitialized: -32054,
  tooLarge: -32055,
  cancelled: -32800,
});

// An error as JSON-RPC has it: what a call ended with, or what a handler throws to answer with.
export class HubError extends Error {
  constructor(code, message, data = undefined, options = undefined) {
    if (!Number.isInteger(code)) throw new TypeError('the code of a HubError must be an integer');
    if (typeof message !== 'string') throw new TypeError('the message of a HubError must be a string');
    super(message, options);
    this.code = code;
    this.data = data;
  }

  // The error member of an answer.
  toJSON() {
    return { code: this.code, message: this.message, data: this.data };
  }

  // The HubError for the error member of an answer, whatever stands there.
  static from(error) {
    const { code: given, message, data } = Object(error);
    return new HubError(Number.isInteger(given) ? given : code.internal, typeof message === 'string' ? message : 'internal error', data);
  }
}

// The client's own connection was lost, or closed, before the call had an answer.
export class ConnectionLost extends HubError {
  constructor(message = 'the connection to the hub was lost', options = undefined) {
    super(code.disconnected, message, undefined, options);
  }
}

// Names the classes, so that a stack shows the name also behind a bundler that shortens names of classes.
Object.defineProperty(HubError.prototype, 'name', { value: 'HubError', configurable: true, writable: true });
Object.defineProperty(ConnectionLost.prototype, 'name', { value: 'ConnectionLost', configurable: true, writable: true });
