// The colours in force, read from the CSS variables and read again when the theme changes.

import { colourTable, parseHex, type RGB, type Scale } from '../maths/colour';

class Scheme {
  #version = $state(0);
  readonly #roots: HTMLElement[] = []; // whose variables are read: the last one that is in a document

  constructor() {
    if (typeof window === 'undefined') return;
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#version++);
    this.follow(document.documentElement);
  }

  /** Read the variables of this element, and again when its theme changes; all that are followed look alike. */
  follow(root: HTMLElement): void {
    this.#roots.push(root);
    new MutationObserver(() => this.#version++).observe(root, { attributeFilter: ['data-theme'] });
  }

  get #style(): CSSStyleDeclaration {
    const root = this.#roots.findLast((one) => one.isConnected) ?? document.documentElement;
    return getComputedStyle(root);
  }

  /** Read it in an effect or a derived value, and that runs again when the theme changes. */
  get version(): number {
    return this.#version;
  }

  /** A variable's value, as `--ink`. */
  colour(name: string): string {
    void this.#version;
    return this.#style.getPropertyValue(name).trim();
  }

  /** 256 colours of a scale, RGBA. */
  table(scale: Scale): Uint8ClampedArray {
    void this.#version;
    const style = this.#style;
    const name = scale === 'difference' ? 'diff' : 'ramp';
    const stops: RGB[] = [];
    for (let stop = 0; stop < 9; stop++) stops.push(parseHex(style.getPropertyValue(`--${name}-${stop}`)));
    return colourTable(stops);
  }
}

export const scheme = new Scheme();
