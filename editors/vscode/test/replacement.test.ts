import assert from "node:assert/strict";
import { test } from "node:test";

import { replacement } from "../src/replacement.js";

const LINES = ["a\n", "b\r\n", "a\r\n", "é😀\n", "", "\n", "end"];

test("it makes one text of the other, in whole lines, whatever they are", () => {
  // every pair of texts of up to three lines
  const texts = LINES.flatMap((one) => LINES.flatMap((two) => LINES.map((three) => one + two + three)));
  for (const before of texts) {
    for (const after of texts) {
      const { start, end, text } = replacement(before, after);
      assert.equal(before.slice(0, start) + text + before.slice(end), after);
      for (const at of [start, end]) assert.ok(at === 0 || at === before.length || before[at - 1] === "\n");
    }
  }
});

test("lines that both have stay out of it", () => {
  const { start, end, text } = replacement("one\ntwo\nthree\n", "one\n2\nthree\n");
  assert.deepEqual([start, end, text], [4, 8, "2\n"]);
  assert.equal(replacement("same\n", "same\n").text, "");
});
