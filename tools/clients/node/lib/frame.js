// Content-Length framing: a header block and a body. The hub writes the length first, in one form; others are read too.
const BLANK = '\r\n\r\n';
const HEADER_BYTES_MAX = 64 * 1024;
const CANONICAL = /^Content-Length: ([1-9][0-9]{0,9})(?:\r\n|$)/;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0-\x08\x0a-\x1f\x7f]*)$/;
const EMPTY = Buffer.alloc(0);

function bodyBytes(head) {
  let length;
  for (const line of head.split('\r\n')) {
    const field = FIELD.exec(line);
    if (!field) throw new Error('the hub sent a header block that is none');
    if (field[1].toLowerCase() !== 'content-length') continue;
    if (length !== undefined || !/^[0-9]{1,10}[ \t]*$/.test(field[2])) throw new Error('the hub sent a Content-Length that is none');
    length = Number(field[2]);
  }
  if (!length) throw new Error('the hub sent a frame without a length');
  return length;
}

// Cuts what comes in into bodies. `take` throws for bytes that are no frame: nothing can be read behind them.
export class FrameReader {
  #parts = [];
  #held = 0;
  #need = 1; // bytes before there can be anything new
  #max;

  constructor(bodyBytesMax) {
    this.#max = bodyBytesMax;
  }

  // Calls `heard(text, bytes)` for each body that is whole by now.
  take(chunk, heard) {
    this.#held += chunk.length;
    if (this.#held < this.#need) {
      this.#parts.push(chunk);
      return;
    }
    let bytes = chunk;
    if (this.#parts.length > 0) {
      this.#parts.push(chunk);
      bytes = Buffer.concat(this.#parts, this.#held);
      this.#parts = [];
    }
    const rest = bytes.subarray(this.#cut(bytes, heard));
    this.#held = rest.length;
    if (rest.length > 0) this.#parts.push(rest);
  }

  // The index of the first byte that belongs to no whole frame.
  #cut(bytes, heard) {
    for (let at = 0; ;) {
      const end = bytes.indexOf(BLANK, at, 'latin1');
      if ((end < 0 ? bytes.length : end) - at > HEADER_BYTES_MAX) throw new Error('the hub sent a header block without an end');
      if (end < 0) {
        this.#need = bytes.length - at + 1;
        return at;
      }
      const head = bytes.toString('latin1', at, end), canonical = CANONICAL.exec(head);
      const length = canonical && canonical[0].length === head.length ? Number(canonical[1]) : bodyBytes(head);
      if (length > this.#max) throw new Error(`the hub sent a frame of ${length} bytes`);
      const body = end + BLANK.length;
      if (body + length > bytes.length) {
        this.#need = body + length - at;
        return at;
      }
      at = body + length;
      heard(bytes.toString('utf8', body, at), length);
    }
  }
}

// How bodies lie in a stream of bytes: what goes out, and what reads what comes in.
export const contentLength = {
  hasFields: true,
  // `fields` are whole header lines, or empty.
  encode: (body, fields) => `Content-Length: ${Buffer.byteLength(body)}\r\n${fields}\r\n${body}`,
  bye: () => EMPTY,
  reader: (bodyBytesMax) => new FrameReader(bodyBytesMax),
};
