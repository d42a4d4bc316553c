/** The language server: its process, what it is told, what it tells. */
import { homedir } from "node:os";

import { type CancellationToken, type LogOutputChannel, workspace } from "vscode";
import {
  ExecuteCommandRequest,
  LanguageClient,
  type LanguageClientOptions,
  type Middleware,
  RevealOutputChannelOn,
  State,
  TransportKind,
} from "vscode-languageclient/node";

import { forServer } from "../serverSettings.js";
import { QUIET, type ServerStatus } from "../situation.js";
import type { Guards } from "./guards.js";
import type { Pause } from "./pause.js";
import { environment, SECTION } from "./settings.js";
import type { StatusBar } from "./statusBar.js";

// untitled documents and notebooks too; views and panels of VS Code are documents as well, and are none of ours
const SCHEMES = ["file", "untitled", "vscode-notebook-cell", "vscode-vfs", "memfs"];

type Values = Readonly<Record<string, unknown>>;
/** A command of the server's, taken over by this extension. */
export type Instead = (command: string, args: unknown[]) => Promise<unknown> | undefined;

export class Server {
  /** What the user reaches by the server's code actions and is done here in another way. */
  instead: Instead = () => undefined;
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
    const options = { cwd: homedir(), env: { ...process.env, ...environment() } };
    const executable = { command: program, args: ["lsp"], transport: TransportKind.stdio, options };
    const client = new LanguageClient(SECTION, "Clover Write", executable, this.#options());
    this.#client = client;
    client.onDidChangeState(({ newState }) => {
      if (client === this.#client) this.#follow(newState);
    });
    client.onNotification("clover/status", (status: ServerStatus) => {
      this.bar.tell({ status });
      if (status.kind === "Error") this.failed();
    });
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
  async command<T>(command: string, args: unknown[], token?: CancellationToken): Promise<T> {
    if (!this.#client?.isRunning()) throw new Error("The server does not run: click Clover in the status bar.");
    return (await this.#client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args }, token)) as T;
  }

  /** Tell the server, if it runs. */
  async notify(method: string, params: unknown): Promise<void> {
    if (this.#client?.isRunning()) await this.#client.sendNotification(method, params);
  }

  /** The settings may be others now. */
  async reconfigure(): Promise<void> {
    await this.notify("workspace/didChangeConfiguration", { settings: null });
  }

  #follow(state: State): void {
    if (state === State.Starting) this.bar.tell({ phase: "starting", status: QUIET });
    else if (state === State.Running) this.bar.tell({ phase: "running" });
    else this.bar.tell({ phase: "stopped", reason: "its log says why" });
  }

  #options(): LanguageClientOptions {
    return {
      documentSelector: [...SCHEMES.map((scheme) => ({ scheme }))],
      outputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      // the status bar says so already
      initializationFailedHandler: () => false,
      middleware: this.#middleware(),
    };
  }

  #middleware(): Middleware {
    return {
      provideInlineCompletionItems: (document, position, context, token, next) =>
        this.guards.allow(document, context) ? next(document, position, context, token) : [],
      executeCommand: (command, args: unknown[], next): unknown => this.instead(command, args) ?? next(command, args),
      workspace: {
        configuration: (params) =>
          params.items.map(({ section, scopeUri }) => {
            const scope = scopeUri === undefined ? undefined : this.#client?.protocol2CodeConverter.asUri(scopeUri);
            const value = workspace.getConfiguration(undefined, scope).get<Values>(section ?? SECTION, {});
            return section === SECTION ? forServer(value, this.pause.until !== undefined) : value;
          }),
      },
    };
  }
}
