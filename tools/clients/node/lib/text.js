// The JSON texts of messages.
const encoder = typeof Buffer === 'function' ? undefined : new TextEncoder();

// The bytes of a text in UTF-8.
export const byteLength = encoder ? (text) => encoder.encode(text).length : (text) => Buffer.byteLength(text);

// Throws a TypeError for params that JSON has no form for.
function paramsText(params) {
  if (params === undefined) return '{}';
  const text = JSON.stringify(params);
  if (text === undefined || (text[0] !== '{' && text[0] !== '[')) throw new TypeError('params must be an object');
  return text;
}

function methodText(method) {
  if (typeof method !== 'string') throw new TypeError('a method must be a string');
  return JSON.stringify(method);
}

export const requestText = (id, method, params) => `{"jsonrpc":"2.0","id":${id},"method":${methodText(method)},"params":${paramsText(params)}}`;
export const notificationText = (method, params) => `{"jsonrpc":"2.0","method":${methodText(method)},"params":${paramsText(params)}}`;
export const errorText = (id, error) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":${JSON.stringify(error)}}`;

// Throws for a value that JSON has no form for. Nothing is null.
export function resultText(id, value) {
  const text = value === undefined ? 'null' : JSON.stringify(value);
  if (text === undefined || (typeof value === 'number' && !Number.isFinite(value))) throw new TypeError(`a ${typeof value} is not JSON`);
  return `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":${text}}`;
}

// --- A text that JSON.parse refuses

const SCALAR = /[^\s,}\]]+/y;

// The index of the quote that ends the string; the text's end where none does.
function stringEnd(text, begin) {
  let at = begin + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}

// The members of the outermost object whose values are scalars, as they are written; deeper ones are skipped.
function* scalars(text) {
  let depth = 0, key;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    let token;
    if (character === '{' || character === '[') depth++;
    else if (character === '}' || character === ']') depth--;
    else if (character === '"') token = text.slice(at, stringEnd(text, at) + 1);
    else if (depth === 1 && character === ',') key = undefined;
    else if (depth === 1 && !':\t\n\r '.includes(character)) {
      SCALAR.lastIndex = at;
      [token] = SCALAR.exec(text);
    }
    if (token === undefined) continue;
    at += token.length - 1;
    if (depth === 1 && key === undefined) key = token;
    else if (depth === 1) yield [key, token];
  }
}

// The id and the kind of a message whose depths are no JSON: the hub judges the levels that it reads itself, and forwards
// the rest. {id, isRequest}; undefined: no id can be told.
export function salvage(text) {
  const found = new Map();
  for (const [key, token] of scalars(text)) found.set(key, token);
  try {
    const id = JSON.parse(found.get('"id"'));
    return typeof id === 'number' || typeof id === 'string' ? { id, isRequest: found.has('"method"') } : undefined;
  } catch {
    return undefined;
  }
}
