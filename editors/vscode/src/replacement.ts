/** The smallest run of whole lines whose exchange makes one text of another. */

export interface Replacement {
  /** UTF-16 code units of the old text; both ends are at the beginning of a line or the end of the text. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export function replacement(before: string, after: string): Replacement {
  const old = lines(before);
  const now = lines(after);
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const start = old.slice(0, head).join("").length;
  const end = before.length - old.slice(old.length - tail).join("").length;
  return { start, end, text: now.slice(head, now.length - tail).join("") };
}

/** With their ends: a text is never cut inside \r\n or a character. */
function lines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
