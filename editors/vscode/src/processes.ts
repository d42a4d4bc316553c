/** Runs programs: the server's command line, and what installs it. */
import { spawn } from "node:child_process";

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

export interface Run {
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Told of each line on either output. */
  readonly line?: (line: string) => void;
}

/** The program ended badly, or could not be run; the message is its last line. */
export class ProgramFailed extends Error {}

/** What the program printed. Raises ProgramFailed. */
export function run({ program, args }: Command, how: Run = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...process.env, ...how.env },
      stdio: ["ignore", "pipe", "pipe"],
      ...(how.signal && { signal: how.signal }),
    });
    let printed = "";
    let last = "";
    const heard = (line: string): void => {
      if (line.trim()) last = line.trim();
      how.line?.(line);
    };
    child.stdout.setEncoding("utf8").on("data", (part: string) => (printed += part));
    child.stdout.on("data", byLine(heard));
    child.stderr.setEncoding("utf8").on("data", byLine(heard));
    child.on("error", (error) => { reject(new ProgramFailed(`${program}: ${error.message}`)); });
    child.on("close", (status) => {
      if (status === 0) resolve(printed);
      else reject(new ProgramFailed(last || `${program} ended with status ${status ?? "none"}`));
    });
  });
}

/** A command as one would type it, to show. */
export function shown({ program, args }: Command): string {
  return [program, ...args].map((part) => (/[\s"']/.test(part) ? JSON.stringify(part) : part)).join(" ");
}

function byLine(take: (line: string) => void): (part: string) => void {
  let open = "";
  return (part) => {
    const lines = (open + part).split(/\r?\n/);
    open = lines.pop() ?? "";
    lines.forEach(take);
  };
}
