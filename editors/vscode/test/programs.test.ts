import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";

import { installers } from "../src/installers.js";
import { listModels, progressOf, pullModel } from "../src/models.js";
import { ProgramFailed, run, shown } from "../src/processes.js";
import { findProgram, versionOf } from "../src/program.js";

async function script(name: string, body: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "clover write ")), name);
  await writeFile(file, `#!/bin/sh\n${body}\n`);
  await chmod(file, 0o755);
  return file;
}

test("the first program of the path counts, then those in the folders", async () => {
  const here = await script("clover-write", "true");
  const folder = join(here, "..");
  const there = join(await script("clover-write", "true"), "..");
  assert.equal(await findProgram("clover-write", ["/nowhere", folder, there].join(delimiter), []), here);
  assert.equal(await findProgram("clover-write", "", [folder]), here);
  assert.equal(await findProgram("clover-write", "/nowhere", ["/nowhere"]), undefined);
});

test("what is no program, and what lies in the opened folder, is not run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "clover-"));
  await writeFile(join(folder, "clover-write"), "");
  await mkdir(join(folder, "uv"));
  assert.equal(await findProgram("clover-write", folder, []), undefined);
  assert.equal(await findProgram("uv", folder, []), undefined);
  const before = process.cwd();
  process.chdir(join(await script("clover-write", "true"), ".."));
  try {
    assert.equal(await findProgram("clover-write", [".", ""].join(delimiter), [""]), undefined);
  } finally {
    process.chdir(before);
  }
});

test("a program tells its version, another one does not", async () => {
  assert.equal(await versionOf(await script("clover-write", "echo clover-write 1.2.3")), "1.2.3");
  assert.equal(await versionOf(await script("other", "echo GNU other 1.0")), undefined);
});

test("a program that fails says why by its last line", async () => {
  const failing = await script("failing", "echo first >&2; echo 'it is broken' >&2; exit 3");
  await assert.rejects(run({ program: failing, args: [] }), new ProgramFailed("it is broken"));
  await assert.rejects(run({ program: "/nowhere/program", args: [] }), ProgramFailed);
});

test("a program that is not wanted any more ends", async () => {
  const aborting = new AbortController();
  const endless = await script("endless", "echo begun; exec sleep 600");
  const line = (): void => { aborting.abort(); };
  await assert.rejects(run({ program: endless, args: [] }, { signal: aborting.signal, line }), ProgramFailed);
});

test("models are listed and pulled by the command line", async () => {
  const model = { name: "m", title: "M", license: "MIT", size: 5, ready: false, chosen: true };
  const program = await script(
    "clover-write",
    `case "$2" in
      list) echo '[${JSON.stringify(model)}]' ;;
      pull) echo "from $CLOVER_WRITE_MODEL" >&2; echo '{"stage": "downloading", "done": 5, "total": 10}' ;;
    esac`,
  );
  assert.deepEqual(await listModels(program, {}), [model]);
  const heard: unknown[] = [];
  await pullModel(program, "m", {
    env: { CLOVER_WRITE_MODEL: "m" },
    signal: new AbortController().signal,
    told: (stage, share) => heard.push([stage, share]),
    line: (line) => heard.push(line),
  });
  assert.deepEqual(new Set(heard.map(String)), new Set(["from m", "downloading,0.5"]));
});

test("of an empty stage nothing is done", () => {
  assert.deepEqual(progressOf('{"stage": "downloading", "done": 0, "total": 0}'), { stage: "downloading", share: 0 });
  assert.equal(progressOf("m is ready"), undefined);
});

test("installers are those that are here, and say what they run", () => {
  const none = { uv: undefined, pipx: undefined, python: undefined };
  assert.deepEqual(installers(none, "clover-write", "/s"), []);
  const all = installers({ uv: "/bin/uv", pipx: "/bin/pipx", python: "/bin/python3" }, "./my wheel.whl", "/s");
  assert.deepEqual(all.map(({ name }) => name), ["uv", "pipx", "venv"]);
  const [uv] = all;
  assert.equal(uv?.steps.map(shown).join(), '/bin/uv tool install --force "./my wheel.whl"');
  for (const { steps } of all) assert.equal(steps.at(-1)?.args.at(-1), "./my wheel.whl");
});
