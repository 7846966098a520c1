// Content-Length framing: a header block and a body. The hub writes the length first, in one form; others are read too.
const BLANK = '\r\n\r\n';
const HEADER_BYTES_MAX = 64 * 1024;
const NAME = Buffer.from('Content-Length: ');
const DIGITS_MAX = 10;
const ZERO = 0x30, NINE = 0x39, CR = 0x0d, LF = 0x0a;
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0-\x08\x0a-\x1f\x7f]*)$/;
const EMPTY = Buffer.alloc(0);

// The length that a header block tells, in whatever form.
function lengthOf(block) {
  let length;
  for (const line of block.split('\r\n')) {
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
  #body = 0; // where the body begins whose header block was read last
  #length = 0;
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
    const used = this.#cut(bytes, heard);
    this.#held = bytes.length - used;
    if (this.#held > 0) this.#parts.push(bytes.subarray(used));
  }

  // The index of the first byte that belongs to no whole frame.
  #cut(bytes, heard) {
    let at = 0;
    while (at < bytes.length) {
      if (!this.#shortBlock(bytes, at) && !this.#anyBlock(bytes, at)) {
        this.#need = bytes.length - at + 1;
        return at;
      }
      const end = this.#body + this.#length;
      if (this.#length > this.#max) throw new Error(`the hub sent a frame of ${this.#length} bytes`);
      if (end > bytes.length) {
        this.#need = end - at;
        return at;
      }
      at = end;
      heard(bytes.toString('utf8', this.#body, end), this.#length);
    }
    this.#need = 1;
    return at;
  }

  // Reads a block that has the length alone, in the hub's own form. Nearly all are so: no text is made of them.
  #shortBlock(bytes, at) {
    for (let index = 0; index < NAME.length; index++) if (bytes[at + index] !== NAME[index]) return false;
    const first = at + NAME.length;
    let digit = first, length = 0;
    for (; bytes[digit] >= ZERO && bytes[digit] <= NINE; digit++) length = 10 * length + bytes[digit] - ZERO;
    const isWhole = bytes[digit] === CR && bytes[digit + 1] === LF && bytes[digit + 2] === CR && bytes[digit + 3] === LF;
    if (!isWhole || length === 0 || digit - first > DIGITS_MAX) return false;
    this.#body = digit + BLANK.length;
    this.#length = length;
    return true;
  }

  // Reads any other block. False: it isn't whole yet.
  #anyBlock(bytes, at) {
    const end = bytes.indexOf(BLANK, at, 'latin1');
    if ((end < 0 ? bytes.length : end) - at > HEADER_BYTES_MAX) throw new Error('the hub sent a header block without an end');
    if (end < 0) return false;
    this.#body = end + BLANK.length;
    this.#length = lengthOf(bytes.toString('latin1', at, end));
    return true;
  }
}

// How bodies lie in a stream of bytes: what goes out, and what reads what comes in.
export const contentLength = {
  hasFields: true,
  // `fields` are whole header lines, or empty; `bytes` is the body's length.
  encode: (body, fields, bytes) => `Content-Length: ${bytes}\r\n${fields}\r\n${body}`,
  bye: () => EMPTY,
  reader: (bodyBytesMax) => new FrameReader(bodyBytesMax),
};
