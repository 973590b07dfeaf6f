// The words of both axes, a few at a time: of a hundred thousand tokens only those are asked for that are read.

import type { Look } from '../../contract/types';
import type { LookSource } from '../heads/source';
import { readable, sideOf } from '../heads/tokens';

const PART = 64; // tokens asked for at once

export class TextStore {
  readonly #parts = new Map<string, string[] | null>(); // null: on its way
  readonly #look: Look;

  constructor(
    private readonly reader: LookSource,
    private readonly changed: () => void,
  ) {
    this.#look = reader.look;
  }

  /** A token, or null where it is still on its way. */
  token(side: 'source' | 'target', position: number): string | null {
    const known = sideOf(this.#look, side);
    if (position < known.length) return known[position];
    const part = Math.floor(position / PART);
    const key = `${side} ${part}`;
    const found = this.#parts.get(key);
    if (found) return found[position - part * PART] ?? null;
    if (found === undefined) {
      this.#parts.set(key, null);
      this.reader
        .text(side, part * PART, (part + 1) * PART)
        .then((text) => {
          this.#parts.set(key, text.tokens);
          this.changed();
        })
        .catch(() => this.#parts.delete(key));
    }
    return null;
  }

  /** A few tokens from a position on, as people read them. */
  words(side: 'source' | 'target', position: number, count: number): string {
    const words: string[] = [];
    for (let at = position; at < position + count; at++) {
      const token = this.token(side, at);
      if (token === null) break;
      words.push(count === 1 ? readable(token) : token.length > 40 ? `${token.slice(0, 40)}…` : token);
    }
    if (words.length === 0) return '';
    return count === 1 ? words[0] : readable(words.join(''), 60);
  }

  /** The text around a position: what stands before it, itself, and what comes after. */
  around(side: 'source' | 'target', position: number, reach: number): [string, string, string] {
    const join = (from: number, to: number) => {
      let text = '';
      for (let at = Math.max(0, from); at < to; at++) text += (this.token(side, at) ?? '').slice(0, 60);
      return text;
    };
    return [
      join(position - reach, position),
      this.token(side, position) ?? '…',
      join(position + 1, position + 1 + reach),
    ];
  }
}
