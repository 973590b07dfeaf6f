// The picture of lines as a file of its own.

import { escapeXml, svgDocument } from '../../primitives/svg';
import { strongestLinks, type Weights } from './weights';

export interface LinesPicture {
  weights: Weights;
  rowLabels: readonly string[];
  columnLabels: readonly string[];
  largest: number;
  title: string;
  ink: string;
  ground: string;
  line: string;
  row?: number | null;
}

export function linesSvg(picture: LinesPicture): string {
  const { weights, rowLabels, columnLabels, largest, title, ink, ground, line, row = null } = picture;
  const [step, top, left, right] = [24, 44, 170, 430];
  const height = top + step * Math.max(rowLabels.length, columnLabels.length) + 12;
  const y = (index: number) => top + (index + 0.5) * step;
  const parts = [
    `<text x="16" y="26" font-size="14" font-weight="600" fill="${ink}">${escapeXml(title)}</text>`,
  ];
  for (const link of strongestLinks(weights, 0.02 * largest)) {
    if (row !== null && link.row !== row) continue;
    const share = Math.min(1, link.weight / (largest || 1));
    const [from, to] = [y(link.row), y(link.column)];
    const middle = (left + right) / 2;
    parts.push(
      `<path d="M${left} ${from}C${middle} ${from} ${middle} ${to} ${right} ${to}" fill="none" stroke="${line}" ` +
        `stroke-width="${(0.6 + 3.4 * share).toFixed(2)}" opacity="${(0.15 + 0.8 * share).toFixed(2)}"/>`,
    );
  }
  const short = (label: string) => (label.length > 20 ? `${label.slice(0, 19)}…` : label);
  rowLabels.forEach((label, index) => {
    parts.push(
      `<text x="${left - 8}" y="${y(index) + 4}" text-anchor="end" fill="${ink}">${escapeXml(short(label))}</text>`,
    );
  });
  columnLabels.forEach((label, index) => {
    parts.push(`<text x="${right + 8}" y="${y(index) + 4}" fill="${ink}">${escapeXml(short(label))}</text>`);
  });
  return svgDocument(600, height, ground, parts.join(''));
}
