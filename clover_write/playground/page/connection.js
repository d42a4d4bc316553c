// JSON-RPC over a WebSocket, one message a frame.

export class Connection {
  #socket;
  #asked = new Map();
  #handlers = new Map();
  #last = 0;

  /** A connection to the server of this page; rejects where the token is wrong or nobody answers. */
  static async open(token) {
    const socket = new WebSocket(`ws://${location.host}/`, ["lsp", `token.${token}`]);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error("no connection: open the URL that clover-write printed"));
    });
    return new Connection(socket);
  }

  constructor(socket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    this.closed.then(() => this.#asked.forEach(({ resolve }) => resolve(null)));
    socket.onmessage = (event) => this.#receive(JSON.parse(event.data));
  }

  /** Handle requests or notifications of the server; what a request's handler returns is the answer. */
  on(method, handler) {
    this.#handlers.set(method, handler);
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  /** Ask the server; the answer is null where it goes before. `token`, one of Monaco's, takes the
   * question back. */
  request(method, params, token) {
    if (!this.#isOpen) return Promise.resolve(null);
    const id = ++this.#last;
    this.#send({ id, method, params });
    token?.onCancellationRequested(() => {
      if (this.#asked.has(id)) this.notify("$/cancelRequest", { id });
    });
    return new Promise((resolve, reject) => this.#asked.set(id, { resolve, reject }));
  }

  close() {
    this.#socket.close();
  }

  async #receive(message) {
    if (message.method === undefined) {
      const { resolve, reject } = this.#asked.get(message.id);
      this.#asked.delete(message.id);
      message.error ? reject(new Error(message.error.message)) : resolve(message.result);
      return;
    }
    const handler = this.#handlers.get(message.method);
    const result = await handler?.(message.params);
    if (message.id === undefined) return;
    if (handler) this.#send({ id: message.id, result: result ?? null });
    else this.#send({ id: message.id, error: { code: -32601, message: "the page does not do that" } });
  }

  get #isOpen() {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  #send(message) {
    if (this.#isOpen) this.#socket.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }
}
