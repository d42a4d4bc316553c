import assert from "node:assert/strict";
import { test } from "node:test";

import { menu } from "../src/menu.js";
import { AT_FIRST, face, type Situation } from "../src/situation.js";

const RUNS: Situation = { ...AT_FIRST, phase: "running" };
const failing = { busy: false, kind: "Error", message: "the model is not here" } as const;

const SITUATIONS: [string, Partial<Situation>, string, string, string][] = [
  ["ready", {}, "$(sparkle) Clover", "Ready", "none"],
  ["on another machine", { status: { busy: false, kind: "Normal", message: "3 tokens", where: "office" } }, "$(cloud-upload) Clover", "text goes to office", "none"],
  ["busy", { status: { busy: true, kind: "Normal", message: "" } }, "$(sync~spin) Clover", "Writing", "none"],
  ["off here", { status: { busy: false, kind: "Inactive", message: "a secret file" } }, "$(circle-slash) Clover", "a secret file", "none"],
  ["late", { status: { busy: true, kind: "Warning", message: "loading" } }, "$(warning) Clover", "loading", "warning"],
  ["failing", { status: failing }, "$(error) Clover", "the model is not here", "error"],
  ["failing in a pause", { status: failing, pausedUntil: 1 }, "$(error) Clover", "the model is not here", "error"],
  ["paused", { pausedUntil: 1 }, "$(debug-pause) Clover", "Paused until", "none"],
  ["downloading", { status: failing, pull: { model: "m", share: 0.429 } }, "$(cloud-download) Clover 42 %", "model m: 42 %", "none"],
  ["missing", { phase: "missing" }, "$(error) Clover", "not installed", "error"],
  ["stopped", { phase: "stopped", reason: "no such file" }, "$(error) Clover", "no such file", "error"],
  ["starting", { phase: "starting" }, "$(loading~spin) Clover", "starting", "none"],
];

for (const [name, news, text, tooltip, severity] of SITUATIONS) {
  test(`the status bar, ${name}`, () => {
    const shown = face({ ...RUNS, ...news });
    assert.equal(shown.text, text);
    assert.ok(shown.tooltip.includes(tooltip), shown.tooltip);
    assert.equal(shown.severity, severity);
  });
}

const WAYS_OUT: [string, Partial<Situation>, string][] = [
  ["missing", { phase: "missing" }, "cloverWrite.setUp"],
  ["stopped", { phase: "stopped" }, "cloverWrite.restart"],
  ["failing", { status: failing }, "cloverWrite.showLog"],
  ["ready", {}, "cloverWrite.complete"],
];

for (const [name, news, first] of WAYS_OUT) {
  test(`the menu begins with what one wants, ${name}`, () => {
    const entries = menu({ ...RUNS, ...news }, "markdown", false);
    assert.equal(entries[0]?.command, first);
    assert.ok(entries.some(({ command }) => command === "cloverWrite.showLog"));
    assert.equal(new Set(entries.map(({ command }) => command)).size, entries.length);
  });
}

test("the menu pauses what runs and resumes what is paused", () => {
  const labels = (now: Partial<Situation>, paused: boolean): string =>
    menu({ ...RUNS, ...now }, "markdown", paused).map(({ label }) => label).join();
  assert.match(labels({}, false), /Pause for 10 Minutes.*Pause in markdown/);
  assert.match(labels({ pausedUntil: 1 }, true), /Resume.*Resume in markdown/);
});
