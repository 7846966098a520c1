// Lines: one body a line. A body that JSON.stringify wrote has no line break in it.
const FEED = 0x0a;
const EMPTY = Buffer.alloc(0);

// Cuts what comes in into bodies. `take` throws for a line over the limit.
export class LineReader {
  #parts = [];
  #held = 0;
  #max;

  constructor(bodyBytesMax) {
    this.#max = bodyBytesMax;
  }

  // Calls `heard(text, bytes)` for each body that is whole by now. A blank line is none.
  take(chunk, heard) {
    let at = 0;
    for (let end; (end = chunk.indexOf(FEED, at)) >= 0; at = end + 1) this.#line(chunk.subarray(at, end), heard);
    if (at === chunk.length) return;
    this.#parts.push(chunk.subarray(at));
    this.#held += chunk.length - at;
    if (this.#held > this.#max) throw new Error(`the hub sent a line of more than ${this.#max} bytes`);
  }

  #line(last, heard) {
    let bytes = last;
    if (this.#parts.length > 0) {
      this.#parts.push(last);
      bytes = Buffer.concat(this.#parts, this.#held + last.length);
      this.#parts = [];
      this.#held = 0;
    }
    if (bytes.length > this.#max) throw new Error(`the hub sent a line of ${bytes.length} bytes`);
    const text = bytes.toString();
    if (text.trim() !== '') heard(text, bytes.length);
  }
}

export const lines = {
  hasFields: false,
  encode: (body) => `${body}\n`,
  bye: () => EMPTY,
  reader: (bodyBytesMax) => new LineReader(bodyBytesMax),
};
