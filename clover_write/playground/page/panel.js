// Shows a film of the canvas: the holes in their text, a figure for each count, a row for each step.
import { Film, counted } from "./film.js";

const LINES = 4; // of a literal, at each of its ends that is at a hole
const FRAME_MS = 300;

export class Panel {
  #films = new Map();
  #film = null;
  #parts;
  #replaying = 0;

  constructor(root) {
    const part = (id) => root.querySelector(`#${id}`);
    const names = ["forwards", "settled", "open", "canvas", "replay", "step", "cost", "steps"];
    this.#parts = Object.fromEntries(names.map((name) => [name, part(name)]));
    this.#parts.step.addEventListener("input", () => this.#turnTo(this.#parts.step.valueAsNumber));
    this.#parts.replay.addEventListener("click", () => this.#replay());
  }

  /** Follow the jobs of a connection; the newest is shown. */
  follow(connection) {
    connection.on("clover/canvas", (canvas) => this.#begin(canvas));
    connection.on("clover/draft", (draft) => this.#changed(draft.job, (film) => film.draft(draft)));
    connection.on("clover/filled", (end) => this.#ended(end));
  }

  #begin(canvas) {
    this.#film = new Film(canvas);
    this.#films.set(canvas.job, this.#film);
    this.#parts.steps.replaceChildren();
    this.#showNewest();
  }

  #ended(end) {
    this.#changed(end.job, (film) => film.end(end));
    this.#films.delete(end.job);
  }

  #changed(job, change) {
    const film = this.#films.get(job);
    change(film);
    if (film === this.#film) this.#showNewest();
  }

  #showNewest() {
    clearInterval(this.#replaying);
    const { steps, step, replay, cost } = this.#parts;
    const film = this.#film;
    // the newest step changes until all of its holes are told
    while (steps.childElementCount > film.last) steps.lastChild.remove();
    for (let at = steps.childElementCount; at < film.steps.length; at++) {
      steps.append(this.#row(film.steps[at], at));
    }
    step.max = film.last;
    step.disabled = replay.disabled = !film.ended;
    cost.textContent = film.stats ? told(film.stats) : film.ended ? "ended early" : "";
    this.#turnTo(film.last);
  }

  #turnTo(at) {
    const { canvas, forwards, settled, open, step, steps } = this.#parts;
    const now = this.#film.steps[at];
    const count = counted(now);
    step.value = at;
    forwards.textContent = now.forwards;
    settled.textContent = count.settled;
    open.textContent = count.open;
    canvas.replaceChildren(...drawn(this.#film, now));
    for (const row of steps.children) row.classList.toggle("now", row === steps.children[at]);
    steps.children[at].scrollIntoView({ block: "nearest" });
  }

  #replay() {
    clearInterval(this.#replaying);
    let at = 0;
    this.#turnTo(at);
    this.#replaying = setInterval(() => {
      if (at === this.#film.last) clearInterval(this.#replaying);
      else this.#turnTo(++at);
    }, FRAME_MS);
  }

  /** A cell for each slot of a step: the whole film is a picture of masks that settle. */
  #row(step, at) {
    const row = document.createElement("button");
    row.title = `step ${at}, ${step.forwards} forwards`;
    row.addEventListener("click", () => this.#turnTo(at));
    row.append(...step.holes.flatMap((pieces) => [...pieces.map(cell), marked("gap", "")]));
    return row;
  }
}

/** The canvas with what stands in its holes. */
function* drawn(film, step) {
  let hole = 0;
  for (const [place, segment] of film.segments.entries()) {
    if ("maxTokens" in segment) {
      yield* step.holes[hole++].map(token);
    } else {
      yield marked("literal", near(segment.text, place > 0, place < film.segments.length - 1));
    }
  }
}

/** The lines of a literal near holes, of those left and right of it. */
function near(text, after, before) {
  const lines = text.split("\n");
  if (!before) return lines.slice(0, LINES).join("\n");
  if (!after) return lines.slice(-LINES).join("\n");
  if (lines.length <= 2 * LINES) return text;
  return [...lines.slice(0, LINES), "⋮", ...lines.slice(-LINES)].join("\n");
}

function token(piece) {
  // what may vanish again must not move the lines below
  const text = piece.settled ? piece.text.replaceAll("\n", "↵\n") : piece.text.replaceAll("\n", "↵");
  return sure(marked(kind(piece), text || " "), piece);
}

function cell(piece) {
  return sure(marked(`cell ${kind(piece)}`, ""), piece);
}

function kind({ settled, text }) {
  return settled ? "settled" : text ? "guess" : "mask";
}

function sure(element, { text, confidence }) {
  element.style.setProperty("--sure", `${Math.round(confidence * 100)}%`);
  if (text) element.title = `${JSON.stringify(text)} ${Math.round(confidence * 100)} %`;
  return element;
}

function marked(name, text) {
  const element = document.createElement("span");
  element.className = name;
  element.textContent = text;
  return element;
}

function told({ tokens, forwards, reused_tokens, prompt_tokens, prefill_ms, decode_ms }) {
  const each = forwards ? `${(tokens / forwards).toFixed(1)} tokens a forward, ` : "";
  const read = `${prompt_tokens - reused_tokens} of ${prompt_tokens} tokens read`;
  return `${each}${read}, ${Math.round(prefill_ms + decode_ms)} ms`;
}
