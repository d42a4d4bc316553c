import assert from "node:assert/strict";
import { test } from "node:test";

import { type Languages, modeOf, onlyWhenAsked, toggled } from "../src/languages.js";
import { forServer, SERVER_SETTINGS } from "../src/serverSettings.js";

test("a language that is not named is as all others are", () => {
  assert.equal(modeOf({}, "python"), "automatic");
  assert.equal(modeOf({ "*": { mode: "off" } }, "python"), "off");
  assert.equal(modeOf({ "*": { mode: "off" }, python: { mode: "manual" } }, "python"), "manual");
});

test("in a pause nothing comes by itself, and what is off stays off", () => {
  const paused = onlyWhenAsked({ markdown: { mode: "off" }, python: { mode: "automatic" } });
  assert.deepEqual(["markdown", "python", "go"].map((each) => modeOf(paused, each)), ["off", "manual", "manual"]);
  assert.equal(modeOf(onlyWhenAsked({ "*": { mode: "off" } }), "go"), "off");
});

const TOGGLED: Languages[] = [{}, { "*": { mode: "manual" } }, { markdown: { mode: "automatic" } }, { go: { mode: "off" } }];
for (const before of TOGGLED) {
  test(`a language is toggled, from ${JSON.stringify(before)}`, () => {
    const once = toggled(before, "markdown");
    assert.notEqual(modeOf(once, "markdown"), modeOf(before, "markdown"));
    const twice = toggled(once, "markdown");
    assert.equal(modeOf(twice, "markdown"), modeOf(before, "markdown"));
    assert.equal(modeOf(once, "go"), modeOf(before, "go"));
  });
}

test("a language toggled twice leaves nothing behind", () => {
  assert.deepEqual(toggled(toggled({}, "markdown"), "markdown"), {});
});

test("the server is told its own settings alone", () => {
  const section = { enabled: true, serverPath: "/bin/sh", model: "m", trace: { server: "off" } };
  const told = forServer(section, false);
  assert.deepEqual(Object.keys(told).sort(), [...SERVER_SETTINGS].sort());
  assert.equal(told["enabled"], true);
  assert.equal(modeOf(forServer(section, true)["languages"] as Languages, "go"), "manual");
});
