/** The user's settings under `cloverWrite`. */
import { ConfigurationTarget, workspace } from "vscode";

import type { Languages } from "../languages.js";

export const SECTION = "cloverWrite";
/** Of machine scope: no workspace can set them. Each makes another server. */
export const OF_THE_SERVER = ["serverPath", "model", "profile"].map((name) => `${SECTION}.${name}`);

type Name = "serverPath" | "installFrom" | "model" | "profile";

export function setting(name: Name): string {
  return workspace.getConfiguration(SECTION).get<string>(name, "").trim();
}

export async function set(name: Name, value: string): Promise<void> {
  await workspace.getConfiguration(SECTION).update(name, value, ConfigurationTarget.Global);
}

/** What the server and its command line find in their environment. */
export function environment(): Record<string, string> {
  const set = { CLOVER_WRITE_MODEL: setting("model"), CLOVER_WRITE_PROFILE: setting("profile") };
  // what is empty is left to config.toml
  return Object.fromEntries(Object.entries(set).filter(([, value]) => value));
}

export function languages(): Languages {
  return workspace.getConfiguration(SECTION).get<Languages>("languages", {});
}

export async function setLanguages(value: Languages): Promise<void> {
  const told = Object.keys(value).length > 0 ? value : undefined;
  await workspace.getConfiguration(SECTION).update("languages", told, ConfigurationTarget.Global);
}
