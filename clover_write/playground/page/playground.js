// Joins the page: the editor and the panel over one connection to the language server.
import { Connection } from "./connection.js";
import { Editor, loadMonaco } from "./editor.js";
import { Panel } from "./panel.js";

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
const element = (id) => document.getElementById(id);
const [sample, decoding, status] = ["sample", "decoding", "status"].map(element);
const dark = matchMedia("(prefers-color-scheme: dark)");

function tell(message, kind = "Normal", busy = false) {
  status.textContent = message;
  status.dataset.kind = kind;
  status.classList.toggle("busy", busy);
}

// Monaco drops promises of its own that it has taken back
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name === "Canceled") event.preventDefault();
});
const monaco = await loadMonaco();
const follow = () => monaco.editor.setTheme(dark.matches ? "vs-dark" : "vs");
dark.addEventListener("change", follow);
follow();

const editor = new Editor(monaco, element("editor"));
const panel = new Panel(element("panel"));
let connection = null;

/** A server that writes as chosen; the one before has nothing to do any more. */
async function connect() {
  tell("connecting", "Normal", true);
  const made = await Connection.open(token);
  made.on("clover/status", ({ message, kind, busy }) => tell(message || "ready", kind, busy));
  made.on("window/showMessage", ({ message }) => tell(message, "Warning"));
  panel.follow(made);
  await editor.connect(made, decoding.value);
  const before = connection;
  connection = made;
  before?.close();
  made.closed.then(() => made === connection && tell("the server has gone: start it again", "Error"));
  tell("ready");
}

async function open() {
  const { name, language } = sample.selectedOptions[0].dataset;
  const response = await fetch(`samples/${sample.value}.txt`);
  editor.show(await response.text(), language, name);
}

sample.addEventListener("change", open);
decoding.addEventListener("change", connect);
try {
  await open();
  await connect();
} catch (error) {
  tell(error.message, "Error");
}
