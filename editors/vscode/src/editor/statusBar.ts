/** The item in the status bar, and the situation it shows. */
import { type Disposable, StatusBarAlignment, ThemeColor, window } from "vscode";

import { AT_FIRST, face, type Situation } from "../situation.js";

const BACKGROUND = {
  none: undefined,
  warning: new ThemeColor("statusBarItem.warningBackground"),
  error: new ThemeColor("statusBarItem.errorBackground"),
};

export class StatusBar implements Disposable {
  readonly #item = window.createStatusBarItem("cloverWrite.status", StatusBarAlignment.Right, 100);
  #now = AT_FIRST;

  constructor() {
    this.#item.name = "Clover Write";
    this.#item.command = "cloverWrite.menu";
    this.#draw();
    this.#item.show();
  }

  get now(): Situation {
    return this.#now;
  }

  /** This is new; the rest is as before. */
  tell(news: Partial<Situation>): void {
    this.#now = { ...this.#now, ...news };
    this.#draw();
  }

  dispose(): void {
    this.#item.dispose();
  }

  #draw(): void {
    const { text, tooltip, severity } = face(this.#now);
    this.#item.text = text;
    this.#item.tooltip = `Clover Write. ${tooltip}`;
    this.#item.backgroundColor = BACKGROUND[severity];
    this.#item.accessibilityInformation = { label: `Clover Write: ${tooltip}`, role: "button" };
  }
}
