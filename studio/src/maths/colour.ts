// Numbers to colours, in the browser: nine stops of a scale become 256 colours.

export type RGB = [number, number, number];

export function parseHex(text: string): RGB {
  const hex = text.trim().replace('#', '');
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) as RGB;
}

export function toHex(rgb: readonly number[]): string {
  return '#' + rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('');
}

/** 256 RGBA colours, flat, from a few stops. */
export function colourTable(stops: readonly RGB[]): Uint8ClampedArray {
  const table = new Uint8ClampedArray(256 * 4);
  for (let index = 0; index < 256; index++) {
    const place = (index / 255) * (stops.length - 1);
    const left = Math.min(Math.floor(place), stops.length - 2);
    for (let part = 0; part < 3; part++) {
      table[index * 4 + part] =
        stops[left][part] + (stops[left + 1][part] - stops[left][part]) * (place - left);
    }
    table[index * 4 + 3] = 255;
  }
  return table;
}

/** The colour of a share from 0 to 1. */
export function colourAt(table: Uint8ClampedArray, share: number): RGB {
  const index = 4 * Math.round(255 * Math.min(1, Math.max(0, Number.isNaN(share) ? 0 : share)));
  return [table[index], table[index + 1], table[index + 2]];
}

/** Black or white, whichever reads better on a colour: one of them always has a contrast of 4.5. */
export function inkOn([red, green, blue]: readonly number[]): string {
  const light = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  return (light + 0.05) ** 2 > 1.05 * 0.05 ? '#000000' : '#ffffff';
}

function linear(part: number): number {
  const share = part / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** Where a number lies on its scale: `weights` from 0 to the largest, `difference` around 0 (0.5). */
export function shareOf(value: number, largest: number, scale: Scale): number {
  if (!(largest > 0)) return scale === 'difference' ? 0.5 : 0;
  if (scale === 'difference') return 0.5 + value / largest / 2;
  if (scale === 'log') return value <= 0 ? 0 : Math.max(0, 1 + Math.log10(value / largest) / DECADES);
  return value / largest;
}

export type Scale = 'weights' | 'difference' | 'log';
const DECADES = 4; // of a log scale: a ten-thousandth of the largest is the ground
