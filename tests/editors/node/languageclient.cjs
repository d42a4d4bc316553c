// vscode-languageclient itself, over a `vscode` that has just enough: prints one line of JSON.
// What VS Code would do is left out (its editor, its timing); the client's own code is all there.
const Module = require("node:module");

class Disposable {
  constructor(end = () => {}) { this.dispose = end; }
  static from(...all) { return new Disposable(() => all.forEach((one) => one.dispose())); }
}
class EventEmitter {
  #listeners = new Set();
  event = (listener, self) => {
    const bound = listener.bind(self);
    this.#listeners.add(bound);
    return new Disposable(() => this.#listeners.delete(bound));
  };
  async fire(value) { for (const listener of this.#listeners) await listener(value); }
  dispose() { this.#listeners.clear(); }
}
class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
}
class Range {
  constructor(start, end, ...rest) {
    if (rest.length) [start, end] = [new Position(start, end), new Position(...rest)];
    Object.assign(this, { start, end });
  }
}
class InlineCompletionItem {
  constructor(insertText, range, command) { Object.assign(this, { insertText, range, command }); }
}
class InlineCompletionList {
  constructor(items) { this.items = items; }
}
class CodeActionKind {
  static Empty = new CodeActionKind("");
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(this.value ? `${this.value}.${part}` : part); }
}
class CancellationTokenSource {
  #emitter = new EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.#emitter.event };
  cancel() { this.token.isCancellationRequested = true; this.#emitter.fire(); }
  dispose() {}
}
const uri = { scheme: "untitled", path: "Untitled-1", toString: () => "untitled:Untitled-1" };

// whatever else the client touches while it starts: a class, a function, an event that never fires
const anything = (known = {}) =>
  new Proxy(function () {}, {
    get: (_, name) => (name in known ? known[name] : name === "then" ? undefined : anything()),
    apply: () => new Disposable(),
    construct: () => new Disposable(),
  });

const opened = new EventEmitter();
const changed = new EventEmitter();
let provider;
const documents = [];
const vscode = anything({
  Disposable, EventEmitter, Position, Range, InlineCompletionItem, InlineCompletionList, CancellationTokenSource, CodeActionKind,
  CancellationError: class CancellationError extends Error {},
  InlineCompletionTriggerKind: { Invoke: 0, Automatic: 1 },
  version: "1.100.0",
  env: { appName: "stand-in", language: "en" },
  workspace: anything({
    textDocuments: documents,
    notebookDocuments: [],
    workspaceFolders: undefined,
    onDidOpenTextDocument: opened.event,
    onDidChangeTextDocument: changed.event,
    getConfiguration: () => ({ get: (_, value) => value, has: () => false, inspect: () => undefined }),
  }),
  window: anything({
    visibleTextEditors: [], activeTextEditor: undefined, tabGroups: anything({ all: [] }),
    createOutputChannel: () => anything({ name: "log" }),
  }),
  languages: anything({
    match: () => 10,
    registerInlineCompletionItemProvider: (_, given) => { provider = given; return new Disposable(); },
  }),
});
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

class Document {
  constructor(text) { Object.assign(this, { uri, languageId: "python", version: 1, text }); }
  getText() { return this.text; }
}

async function main() {
  const [command, ...args] = JSON.parse(process.env.CLOVER_SERVER);
  const options = { command, args: args.filter((each) => each !== "--stdio"), transport: TransportKind.stdio };
  const selector = [{ language: "python" }];
  const client = new LanguageClient("clover-write", "Clover Write", options, { documentSelector: selector });
  const problems = [];
  client.error = (message) => problems.push(String(message));
  const kinds = [];
  client.onNotification("clover/status", ({ kind }) => kinds.push(kind));
  await client.start();

  const document = new Document("total = price * count\n\n");
  documents.push(document);
  await opened.fire(document);
  const at = new Position(2, 0);
  document.text += "😀 = 1\ntot";
  document.version = 2;
  const change = { range: new Range(at, at), rangeOffset: 23, rangeLength: 0, text: "😀 = 1\ntot" };
  await changed.fire({ document, contentChanges: [change], reason: undefined });
  const source = new CancellationTokenSource();
  const context = { triggerKind: 1, selectedCompletionInfo: undefined };
  const ask = (place, token) => provider.provideInlineCompletionItems(document, place, context, token);
  const items = await ask(new Position(3, 3), source.token);

  const cancelling = new CancellationTokenSource();
  const asked = ask(new Position(3, 3), cancelling.token).then((answer) => answer ?? null, (error) => error.name);
  cancelling.cancel();
  const cancelled = await asked;
  await client.stop();
  console.log(JSON.stringify({ items: items.items ?? items, cancelled, kinds, problems }));
}

main().catch((error) => { console.error(error); process.exit(1); });
