/** How things stand, and what the status bar says of it. */

/** `clover/status`, as the server tells it. */
export interface ServerStatus {
  readonly busy: boolean;
  readonly kind: "Normal" | "Inactive" | "Warning" | "Error";
  readonly message: string;
  /** The engine on another machine that text was last sent to; none: it stayed here. */
  readonly where?: string;
}

export type Phase = "missing" | "starting" | "running" | "stopped";

export interface Situation {
  /** What the server's process does; `reason` says why it stopped. */
  readonly phase: Phase;
  readonly reason: string;
  readonly status: ServerStatus;
  /** A model that is being fetched, and how much of it is here, 0 to 1. */
  readonly pull: { readonly model: string; readonly share: number } | undefined;
  /** Until when ghost text waits to be asked for, in milliseconds of the clock. */
  readonly pausedUntil: number | undefined;
}

export const QUIET: ServerStatus = { busy: false, kind: "Normal", message: "" };
export const AT_FIRST: Situation = {
  phase: "starting",
  reason: "",
  status: QUIET,
  pull: undefined,
  pausedUntil: undefined,
};

export interface Face {
  /** With a codicon before it. */
  readonly text: string;
  readonly tooltip: string;
  readonly severity: "none" | "warning" | "error";
}

/** What is shown of a situation; the gravest comes first. */
export function face(now: Situation): Face {
  const { phase, status, pull } = now;
  if (pull) {
    const percent = Math.floor(pull.share * 100);
    return plain(`$(cloud-download) Clover ${percent} %`, `Downloading the model ${pull.model}: ${percent} %`);
  }
  if (phase === "missing") {
    return { text: "$(error) Clover", tooltip: "The server is not installed: click to set it up", severity: "error" };
  }
  if (phase === "stopped") {
    return { text: "$(error) Clover", tooltip: `The server has stopped: ${now.reason}`, severity: "error" };
  }
  if (phase === "starting") return plain("$(loading~spin) Clover", "The server is starting");
  if (status.kind === "Error") return { text: "$(error) Clover", tooltip: status.message, severity: "error" };
  if (now.pausedUntil !== undefined) {
    return plain("$(debug-pause) Clover", `Paused until ${clock(now.pausedUntil)}: ghost text comes when asked for`);
  }
  if (status.kind === "Warning") return { text: "$(warning) Clover", tooltip: status.message, severity: "warning" };
  if (status.busy) return plain("$(sync~spin) Clover", "Writing");
  if (status.kind === "Inactive") return plain("$(circle-slash) Clover", status.message);
  if (status.where) return plain("$(cloud-upload) Clover", `Ready, text goes to ${status.where}: ${status.message}`);
  return plain("$(sparkle) Clover", status.message ? `Ready: ${status.message}` : "Ready");
}

function plain(text: string, tooltip: string): Face {
  return { text, tooltip, severity: "none" };
}

function clock(time: number): string {
  return new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}
