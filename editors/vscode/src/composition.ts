/**
 * Whether an input method is at work. VS Code does not tell extensions; what it shows of a composition is a row of
 * changes each of which replaces what the one before put in by a longer or shorter form of it (n, ni, nih, niha).
 */

/** One edit of a document: `length` characters from `offset` on give way to `text`. */
export interface Change {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/** A composition grows by a key's worth; an entry of the popup taken over a letter grows by more. */
const MOST_GROWTH = 3;

export class Composition {
  #last: Change | undefined;
  #active = false;

  get active(): boolean {
    return this.#active;
  }

  /** Take note of a document's change. */
  changed(changes: readonly Change[]): void {
    const change = changes.length === 1 ? changes[0] : undefined;
    this.#active = change !== undefined && this.#last !== undefined && goesOn(this.#last, change);
    this.#last = change;
  }
}

function goesOn(last: Change, next: Change): boolean {
  const again = next.offset === last.offset && next.length === last.text.length && next.length > 0;
  const growth = next.text.length - last.text.length;
  const sameForm = next.text.startsWith(last.text) || (next.text !== "" && last.text.startsWith(next.text));
  return again && sameForm && growth <= MOST_GROWTH;
}
