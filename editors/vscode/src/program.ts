/** Where the program `clover-write` lies. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";

import { run } from "./processes.js";

export const NAME = process.platform === "win32" ? "clover-write.exe" : "clover-write";

/** A program of that path, or the first of that name on `path` or in `folders`; a workspace is never looked into. */
export async function findProgram(
  name: string,
  path: string,
  folders: readonly string[],
): Promise<string | undefined> {
  for (const folder of [...path.split(delimiter), ...folders]) {
    // a relative folder would mean the opened workspace
    const file = folder && join(folder, name);
    if (/^([/\\]|[A-Za-z]:)/.test(file) && (await isProgram(file))) return file;
  }
  return undefined;
}

/** Where tools install programs of Python for one user, and this extension into its `storage`. */
export function installFolders(home: string, storage: string): string[] {
  return [join(home, ".local", "bin"), venvPrograms(join(storage, "server"))];
}

export function venvPrograms(folder: string): string {
  return join(folder, process.platform === "win32" ? "Scripts" : "bin");
}

export async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** Its version, undefined if the file is some other program. Raises ProgramFailed. */
export async function versionOf(program: string): Promise<string | undefined> {
  const printed = await run({ program, args: ["--version"] });
  return /^clover-write (\S+)\s*$/.exec(printed)?.[1];
}
