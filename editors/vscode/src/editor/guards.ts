/** When no ghost text may come: at several cursors, and while an input method composes. */
import {
  type Disposable,
  type InlineCompletionContext,
  InlineCompletionTriggerKind,
  type TextDocument,
  window,
  workspace,
} from "vscode";

import { Composition } from "../composition.js";

export class Guards implements Disposable {
  readonly #compositions = new WeakMap<TextDocument, Composition>();
  readonly #listening = workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    const composition = this.#compositions.get(document) ?? new Composition();
    this.#compositions.set(document, composition);
    composition.changed(
      contentChanges.map(({ rangeOffset, rangeLength, text }) => ({ offset: rangeOffset, length: rangeLength, text })),
    );
  });

  /** Whether completions may be asked for in the document now. */
  allow(document: TextDocument, context: InlineCompletionContext): boolean {
    const editor = window.activeTextEditor;
    // text that fits one cursor would be put in at all of them
    if (editor?.document === document && editor.selections.length > 1) return false;
    const asked = context.triggerKind === InlineCompletionTriggerKind.Invoke;
    return asked || !this.#compositions.get(document)?.active;
  }

  dispose(): void {
    this.#listening.dispose();
  }
}
