// Bars with a name and a figure each, and pairs of shares, as files of their own.

import { scheme } from '../../primitives/scheme.svelte';
import { escapeXml, svgDocument } from '../../primitives/svg';

export interface Bar {
  label: string;
  /** From 0 to 1. */
  share: number;
  figure: string;
  note?: string;
  less?: boolean;
}
export interface Shift {
  label: string;
  before: number;
  after: number;
  figure: string;
}

const [LINE, TOP, LABEL, TRACK] = [24, 44, 150, 200];
const short = (text: string, most: number) =>
  [...text].length > most ? `${[...text].slice(0, most - 1).join('')}…` : text;

export function barsSvg(title: string, bars: readonly Bar[]): string {
  const colours = theme();
  const parts = bars.map((one, index) => {
    const y = TOP + index * LINE;
    const figure = LABEL + 28 + TRACK;
    return [
      label(one.label, y, colours.ink),
      `<rect x="${LABEL + 16}" y="${y + 6}" width="${TRACK}" height="8" rx="3" fill="${colours.line}"/>`,
      `<rect x="${LABEL + 16}" y="${y + 6}" width="${(TRACK * one.share).toFixed(2)}" height="8" rx="3" fill="${one.less ? colours.less : colours.more}"/>`,
      `<text x="${figure}" y="${y + 14}" fill="${colours.ink}">${escapeXml(one.figure)}</text>`,
      one.note
        ? `<text x="${figure + 70}" y="${y + 14}" fill="${colours.soft}">${escapeXml(short(one.note, 48))}</text>`
        : '',
    ].join('');
  });
  return document(title, parts, bars.some((one) => one.note) ? 760 : 460);
}

/** What each share was, as a ring, and what it became, as a dot. */
export function shiftsSvg(title: string, shifts: readonly Shift[]): string {
  const colours = theme();
  const parts = shifts.map((one, index) => {
    const y = TOP + index * LINE;
    const colour = one.after < one.before ? colours.less : colours.more;
    const [old, now] = [one.before, one.after].map((share) => (LABEL + 16 + TRACK * share).toFixed(2));
    return [
      label(one.label, y, colours.ink),
      `<line x1="${LABEL + 16}" x2="${LABEL + 16 + TRACK}" y1="${y + 10}" y2="${y + 10}" stroke="${colours.line}" stroke-width="4"/>`,
      `<line x1="${old}" x2="${now}" y1="${y + 10}" y2="${y + 10}" stroke="${colour}" stroke-width="4"/>`,
      `<circle cx="${old}" cy="${y + 10}" r="5" fill="${colours.ground}" stroke="${colours.soft}" stroke-width="2"/>`,
      `<circle cx="${now}" cy="${y + 10}" r="5" fill="${colour}"/>`,
      `<text x="${LABEL + 32 + TRACK}" y="${y + 14}" fill="${colours.ink}">${escapeXml(one.figure)}</text>`,
    ].join('');
  });
  return document(title, parts, 540);
}

function theme() {
  const [ink, soft, line, ground, more, less] = [
    '--ink',
    '--soft',
    '--line',
    '--card',
    '--diff-7',
    '--diff-1',
  ].map((name) => scheme.colour(name));
  return { ink, soft, line, ground, more, less };
}

const label = (text: string, y: number, ink: string) =>
  `<text x="${LABEL}" y="${y + 14}" text-anchor="end" fill="${ink}">${escapeXml(short(text, 22))}</text>`;

function document(title: string, parts: readonly string[], width: number): string {
  const { ink, ground } = theme();
  const heading = `<text x="16" y="26" font-size="14" font-weight="600" fill="${ink}">${escapeXml(title)}</text>`;
  return svgDocument(width, TOP + parts.length * LINE + 12, ground, heading + parts.join(''));
}
