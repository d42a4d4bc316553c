/** The models the server knows, by its command line. */
import { run } from "./processes.js";

export interface Model {
  readonly name: string;
  readonly title: string;
  readonly license: string;
  /** Bytes to download. */
  readonly size: number;
  readonly ready: boolean;
  /** Whether the server uses it now. */
  readonly chosen: boolean;
}

type Environment = Readonly<Record<string, string>>;

/** Raises ProgramFailed. */
export async function listModels(program: string, env: Environment): Promise<Model[]> {
  return JSON.parse(await run({ program, args: ["models", "list", "--json"] }, { env })) as Model[];
}

/** Fetch and convert a model; `told` hears what share of the stage is through. Raises ProgramFailed. */
export async function pullModel(
  program: string,
  name: string,
  how: { env: Environment; signal: AbortSignal; told: (stage: string, share: number) => void; line: (line: string) => void },
): Promise<void> {
  const line = (text: string): void => {
    const step = progressOf(text);
    if (step) how.told(step.stage, step.share);
    else how.line(text);
  };
  await run({ program, args: ["models", "pull", "--json", name] }, { env: how.env, signal: how.signal, line });
}

/** A line of progress; undefined for any other. */
export function progressOf(line: string): { stage: string; share: number } | undefined {
  if (!line.startsWith("{")) return undefined;
  const { stage, done, total } = JSON.parse(line) as { stage: string; done: number; total: number };
  return { stage, share: total > 0 ? Math.min(done / total, 1) : 0 };
}
