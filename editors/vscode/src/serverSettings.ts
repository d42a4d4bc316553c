/** What of the user's settings the server is told. */
import { type Languages, onlyWhenAsked } from "./languages.js";

/** The server takes these and complains about others; what names programs or addresses it takes from no editor. */
export const SERVER_SETTINGS = [
  "enabled",
  "languages",
  "minConfidence",
  "prefetch",
  "openFiles",
  "excludedLanguages",
  "secretFiles",
  "ranges",
  "templates",
  "toc",
] as const;

/** Of the section `cloverWrite`, what the server reads; while `paused` nothing comes by itself. */
export function forServer(section: Readonly<Record<string, unknown>>, paused: boolean): Record<string, unknown> {
  const told = Object.fromEntries(SERVER_SETTINGS.map((name) => [name, section[name]]));
  if (paused) told["languages"] = onlyWhenAsked((section["languages"] ?? {}) as Languages);
  return told;
}
