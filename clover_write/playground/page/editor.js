// Monaco's documents, ghost text, lenses and edits, spoken as LSP.

const OPTIONS = {
  automaticLayout: true,
  fontSize: 14,
  lineNumbersMinChars: 3,
  minimap: { enabled: false },
  padding: { top: 12, bottom: 12 },
  quickSuggestions: false,
  scrollBeyondLastLine: false,
  suggestOnTriggerCharacters: false,
  unicodeHighlight: { ambiguousCharacters: false },
  wordBasedSuggestions: "off",
  wordWrap: "on",
};
const CAPABILITIES = {
  general: { positionEncodings: ["utf-16"] },
  textDocument: { inlineCompletion: {}, codeLens: {} },
  window: { workDoneProgress: true },
  workspace: { applyEdit: true, workspaceEdit: { documentChanges: true } },
};
const CURSOR = "▮";
// commands that items and lenses name
const COMMANDS = ["clover.accepted", "clover-write.fill"];

/** Load Monaco by its own loader. */
export function loadMonaco() {
  const { require } = window;
  require.config({ paths: { vs: new URL("monaco", location.href).pathname } });
  return new Promise((resolve, reject) => require(["vs/editor/editor.main"], resolve, reject));
}

export class Editor {
  #monaco;
  #editor;
  #connection = null;
  #offered = null;
  #sync = null;

  constructor(monaco, element) {
    this.#monaco = monaco;
    this.#editor = monaco.editor.create(element, OPTIONS);
    // Monaco makes it when it finds time: what is typed before would be asked about never
    this.#editor.getContribution("editor.contrib.inlineCompletionsController");
    // a key that Monaco has in VS Code alone
    this.#editor.addCommand(monaco.KeyMod.Alt | monaco.KeyCode.Backslash, () => this.ask());
    for (const command of COMMANDS) {
      monaco.editor.registerCommand(command, (_, ...args) => this.#execute(command, args));
    }
    this.#offer();
    monaco.languages.registerCodeLensProvider("markdown", {
      provideCodeLenses: (model, token) => this.#lenses(model, token),
    });
  }

  /** Ask for ghost text at the cursor, also about a text that was asked about before. */
  ask() {
    this.#offer();
    this.#editor.trigger("keyboard", "editor.action.inlineSuggest.trigger", {});
  }

  /** Put a text before the user, with the cursor where `CURSOR` stands in it. */
  show(text, language, name) {
    const before = this.#editor.getModel();
    const uri = this.#monaco.Uri.from({ scheme: "inmemory", path: `/playground/${name}` });
    const model = this.#monaco.editor.createModel(text.replace(CURSOR, ""), language, uri);
    this.#editor.setModel(model);
    before?.dispose();
    this.#editor.setPosition(model.getPositionAt(text.indexOf(CURSOR)));
    this.#open();
    this.#editor.focus();
  }

  /** Speak with another server from now on; `watch` is how it writes what is watched. */
  async connect(connection, watch) {
    connection.on("workspace/applyEdit", ({ edit }) => this.#apply(edit));
    connection.on("window/workDoneProgress/create", () => null);
    await connection.request("initialize", {
      processId: null,
      rootUri: null,
      clientInfo: { name: "Clover Write playground" },
      capabilities: { ...CAPABILITIES, experimental: { cloverWatch: watch } },
      // what is written ahead of the cursor would push what is shown there out of the panel
      initializationOptions: { prefetch: false, minConfidence: 0 },
    });
    connection.notify("initialized", {});
    this.#connection = connection;
    this.#open();
  }

  #open() {
    this.#sync?.dispose();
    const model = this.#editor.getModel();
    if (!model || !this.#connection) return;
    const connection = this.#connection;
    const uri = model.uri.toString();
    const sync = [
      model.onDidChangeContent((event) =>
        connection.notify("textDocument/didChange", {
          textDocument: { uri, version: model.getVersionId() },
          contentChanges: event.changes.map(({ range, text }) => ({ range: toLsp(range), text })),
        }),
      ),
      model.onWillDispose(() => connection.notify("textDocument/didClose", { textDocument: { uri } })),
    ];
    this.#sync = { dispose: () => sync.forEach((each) => each.dispose()) };
    connection.notify("textDocument/didOpen", {
      textDocument: {
        uri,
        languageId: model.getLanguageId(),
        version: model.getVersionId(),
        text: model.getValue(),
      },
    });
  }

  /** Be asked for ghost text from now on; Monaco asks nobody twice about the same text. */
  #offer() {
    this.#offered?.dispose();
    this.#offered = this.#monaco.languages.registerInlineCompletionsProvider("*", {
      provideInlineCompletions: (model, position, context, token) =>
        this.#complete(model, position, context, token),
      handleItemDidShow: (_, item) => this.#connection.notify("clover/didShow", { id: item.id }),
      handlePartialAccept: (_, item, acceptedLength) =>
        this.#connection.notify("clover/didPartiallyAccept", { id: item.id, acceptedLength }),
      disposeInlineCompletions() {},
    });
  }

  async #complete(model, position, context, token) {
    const { Explicit } = this.#monaco.languages.InlineCompletionTriggerKind;
    const params = {
      textDocument: { uri: model.uri.toString() },
      position: { line: position.lineNumber - 1, character: position.column - 1 },
      context: { triggerKind: context.triggerKind === Explicit ? 1 : 2 },
    };
    const { items } = await this.#ask("textDocument/inlineCompletion", params, token, { items: [] });
    return {
      items: items.map(({ insertText, range, command }) => ({
        id: command.arguments[0],
        insertText,
        range: toMonaco(range),
        command: { id: command.command, title: command.title, arguments: command.arguments },
      })),
    };
  }

  async #lenses(model, token) {
    const params = { textDocument: { uri: model.uri.toString() } };
    const lenses = await this.#ask("textDocument/codeLens", params, token, []);
    return {
      lenses: lenses.map(({ range, command }) => ({
        range: toMonaco(range),
        command: { id: command.command, title: command.title, arguments: command.arguments },
      })),
      dispose() {},
    };
  }

  /** An answer, or `nothing` where there is no server yet or the question was taken back. */
  async #ask(method, params, token, nothing) {
    if (!this.#connection) return nothing;
    try {
      return (await this.#connection.request(method, params, token)) ?? nothing;
    } catch (error) {
      if (token.isCancellationRequested) return nothing;
      throw error;
    }
  }

  #execute(command, args) {
    return this.#connection.request("workspace/executeCommand", { command, arguments: args });
  }

  /** Make the server's edit in one step, if the text is still the one it was made for. */
  #apply({ documentChanges: [{ textDocument, edits }] }) {
    const model = this.#editor.getModel();
    if (model.uri.toString() !== textDocument.uri || model.getVersionId() !== textDocument.version) {
      return { applied: false, failureReason: "the document has changed" };
    }
    const made = edits.map(({ range, newText }) => ({ range: toMonaco(range), text: newText }));
    this.#editor.pushUndoStop();
    this.#editor.executeEdits("clover-write", made);
    this.#editor.pushUndoStop();
    return { applied: true };
  }
}

function toLsp({ startLineNumber, startColumn, endLineNumber, endColumn }) {
  return {
    start: { line: startLineNumber - 1, character: startColumn - 1 },
    end: { line: endLineNumber - 1, character: endColumn - 1 },
  };
}

function toMonaco({ start, end }) {
  return {
    startLineNumber: start.line + 1,
    startColumn: start.character + 1,
    endLineNumber: end.line + 1,
    endColumn: end.character + 1,
  };
}
