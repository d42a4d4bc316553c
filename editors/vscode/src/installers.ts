/** The ways to install the server on this machine. */
import { join } from "node:path";

import type { Command } from "./processes.js";
import { venvPrograms } from "./program.js";

export interface Installer {
  readonly name: string;
  readonly about: string;
  readonly steps: readonly Command[];
}

/** Programs that are here, by their full path; `python` is 3.11 or newer. */
export interface Tools {
  readonly uv: string | undefined;
  readonly pipx: string | undefined;
  readonly python: string | undefined;
}

/** What can install `from` (a package, a wheel, a checkout), the best way first; `storage` is the extension's folder. */
export function installers(tools: Tools, from: string, storage: string): Installer[] {
  const found: Installer[] = [];
  const add = (name: string, about: string, ...steps: Command[]): void => void found.push({ name, about, steps });
  if (tools.uv) {
    add("uv", "An environment of its own, kept by uv", { program: tools.uv, args: ["tool", "install", "--force", from] });
  }
  if (tools.pipx) {
    add("pipx", "An environment of its own, kept by pipx", { program: tools.pipx, args: ["install", "--force", from] });
  }
  if (tools.python) {
    const folder = join(storage, "server");
    add(
      "venv",
      "A virtual environment in this extension's folder",
      { program: tools.python, args: ["-m", "venv", folder] },
      { program: join(venvPrograms(folder), "python"), args: ["-m", "pip", "install", "--upgrade", from] },
    );
  }
  return found;
}

/** Prints nothing and succeeds where Python is new enough. */
export const IS_NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))";
export const PYTHONS = ["python3.14", "python3.13", "python3.12", "python3.11", "python3", "python"];

