/** A pause: for ten minutes ghost text comes only when asked for. */
import { commands, type Disposable, EventEmitter } from "vscode";

const MINUTES = 10;

export class Pause implements Disposable {
  readonly #changed = new EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  #timer: NodeJS.Timeout | undefined;
  #until: number | undefined;

  /** When it ends, in milliseconds of the clock; undefined without one. */
  get until(): number | undefined {
    return this.#until;
  }

  begin(): void {
    this.#set(Date.now() + MINUTES * 60_000);
    this.#timer = setTimeout(() => { this.end(); }, MINUTES * 60_000);
  }

  end(): void {
    this.#set(undefined);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#changed.dispose();
  }

  #set(until: number | undefined): void {
    clearTimeout(this.#timer);
    this.#until = until;
    void commands.executeCommand("setContext", "cloverWrite.paused", until !== undefined);
    this.#changed.fire();
  }
}
