/** One window's session: brings the server up and does what the commands say. */
import {
  commands,
  type LogOutputChannel,
  TextEditorSelectionChangeKind,
  type TextDocument,
  type TextEditor,
  type TextEditorSelectionChangeEvent,
  Uri,
  window,
  workspace,
} from "vscode";

import { modeOf, toggled } from "../languages.js";
import { menu } from "../menu.js";
import type { Installation } from "./installation.js";
import type { ModelPicker } from "./modelPicker.js";
import type { Pause } from "./pause.js";
import { RESTRUCTURE, type Review } from "./review.js";
import type { Server } from "./server.js";
import { languages, setLanguages } from "./settings.js";
import type { StatusBar } from "./statusBar.js";

export class Session {
  /** By the command's name behind `cloverWrite.`. */
  readonly commands: Readonly<Record<string, () => Promise<void> | void>> = {
    complete: () => void commands.executeCommand("editor.action.inlineSuggest.trigger"),
    fillSpan: () => this.#fill((editor) => editor.selection.active),
    fillAllSpans: () => this.#fill(() => null),
    restructure: () => this.review.restructure(active().document),
    applyPreview: () => this.review.apply(),
    discardPreview: () => this.review.discard(),
    updateToc: () => this.#organise("clover-write.toc"),
    suggestTags: () => this.#organise("clover-write.tags", null),
    chooseModel: () => this.#chooseModel(),
    pause: () => { this.pause.begin(); },
    resume: () => { this.pause.end(); },
    toggleLanguage: () => setLanguages(toggled(languages(), active().document.languageId)),
    offerModel: () => this.#offerModel(false),
    setUp: () => this.#setUp(),
    restart: () => this.start(),
    showLog: () => { this.log.show(); },
    menu: () => this.#menu(),
  };

  #offered = false;

  constructor(
    private readonly bar: StatusBar,
    private readonly log: LogOutputChannel,
    private readonly pause: Pause,
    private readonly server: Server,
    private readonly review: Review,
    private readonly installation: Installation,
    private readonly models: ModelPicker,
  ) {
    server.failed = () => void commands.executeCommand("cloverWrite.offerModel");
    server.instead = (command, args) => (command === RESTRUCTURE ? this.#reviewed(args) : undefined);
  }

  /** Start the server, or start it again; without one, ask once whether to install it. */
  async start(): Promise<void> {
    const program = await this.#program();
    if (program) await this.server.start(program);
    else if (await this.installation.ask()) await this.#setUp();
  }

  /** The cursor rests elsewhere: the server may read the text there ahead. */
  async moved({ textEditor, kind, selections }: TextEditorSelectionChangeEvent): Promise<void> {
    // typing moves it too (`Keyboard`), but that the server sees itself; arrow keys are commands
    if (kind === undefined || kind === TextEditorSelectionChangeKind.Keyboard || selections.length > 1) return;
    const { line, character } = textEditor.selection.active;
    const textDocument = { uri: textEditor.document.uri.toString() };
    await this.server.notify("clover/didMoveCursor", { textDocument, position: { line, character } });
  }

  async #program(): Promise<string | undefined> {
    const program = await this.installation.find();
    if (!program) this.bar.tell({ phase: "missing" });
    return program;
  }

  async #setUp(): Promise<void> {
    if (!(await this.installation.choose())) return;
    await this.start();
    await this.#offerModel(true);
  }

  /** Where the model is not here, ask whether to fetch it: once in a session, unless it is `wanted`. */
  async #offerModel(wanted: boolean): Promise<void> {
    if (this.#offered && !wanted) return;
    this.#offered = true;
    const program = await this.#program();
    if (program && (await this.models.offer(program))) await this.start();
  }

  async #chooseModel(): Promise<void> {
    const program = await this.#program();
    if (program && (await this.models.choose(program))) await this.start();
  }

  async #fill(where: (editor: TextEditor) => { line: number; character: number } | null): Promise<void> {
    const editor = active();
    const at = where(editor);
    const position = at && { line: at.line, character: at.character };
    await this.server.command("clover-write.fill", [editor.document.uri.toString(), position]);
  }

  async #organise(command: string, ...more: unknown[]): Promise<void> {
    await this.server.command(command, [active().document.uri.toString(), ...more]);
  }

  /** The server's own command, from a code action. */
  async #reviewed([uri, template]: unknown[]): Promise<void> {
    const document: TextDocument = await workspace.openTextDocument(Uri.parse(String(uri)));
    await this.review.restructure(document, typeof template === "string" ? template : undefined);
  }

  async #menu(): Promise<void> {
    const language = window.activeTextEditor?.document.languageId;
    const paused = language !== undefined && modeOf(languages(), language) !== "automatic";
    const picked = await window.showQuickPick(menu(this.bar.now, language, paused), {
      title: this.bar.now.status.message || "Clover Write",
    });
    if (picked) await commands.executeCommand(picked.command);
  }
}

function active(): TextEditor {
  if (!window.activeTextEditor) throw new Error("No document is open.");
  return window.activeTextEditor;
}
