/** Wiring: makes the parts and joins them to VS Code. */
import { commands, type ExtensionContext, window, workspace } from "vscode";

import { Guards } from "./editor/guards.js";
import { Installation } from "./editor/installation.js";
import { ModelPicker } from "./editor/modelPicker.js";
import { Pause } from "./editor/pause.js";
import { Review } from "./editor/review.js";
import { Server } from "./editor/server.js";
import { Session } from "./editor/session.js";
import { OF_THE_SERVER } from "./editor/settings.js";
import { StatusBar } from "./editor/statusBar.js";

let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const log = window.createOutputChannel("Clover Write", { log: true });
  const bar = new StatusBar();
  const pause = new Pause();
  const guards = new Guards();
  server = new Server(bar, log, pause, guards);
  const review = new Review(server);
  const session = new Session(
    bar,
    log,
    pause,
    server,
    review,
    new Installation(context, log),
    new ModelPicker(bar, log),
  );
  context.subscriptions.push(log, bar, pause, guards, review);

  /** Does what may fail; the user is told what. */
  const telling = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      await work();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      log.error(message);
      void window.showErrorMessage(`Clover Write: ${message}`);
    }
  };
  for (const [name, work] of Object.entries(session.commands)) {
    context.subscriptions.push(commands.registerCommand(`cloverWrite.${name}`, () => telling(work)));
  }
  context.subscriptions.push(
    pause.onDidChange(() => {
      bar.tell({ pausedUntil: pause.until });
      void server?.reconfigure();
    }),
    window.onDidChangeTextEditorSelection((event) => session.moved(event)),
    workspace.onDidChangeConfiguration((event) => {
      if (OF_THE_SERVER.some((name) => event.affectsConfiguration(name))) void telling(() => session.start());
    }),
  );
  // the window does not wait for the server
  void telling(() => session.start());
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
