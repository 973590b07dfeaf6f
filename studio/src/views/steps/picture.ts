// The matrices of a step as one picture and as one table.

import { at, type Grid, type StepName } from '../../maths/attend';
import { colourAt, inkOn, toHex } from '../../maths/colour';
import { columnDigits, fixed } from '../../maths/numbers';
import type { Table } from '../../primitives/download';
import { scheme } from '../../primitives/scheme.svelte';
import { escapeXml, svgDocument } from '../../primitives/svg';
import { isMap } from './story';

export interface Plate {
  step: StepName;
  head: number | null;
  symbol: string;
  grid: Grid;
  rows: readonly string[];
  columns: readonly string[];
}

const [WIDE, TALL, GAP] = [60, 30, 28];

export function picture(title: string, plates: readonly Plate[]): string {
  const [ink, soft, ground, line] = ['--ink', '--soft', '--card', '--chip'].map((name) =>
    scheme.colour(name),
  );
  const parts = [
    `<text x="16" y="28" font-size="16" font-weight="600" fill="${ink}">${escapeXml(title)}</text>`,
  ];
  let [x, height] = [16, 0];
  for (const plate of plates) {
    const margin = plate.rows.length ? 14 + Math.max(...plate.rows.map((word) => short(word).length)) * 7 : 0;
    const head = plate.head === null ? '' : ` (${plate.head + 1})`;
    parts.push(symbolText(plate.symbol + head, x + margin, 58, ink));
    const top = plate.columns.length ? 90 : 70;
    plate.columns.forEach((word, column) =>
      parts.push(text(short(word), x + margin + (column + 0.5) * WIDE, top - 8, soft, 'middle')),
    );
    const cells = cellsOf(plate, line, soft);
    plate.rows.forEach((word, row) =>
      parts.push(text(short(word), x + margin - 8, top + (row + 0.5) * TALL + 4, soft, 'end')),
    );
    for (let row = 0; row < plate.grid.rows; row++) {
      for (let column = 0; column < plate.grid.columns; column++) {
        const [left, up] = [x + margin + column * WIDE, top + row * TALL];
        const { ground: fill, ink: colour, words } = cells(row, column);
        parts.push(
          `<rect x="${left + 1}" y="${up + 1}" width="${WIDE - 2}" height="${TALL - 2}" rx="4" fill="${fill}"/>`,
        );
        parts.push(text(words, left + WIDE / 2, up + TALL / 2 + 4, colour, 'middle'));
      }
    }
    x += margin + plate.grid.columns * WIDE + GAP;
    height = Math.max(height, top + plate.grid.rows * TALL);
  }
  return svgDocument(Math.max(x, 240), height + 16, ground, parts.join(''));
}

function cellsOf(plate: Plate, plain: string, ink: string) {
  const { grid, step } = plate;
  const digits = columnDigits(grid.data, 4);
  const table = scheme.table(step === 'weights' ? 'weights' : 'difference');
  const finite = Array.from(grid.data).filter(Number.isFinite);
  const largest = finite.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const dark = scheme.colour('--ink');
  return (row: number, column: number) => {
    const value = at(grid, row, column);
    const words = fixed(value, digits);
    if (!Number.isFinite(value)) return { ground: plain, ink, words };
    if (!isMap(step) || largest === 0) return { ground: plain, ink: dark, words };
    const rgb = colourAt(table, step === 'weights' ? value : 0.5 + (value / largest) * 0.36);
    return { ground: toHex(rgb), ink: inkOn(rgb), words };
  };
}

const text = (words: string, x: number, y: number, fill: string, anchor: string) =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="13" fill="${fill}">${escapeXml(words)}</text>`;

function symbolText(symbol: string, x: number, y: number, fill: string): string {
  const [letter, index] = symbol.split('_');
  const low = index ? `<tspan dy="4" font-size="11">${escapeXml(index)}</tspan>` : '';
  return `<text x="${x}" y="${y}" font-size="16" font-style="italic" font-family="Georgia, serif" fill="${fill}">${escapeXml(letter)}${low}</text>`;
}

const short = (word: string) => (word.length > 12 ? `${word.slice(0, 11)}…` : word);

export function tableOf(plates: readonly Plate[]): Table {
  const rows: (string | number)[][] = [];
  for (const { step, head, grid, rows: words, columns } of plates) {
    for (let row = 0; row < grid.rows; row++) {
      for (let column = 0; column < grid.columns; column++) {
        rows.push([
          step, head ?? 0, row, words[row] ?? '', column, columns[column] ?? '', at(grid, row, column),
        ]); // prettier-ignore
      }
    }
  }
  return { columns: ['step', 'head', 'row', 'row_token', 'column', 'column_token', 'value'], rows };
}
