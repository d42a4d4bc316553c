// What a job was made of, step by step: of each forward, what stood in every hole behind it.

// before anything is known of a hole
const OPEN = { text: "", confidence: 0, settled: false };

export class Film {
  /** `segments` are the canvas as `clover/canvas` tells it. */
  constructor({ segments }) {
    this.segments = segments;
    const holes = segments.filter((segment) => "maxTokens" in segment);
    this.steps = [{ forwards: 0, holes: holes.map(() => [OPEN]) }];
    this.stats = null;
    this.ended = false;
  }

  get last() {
    return this.steps.length - 1;
  }

  /** Take a draft; holes that are written side by side share their forwards. */
  draft({ hole, pieces, text, forwards }) {
    // of a hole with choices no pieces are told
    const now = pieces.length || !text ? pieces : [{ text, confidence: 1, settled: true }];
    this.#add(forwards, this.steps[this.last].holes.with(hole, now));
  }

  /** Take the end: what is in the holes now, which is nothing new where the job was ended early. */
  end({ fills, stats }) {
    this.ended = true;
    if (!fills) return;
    const { holes } = this.steps[this.last];
    this.stats = stats;
    this.#add(stats.forwards, fills.map((fill, hole) => cut(holes[hole], fill)));
  }

  #add(forwards, holes) {
    if (forwards === this.steps[this.last].forwards) this.steps.pop();
    this.steps.push({ forwards, holes });
  }
}

/** How many tokens of a step are settled, and how many are masks. */
export function counted({ holes }) {
  const pieces = holes.flat();
  const settled = pieces.filter((piece) => piece.settled).length;
  return { settled, open: pieces.length - settled };
}

/** The settled pieces as far as they are in the hole's text; one for all of it where they are not. */
function cut(pieces, { text, confidence }) {
  const settled = pieces.filter((piece) => piece.settled);
  let at = settled.map((piece) => piece.text).join("").indexOf(text);
  if (at < 0) return [{ text, confidence, settled: true }];
  let end = at + text.length;
  const kept = [];
  for (const piece of settled) {
    const part = piece.text.slice(Math.max(0, at), Math.max(0, end));
    if (part) kept.push({ ...piece, text: part });
    at -= piece.text.length;
    end -= piece.text.length;
  }
  return kept;
}
