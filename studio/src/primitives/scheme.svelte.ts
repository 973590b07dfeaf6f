// The colours in force, read from the CSS variables and read again when the theme changes.

import { colourTable, parseHex, type RGB, type Scale } from '../maths/colour';

class Scheme {
  #version = $state(0);

  constructor() {
    if (typeof window === 'undefined') return;
    const changed = () => this.#version++;
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
    new MutationObserver(changed).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  }

  /** Read it in an effect or a derived value, and that runs again when the theme changes. */
  get version(): number {
    return this.#version;
  }

  /** A variable's value, as `--ink`. */
  colour(name: string): string {
    void this.#version;
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  /** 256 colours of a scale, RGBA. */
  table(scale: Scale): Uint8ClampedArray {
    void this.#version;
    const style = getComputedStyle(document.documentElement);
    const name = scale === 'difference' ? 'diff' : 'ramp';
    const stops: RGB[] = [];
    for (let stop = 0; stop < 9; stop++) stops.push(parseHex(style.getPropertyValue(`--${name}-${stop}`)));
    return colourTable(stops);
  }
}

export const scheme = new Scheme();
