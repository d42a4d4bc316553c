import assert from "node:assert/strict";
import { test } from "node:test";

import { type Change, Composition } from "../src/composition.js";

function after(...changes: Change[]): boolean {
  const composition = new Composition();
  for (const change of changes) composition.changed([change]);
  return composition.active;
}

const put = (offset: number, length: number, text: string): Change => ({ offset, length, text });

test("forms that take each other's place are a composition", () => {
  assert.equal(after(put(5, 0, "n"), put(5, 1, "ni")), true);
  assert.equal(after(put(5, 0, "n"), put(5, 1, "ni"), put(5, 2, "ni h")), true);
  assert.equal(after(put(5, 0, "n"), put(5, 1, "ni"), put(5, 2, "n")), true);
});

test("the text it was for ends it", () => {
  assert.equal(after(put(5, 0, "n"), put(5, 1, "ni"), put(5, 2, "你")), false);
});

test("typing, deleting and taking an entry of the popup are none", () => {
  assert.equal(after(put(5, 0, "n"), put(6, 0, "i")), false);
  assert.equal(after(put(5, 0, "n"), put(5, 1, "")), false);
  assert.equal(after(put(5, 0, "p"), put(5, 1, "print")), false);
  assert.equal(after(put(5, 0, ""), put(5, 0, "n")), false);
});

test("edits at several places are none", () => {
  const composition = new Composition();
  composition.changed([put(5, 0, "n")]);
  composition.changed([put(5, 1, "ni"), put(9, 1, "ni")]);
  assert.equal(composition.active, false);
});
