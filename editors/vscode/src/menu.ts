/** What a click on the status bar offers. */
import type { Situation } from "./situation.js";

export interface Entry {
  readonly label: string;
  readonly command: string;
}

/** The commands that make sense now; where something is wrong, the way out of it first. */
export function menu(now: Situation, language: string | undefined, languageIsPaused: boolean): Entry[] {
  const entries: Entry[] = [];
  const add = (label: string, command: string): void => void entries.push({ label, command: `cloverWrite.${command}` });
  if (now.phase === "missing") add("$(desktop-download) Set Up the Server…", "setUp");
  if (now.phase === "stopped") add("$(debug-restart) Start the Server Again", "restart");
  if (now.phase === "running") {
    if (now.status.kind === "Error") {
      add("$(output) Show What Went Wrong", "showLog");
      add("$(cloud-download) Choose or Download a Model…", "chooseModel");
      add("$(debug-restart) Restart the Server", "restart");
    }
    if (language !== undefined) add("$(sparkle) Complete Now", "complete");
    if (now.pausedUntil === undefined) add("$(debug-pause) Pause for 10 Minutes", "pause");
    else add("$(debug-continue) Resume", "resume");
    if (language !== undefined) {
      const verb = languageIsPaused ? "$(debug-continue) Resume" : "$(debug-pause) Pause";
      add(`${verb} in ${language} Documents`, "toggleLanguage");
    }
    if (now.status.kind !== "Error") add("$(server-process) Choose Model…", "chooseModel");
  }
  if (now.phase !== "missing") add("$(tools) Set Up the Server…", "setUp");
  add("$(output) Show Log", "showLog");
  return entries.filter((entry, at) => entries.findIndex((other) => other.command === entry.command) === at);
}
