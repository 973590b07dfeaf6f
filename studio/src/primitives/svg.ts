// Pictures that stand alone: what "Picture, SVG" and "PNG" give.

import { colourAt, inkOn, shareOf, toHex, type Scale } from '../maths/colour';
import { scheme } from './scheme.svelte';

export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** Text that may hold anything, as text of an SVG. */
export function escapeXml(text: string): string {
  // eslint-disable-next-line no-control-regex
  const plain = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');
  return plain.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}

export interface MatrixPicture {
  values: ArrayLike<number>;
  rows: number;
  columns: number;
  rowLabels?: readonly string[];
  columnLabels?: readonly string[];
  scale?: Scale;
  largest?: number;
  title?: string;
  /** Numbers written into the cells. */
  format?: (value: number) => string;
}

/** A heat map in the colours of the theme in force. */
export function matrixSvg(picture: MatrixPicture): string {
  const { values, rows, columns, rowLabels = [], columnLabels = [], scale = 'weights', title = '' } = picture;
  const cell = picture.format ? 56 : Math.max(8, Math.min(28, 900 / Math.max(rows, columns)));
  const tall = picture.format ? 30 : cell;
  const left = 12 + widest(rowLabels);
  const slanted = columnLabels.some((label) => short(label).length * 7.4 > cell);
  const top =
    (title ? 34 : 10) + (columnLabels.length ? (slanted ? 8 + widest(columnLabels) * 0.75 : 22) : 0);
  const table = scheme.table(scale);
  const largest = picture.largest ?? largestOf(values, scale);
  const [ink, soft, ground] = ['--ink', '--soft', '--ground'].map((name) => scheme.colour(name));
  const width = Math.ceil(left + columns * cell + (slanted ? 60 : 12));
  const height = Math.ceil(top + rows * tall + 12);
  const parts: string[] = [];
  if (title)
    parts.push(
      `<text x="12" y="22" font-size="14" font-weight="600" fill="${ink}">${escapeXml(title)}</text>`,
    );
  for (let column = 0; column < columnLabels.length; column++) {
    const x = left + (column + 0.5) * cell;
    const turn = slanted
      ? `text-anchor="start" transform="rotate(-45 ${x} ${top - 6})"`
      : 'text-anchor="middle"';
    parts.push(
      `<text x="${x}" y="${top - 6}" ${turn} fill="${soft}">${escapeXml(short(columnLabels[column]))}</text>`,
    );
  }
  for (let row = 0; row < rows; row++) {
    const y = top + row * tall;
    if (rowLabels[row] !== undefined) {
      const at = `x="${left - 6}" y="${y + tall / 2 + 4}" text-anchor="end"`;
      parts.push(`<text ${at} fill="${ink}">${escapeXml(short(rowLabels[row]))}</text>`);
    }
    for (let column = 0; column < columns; column++) {
      const value = values[row * columns + column];
      if (Number.isNaN(value)) continue;
      const rgb = colourAt(table, shareOf(value, largest, scale));
      const x = left + column * cell;
      const box = `x="${x + 0.5}" y="${y + 0.5}" width="${cell - 1}" height="${tall - 1}" rx="${cell > 12 ? 2 : 0}"`;
      parts.push(`<rect ${box} fill="${toHex(rgb)}"/>`);
      if (picture.format) {
        const at = `x="${x + cell / 2}" y="${y + tall / 2 + 4}" text-anchor="middle"`;
        parts.push(`<text ${at} fill="${inkOn(rgb)}">${escapeXml(picture.format(value))}</text>`);
      }
    }
  }
  return svgDocument(width, height, ground, parts.join(''));
}

/** Shapes on a ground, as a file of its own. */
export function svgDocument(width: number, height: number, ground: string, inner: string): string {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" ` +
    `font-family="${FONT}" font-size="12"><rect width="100%" height="100%" fill="${ground}"/>${inner}</svg>`
  );
}

const INLINED = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'fill-opacity', 'stroke-opacity',
  'font-family', 'font-size', 'font-weight', 'font-style', 'text-anchor', 'dominant-baseline']; // prettier-ignore

/** A copy that needs no style sheet. */
function inlined(element: SVGSVGElement): SVGSVGElement {
  const copy = element.cloneNode(true) as SVGSVGElement;
  const from = [element, ...element.querySelectorAll('*')];
  const into = [copy, ...copy.querySelectorAll('*')];
  from.forEach((one, index) => {
    const style = getComputedStyle(one);
    for (const name of INLINED) into[index].setAttribute(name, style.getPropertyValue(name));
    for (const name of ['class', 'style', 'tabindex']) into[index].removeAttribute(name);
  });
  return copy;
}

/** An SVG of the page as a file of its own: its styles written into it, on the ground of the theme, with its legend. */
export function svgOf(element: SVGSVGElement, legend: Element | null = null): string {
  const copy = inlined(element);
  const { width, height } = element.getBoundingClientRect();
  const [x, y, w, h] = (copy.getAttribute('viewBox') ?? `0 0 ${width} ${height}`).split(/[\s,]+/).map(Number);
  const more = legend ? writeLegend(copy, legend, [x, y + h, w]) : 0;
  set(copy, {
    xmlns: NAMES,
    viewBox: [x, y, w, h + more].join(' '),
    width,
    height: height + (more * height) / h,
  });
  const ground = document.createElementNS(NAMES, 'rect');
  set(ground, { x, y, width: w, height: h + more, fill: scheme.colour('--card') });
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

/** Of a chart: the list that follows the drawing. */
export const legendOf = (drawing: SVGSVGElement): Element | null =>
  drawing.parentElement?.parentElement?.querySelector('ul') ?? null;

const NAMES = 'http://www.w3.org/2000/svg';
const KEY = { high: 22, letter: 7, mark: 24, apart: 18 }; // pixels

function set(element: Element, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** The marks of a legend with what they mean, in as many rows as they take; gives how high these are. */
function writeLegend(copy: SVGSVGElement, legend: Element, [left, top, width]: number[]): number {
  let [x, row] = [left + KEY.apart, 0];
  for (const key of legend.querySelectorAll('[data-key]')) {
    const [name, mark] = [key.getAttribute('data-key') ?? '', key.querySelector('svg')];
    const wide = KEY.mark + name.length * KEY.letter + KEY.apart;
    if (x > left + KEY.apart && x + wide > left + width) [x, row] = [left + KEY.apart, row + 1];
    const middle = top + (row + 0.5) * KEY.high;
    if (mark) {
      const drawn = inlined(mark);
      set(drawn, { x, y: middle - Number(mark.getAttribute('height')) / 2 });
      copy.append(drawn);
    }
    const text = document.createElementNS(NAMES, 'text');
    set(text, {
      x: x + KEY.mark,
      y: middle + 4,
      fill: scheme.colour('--ink'),
      'font-size': 12,
      'font-family': FONT,
    });
    text.textContent = name;
    copy.append(text);
    x += wide;
  }
  return (row + 1) * KEY.high;
}

export function largestOf(values: ArrayLike<number>, scale: Scale): number {
  let largest = 0;
  for (let index = 0; index < values.length; index++) {
    const value = scale === 'difference' ? Math.abs(values[index]) : values[index];
    if (Number.isFinite(value) && value > largest) largest = value;
  }
  return largest;
}

const LONGEST = 18; // letters of a label
const short = (label: string) => (label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label);
const widest = (labels: readonly string[]) =>
  labels.reduce((most, label) => Math.max(most, short(label).length), 0) * 7.4;
