/** The server's program: found, chosen by the user, or installed once they agreed. */
import { homedir } from "node:os";

import { type ExtensionContext, type LogOutputChannel, ProgressLocation, window } from "vscode";

import { type Installer, installers, IS_NEW_ENOUGH, PYTHONS } from "../installers.js";
import { ProgramFailed, run, shown } from "../processes.js";
import { findProgram, installFolders, isProgram, NAME, versionOf } from "../program.js";
import { set, setting } from "./settings.js";

const ASKED = "askedToInstall";

export class Installation {
  readonly #storage: string;

  constructor(
    private readonly context: ExtensionContext,
    private readonly log: LogOutputChannel,
  ) {
    this.#storage = context.globalStorageUri.fsPath;
  }

  /** The program's path, undefined if there is none. Raises Error where the setting names no program. */
  async find(): Promise<string | undefined> {
    const path = setting("serverPath");
    if (!path) return findProgram(NAME, process.env["PATH"] ?? "", installFolders(homedir(), this.#storage));
    if (!(await isProgram(path))) throw new Error(`The setting serverPath names no program: ${path}`);
    return path;
  }

  /** Once on this machine, say that the server is missing; whether the user wants to see to that. */
  async ask(): Promise<boolean> {
    if (this.context.globalState.get(ASKED)) return false;
    await this.context.globalState.update(ASKED, true);
    const question = "Clover Write needs its server, a Python program that runs on this machine.";
    return (await window.showInformationMessage(question, "Set Up…", "Not Now")) === "Set Up…";
  }

  /** Have the user choose how to come by the program; whether there is another one now. Raises ProgramFailed. */
  async choose(): Promise<boolean> {
    const ways = installers(await tools(), setting("installFrom"), this.#storage);
    const items = ways.map((way) => ({
      label: `$(desktop-download) Install with ${way.name}`,
      description: way.about,
      // what will be run, to the letter
      detail: way.steps.map(shown).join("  &&  "),
      way,
    }));
    const own = {
      label: "$(folder-opened) Choose the Program…",
      description: "It is installed already",
      detail: `${NAME}, which is kept in the setting serverPath`,
      way: undefined,
    };
    const title = ways.length > 0 ? "Which server?" : "Which server? To install one, Python 3.11 or uv is needed";
    const picked = await window.showQuickPick([...items, own], { title, matchOnDetail: true });
    if (!picked) return false;
    return picked.way ? this.#install(picked.way) : this.#open();
  }

  async #install(way: Installer): Promise<boolean> {
    const aborting = new AbortController();
    const title = `Installing the server with ${way.name}`;
    const options = { location: ProgressLocation.Notification, title, cancellable: true };
    await window.withProgress(options, async (progress, token) => {
      token.onCancellationRequested(() => { aborting.abort(); });
      const line = (text: string): void => {
        this.log.info(text);
        progress.report({ message: text.trim().slice(0, 80) });
      };
      for (const step of way.steps) {
        this.log.info(shown(step));
        await run(step, { line, signal: aborting.signal });
      }
    });
    return true;
  }

  async #open(): Promise<boolean> {
    const [file] = (await window.showOpenDialog({ title: `Where is ${NAME}?`, openLabel: "Use It" })) ?? [];
    if (!file) return false;
    if ((await versionOf(file.fsPath)) === undefined) throw new ProgramFailed(`${file.fsPath} is not ${NAME}`);
    await set("serverPath", file.fsPath);
    return true;
  }
}

async function tools(): Promise<{ uv: string | undefined; pipx: string | undefined; python: string | undefined }> {
  const path = process.env["PATH"] ?? "";
  const find = (name: string): Promise<string | undefined> =>
    findProgram(process.platform === "win32" ? `${name}.exe` : name, path, installFolders(homedir(), ""));
  return { uv: await find("uv"), pipx: await find("pipx"), python: await newEnough(find) };
}

/** The first Python that can run the server. */
async function newEnough(find: (name: string) => Promise<string | undefined>): Promise<string | undefined> {
  for (const name of PYTHONS) {
    const program = await find(name);
    if (!program) continue;
    try {
      await run({ program, args: ["-c", IS_NEW_ENOUGH] });
      return program;
    } catch (error) {
      if (!(error instanceof ProgramFailed)) throw error;
    }
  }
  return undefined;
}
