// Calls and notifications on their way to the hub, in order. While there is no connection, all of them wait here.

export class Outbox {
  #transport;
  #waiting = new Set();
  #end; // the error that ends all that comes

  // An item has send(transport) and fail(error).
  put(item) {
    if (this.#end) item.fail(this.#end);
    else if (this.#transport) item.send(this.#transport);
    else this.#waiting.add(item);
  }

  // Removes an item that still waits: it is not sent.
  drop(item) {
    this.#waiting.delete(item);
  }

  open(transport) {
    this.#transport = transport;
    for (const item of this.#waiting) {
      this.#waiting.delete(item);
      item.send(transport);
    }
  }

  lose() {
    this.#transport = undefined;
  }

  // Ends what waits, and all that comes.
  fail(error) {
    this.#transport = undefined;
    this.#end = error;
    for (const item of this.#waiting) {
      this.#waiting.delete(item);
      item.fail(error);
    }
  }
}
