/** The language server: started, stopped, asked and told. */
import type { LogOutputChannel } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

import { type Phase, QUIET, type ServerStatus } from "../situation.js";
import type { Surroundings } from "./client.js";
import type { Guards } from "./guards.js";
import type { Pause } from "./pause.js";
import type { StatusBar } from "./statusBar.js";

export class Server {
  /** What the user reaches by the server's code actions and is done here in another way. */
  instead: Surroundings["instead"] = () => undefined;
  /** Called when the server says that the engine cannot answer. */
  failed: () => void = () => undefined;
  #client: LanguageClient | undefined;

  constructor(
    private readonly bar: StatusBar,
    private readonly log: LogOutputChannel,
    private readonly pause: Pause,
    private readonly guards: Guards,
  ) {}

  /** Start the program in place of the server that runs. What prevents it is shown in the status bar. */
  async start(program: string): Promise<void> {
    await this.stop();
    // the library takes longer to load than an extension may take to activate
    const { createClient } = await import("./client.js");
    const client = createClient(program, {
      log: this.log,
      guards: this.guards,
      isPaused: () => this.pause.until !== undefined,
      instead: (command, args) => this.instead(command, args),
      phase: (phase) => {
        if (client === this.#client) this.#follow(phase);
      },
      status: (status) => { this.#told(status); },
    });
    this.#client = client;
    try {
      await client.start();
    } catch (error) {
      this.log.error(String(error));
      this.bar.tell({ phase: "stopped", reason: error instanceof Error ? error.message : String(error) });
    }
  }

  async stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    // one that never came up, or has ended, has nothing to stop
    if (client?.isRunning()) await client.stop();
    this.bar.tell({ status: QUIET });
  }

  /** What a command of the server's returns. Raises Error where it does not run. */
  async command<T>(command: string, args: unknown[]): Promise<T> {
    if (!this.#client?.isRunning()) throw new Error("The server does not run: click Clover in the status bar.");
    return this.#client.sendRequest<T>("workspace/executeCommand", { command, arguments: args });
  }

  /** Tell the server, if it runs. */
  async notify(method: string, params: unknown): Promise<void> {
    if (this.#client?.isRunning()) await this.#client.sendNotification(method, params);
  }

  /** The settings may be others now. */
  async reconfigure(): Promise<void> {
    await this.notify("workspace/didChangeConfiguration", { settings: null });
  }

  #follow(phase: Phase): void {
    if (phase === "starting") this.bar.tell({ phase, status: QUIET });
    else this.bar.tell({ phase, reason: "its log says why" });
  }

  #told(status: ServerStatus): void {
    this.bar.tell({ status });
    if (status.kind === "Error") this.failed();
  }
}
