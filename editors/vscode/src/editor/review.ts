/** Restructuring under review: what a document would become beside what it is, to apply or to discard. */
import {
  commands,
  type Disposable,
  EventEmitter,
  languages,
  Range,
  type TextDocument,
  type TextDocumentContentProvider,
  TabInputTextDiff,
  Uri,
  window,
  workspace,
  WorkspaceEdit,
} from "vscode";

import { replacement } from "../replacement.js";
import type { Server } from "./server.js";

export const RESTRUCTURE = "clover-write.restructure";
const SCHEME = "clover-write-preview";

/** As `clover-write.templates` has it. */
interface Template {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly origin: string;
}

/** As `clover-write.previewRestructure` has it. */
interface Preview {
  readonly version: number;
  readonly template: string;
  readonly report: string;
  readonly output: string;
  readonly breaches: readonly string[];
}

interface Proposal {
  readonly document: TextDocument;
  readonly shown: Uri;
  readonly preview: Preview;
}

export class Review implements TextDocumentContentProvider, Disposable {
  readonly #changed = new EventEmitter<Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #texts = new Map<string, string>();
  readonly #provider = workspace.registerTextDocumentContentProvider(SCHEME, this);
  #proposal: Proposal | undefined;
  #count = 0;

  constructor(private readonly server: Server) {}

  provideTextDocumentContent(uri: Uri): string {
    return this.#texts.get(uri.toString()) ?? "";
  }

  /** Have the user pick a template, unless it is named, and show what the document would become. */
  async restructure(document: TextDocument, template?: string): Promise<void> {
    const name = template ?? (await this.#picked(document));
    if (name === undefined) return;
    const uri = document.uri.toString();
    const preview = await this.server.command<Preview | null>("clover-write.previewRestructure", [uri, name]);
    // the server has told the user why not
    if (preview === null) return;
    if (preview.breaches.length > 0) throw new Error(`Nothing was changed: ${preview.breaches.join("; ")}`);
    if (preview.output === document.getText()) {
      void window.showInformationMessage(`The document has the shape of “${preview.template}” already.`);
      return;
    }
    await this.#show(document, preview);
  }

  /** Put what is shown in place of the document's text, by one edit. */
  async apply(): Promise<void> {
    if (!this.#proposal) return;
    const { document, preview } = this.#proposal;
    if (document.isClosed || document.version !== preview.version) {
      throw new Error("Nothing was changed: the document has changed meanwhile. Restructure it again.");
    }
    const { start, end, text } = replacement(document.getText(), preview.output);
    const edit = new WorkspaceEdit();
    edit.replace(document.uri, new Range(document.positionAt(start), document.positionAt(end)), text);
    if (!(await workspace.applyEdit(edit))) throw new Error("Nothing was changed: the document takes no edits.");
    await this.discard();
    await window.showTextDocument(document);
  }

  /** Close what is shown; the document stays as it is. */
  async discard(): Promise<void> {
    const shown = this.#proposal?.shown.toString();
    this.#proposal = undefined;
    this.#texts.clear();
    await commands.executeCommand("setContext", "cloverWrite.previewing", false);
    const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
    await window.tabGroups.close(
      tabs.filter(({ input }) => input instanceof TabInputTextDiff && input.modified.toString() === shown),
    );
  }

  dispose(): void {
    this.#provider.dispose();
    this.#changed.dispose();
  }

  async #picked(document: TextDocument): Promise<string | undefined> {
    const found = await this.server.command<Template[]>("clover-write.templates", [document.uri.toString()]);
    const items = found.map(({ name, title, description, origin }) => ({
      label: title,
      description: origin === "shipped" ? name : `${name}, ${origin}`,
      detail: description,
      name,
    }));
    const picked = await window.showQuickPick(items, {
      title: "Restructure to which template?",
      placeHolder: "Those that fit the document best come first",
      matchOnDescription: true,
      matchOnDetail: true,
    });
    return picked?.name;
  }

  async #show(document: TextDocument, preview: Preview): Promise<void> {
    await this.discard();
    const shown = this.#keep(document.uri.path, preview.output);
    this.#proposal = { document, shown, preview };
    await languages.setTextDocumentLanguage(await workspace.openTextDocument(shown), document.languageId);
    await commands.executeCommand("setContext", "cloverWrite.previewing", true);
    const name = document.uri.path.split("/").pop() ?? "";
    await commands.executeCommand("vscode.diff", document.uri, shown, `${name} ↔ ${preview.template}`, { preview: false });
    void this.#ask(preview);
  }

  async #ask(preview: Preview): Promise<void> {
    const question = `Restructured to “${preview.template}”. Apply it? One undo takes it back.`;
    const answer = await window.showInformationMessage(question, "Apply", "Discard", "Show Report");
    if (this.#proposal?.preview !== preview) return;
    if (answer === "Apply") await commands.executeCommand("cloverWrite.applyPreview");
    if (answer === "Discard") await this.discard();
    if (answer === "Show Report") await commands.executeCommand("markdown.showPreview", this.#keep("/report.md", preview.report));
  }

  #keep(path: string, text: string): Uri {
    const uri = Uri.from({ scheme: SCHEME, path: path.startsWith("/") ? path : `/${path}`, query: String(++this.#count) });
    this.#texts.set(uri.toString(), text);
    return uri;
  }
}
