/** The language client, and how it differs from any other. */
import { homedir } from "node:os";

import { type LogOutputChannel, type Uri, workspace } from "vscode";
import {
  LanguageClient,
  type Middleware,
  RevealOutputChannelOn,
  State,
  TransportKind,
} from "vscode-languageclient/node";

import { forServer } from "../serverSettings.js";
import type { Phase, ServerStatus } from "../situation.js";
import type { Guards } from "./guards.js";
import { environment, SECTION } from "./settings.js";

// untitled documents and notebooks too; views and panels of VS Code are documents as well, and are none of ours
const SCHEMES = ["file", "untitled", "vscode-notebook-cell", "vscode-vfs", "memfs"];

type Values = Readonly<Record<string, unknown>>;

/** What a client asks of the rest, and tells it. */
export interface Surroundings {
  readonly log: LogOutputChannel;
  readonly guards: Guards;
  readonly isPaused: () => boolean;
  /** A command of the server's that is done here in another way, undefined for all others. */
  readonly instead: (command: string, args: unknown[]) => Promise<unknown> | undefined;
  readonly phase: (phase: Phase) => void;
  readonly status: (status: ServerStatus) => void;
}

/** A client of the program, not yet started. */
export function createClient(program: string, around: Surroundings): LanguageClient {
  const options = { cwd: homedir(), env: { ...process.env, ...environment() } };
  const executable = { command: program, args: ["lsp"], transport: TransportKind.stdio, options };
  const client: LanguageClient = new LanguageClient(SECTION, "Clover Write", executable, {
    documentSelector: SCHEMES.map((scheme) => ({ scheme })),
    outputChannel: around.log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    // the status bar says so already
    initializationFailedHandler: () => false,
    middleware: middleware(around, (uri) => client.protocol2CodeConverter.asUri(uri)),
  });
  client.onDidChangeState(({ newState }) => {
    if (newState === State.Starting) around.phase("starting");
    else around.phase(newState === State.Running ? "running" : "stopped");
  });
  client.onNotification("clover/status", around.status);
  return client;
}

function middleware({ guards, isPaused, instead }: Surroundings, asUri: (uri: string) => Uri): Middleware {
  return {
    provideInlineCompletionItems: (document, position, context, token, next) =>
      guards.allow(document, context) ? next(document, position, context, token) : [],
    executeCommand: (command, args: unknown[], next): unknown => instead(command, args) ?? next(command, args),
    workspace: {
      configuration: ({ items }) =>
        items.map(({ section, scopeUri }) => {
          const scope = scopeUri === undefined ? undefined : asUri(scopeUri);
          const value = workspace.getConfiguration(undefined, scope).get<Values>(section ?? SECTION, {});
          return section === SECTION ? forServer(value, isPaused()) : value;
        }),
    },
  };
}
