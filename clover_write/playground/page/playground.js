// Joins the page: the editor and the panel over one connection to the language server.
import { Connection } from "./connection.js";
import { Editor, loadMonaco } from "./editor.js";
import { Panel } from "./panel.js";

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
const [sample, decoding, status] = ["sample", "decoding", "status"].map((id) =>
  document.getElementById(id),
);
const panel = new Panel(document.getElementById("panel"));
let connection = null;

function tell(message, kind = "Normal", busy = false) {
  status.textContent = message;
  status.dataset.kind = kind;
  status.classList.toggle("busy", busy);
}

/** Monaco in the colours of the page. */
async function makeEditor() {
  const monaco = await loadMonaco();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => monaco.editor.setTheme(dark.matches ? "vs-dark" : "vs");
  dark.addEventListener("change", follow);
  follow();
  return new Editor(monaco, document.getElementById("editor"));
}

async function open(editor) {
  const { name, language } = sample.selectedOptions[0].dataset;
  const response = await fetch(`samples/${sample.value}.txt`);
  editor.show(await response.text(), language, name);
}

/** Go on with a server that writes as chosen; the one before has nothing to do any more. */
async function connect(editor) {
  tell("connecting", "Normal", true);
  const made = await Connection.open(token);
  made.on("clover/status", ({ message, kind, busy }) => {
    const wasLate = status.dataset.kind === "Warning";
    tell(message || "ready", kind, busy);
    // who waits types nothing
    if (wasLate && kind === "Normal" && !busy) editor.ask();
  });
  made.on("window/showMessage", ({ message }) => tell(message, "Warning"));
  panel.follow(made);
  await editor.connect(made, decoding.value);
  const before = connection;
  connection = made;
  before?.close();
  made.closed.then(() => made === connection && tell("the server has gone: start it again", "Error"));
  tell("ready");
}

// what fails is said; Monaco drops promises of its own that it has taken back
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "Canceled") event.preventDefault();
  else tell(String(event.reason?.message ?? event.reason), "Error");
});

async function start() {
  const editor = await makeEditor();
  sample.addEventListener("change", () => open(editor));
  decoding.addEventListener("change", () => connect(editor));
  await open(editor);
  await connect(editor);
}

start();
