// How tokens and shares are written on this page. Token text is text: whatever is in it, it stays legible and harmless.

import { FONT } from '../../primitives/svg';

const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufe00-\ufe0f\ufeff]/gu;
const MOST = 24; // letters of a token on one line

/** A token as a person can read it: no letters that hide, none that turn the text around, none too long. */
export function shown(token: string, most = MOST): string {
  const trimmed = token.trim();
  if (trimmed === '') return token.replace(/\n/g, '⏎').replace(/\s/g, '␣') || '∅';
  const short = [...trimmed.slice(0, 4 * most)];
  const text = short.length > most ? `${short.slice(0, most - 1).join('')}…` : short.join('');
  return text.replace(INVISIBLE, (letter) => `‹${letter.codePointAt(0)!.toString(16).padStart(4, '0')}›`);
}

const measure = typeof document === 'undefined' ? null : document.createElement('canvas').getContext('2d');
const measured = new Map<string, number>();

/** How wide a text is, in pixels; where nothing can measure it, about so. */
export function widthOf(text: string, size = 13, weight = 400): number {
  if (!measure) return aboutWidth(text) * (size / 13);
  const key = `${weight} ${size} ${text}`;
  let width = measured.get(key);
  if (width === undefined) {
    if (measured.size > 5000) measured.clear();
    measure.font = `${weight} ${size}px ${FONT}`;
    width = measure.measureText(text).width;
    measured.set(key, width);
  }
  return width;
}

export function aboutWidth(text: string): number {
  let width = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0)!;
    width +=
      code > 0x2e80 ? 14 : /[il.,'’|!:;jt ]/.test(letter) ? 4.6 : /[mwMW%@…]/.test(letter) ? 11.4 : 7.5;
  }
  return width;
}

/** The name of a language in a language: French, français. */
export function languageName(code: string, language: string): string {
  try {
    return new Intl.DisplayNames([language], { type: 'language' }).of(code) ?? code;
  } catch {
    return code;
  }
}
