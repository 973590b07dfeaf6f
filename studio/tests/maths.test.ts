import { describe, expect, it } from 'vitest';
import { colourAt, colourTable, inkOn, parseHex, shareOf, toHex } from '../src/maths/colour';
import {
  bracketed,
  columnDigits,
  compact,
  figure,
  fixed,
  parseNumber,
  percent,
  percentTenths,
} from '../src/maths/numbers';
import { Tensor } from '../src/maths/tensor';
import { fileName, toCsv, toJson } from '../src/primitives/download';
import { escapeXml } from '../src/primitives/svg';

describe('tensor', () => {
  const tensor = new Tensor(
    Float32Array.from({ length: 24 }, (_, index) => index),
    [2, 3, 4],
  );

  it('reads by position, from the end too', () => {
    expect([tensor.at(0, 0, 0), tensor.at(1, 2, 3), tensor.at(-1, -1, -1)]).toEqual([0, 23, 23]);
  });

  it('gives heads, rectangles and the transposed without a copy', () => {
    expect(Array.from(tensor.row(1, 0).flat())).toEqual([12, 13, 14, 15]);
    expect(tensor.row(1).flat().buffer).toBe(tensor.data.buffer);
    expect(Array.from(tensor.row(0).slice(0, 1, 3).slice(1, 2, 4).flat())).toEqual([6, 7, 10, 11]);
    expect(Array.from(tensor.row(0).transpose().flat())).toEqual([0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
  });
});

describe('numbers', () => {
  it('have no more decimals than they need', () => {
    expect([0.70710678, 0.5, -2, 0, -0.00001, NaN, -Infinity].map((one) => figure(one))).toEqual([
      '0.7071', '0.5', '−2', '0', '0.0000', '·', '−∞',
    ]); // prettier-ignore
    expect(columnDigits([1, 0.25, 3], 4)).toBe(2);
    expect([
      fixed(1.005, 2),
      bracketed(-0.5),
      compact(1234567, 'en'),
      compact(23585, 'fr'),
      compact(42_000, 'en'),
    ]).toEqual(['1.00', '(−0.5)', '1.23 M', '23,6 k', '42 k']);
  });

  it('are read as people type them', () => {
    const typed = ['0,71', '−2', '3/4', '.5', '1e-3', '', 'x', '1/0', '1.2.3', '-'];
    expect(typed.map(parseNumber)).toEqual([0.71, -2, 0.75, 0.5, 0.001, null, null, null, null, null]);
  });
});

describe('colour', () => {
  const table = colourTable([parseHex('#000000'), parseHex('#ffffff')]);

  it('goes from stop to stop and stays within', () => {
    expect([colourAt(table, 0), colourAt(table, 2), colourAt(table, NaN)]).toEqual([
      [0, 0, 0],
      [255, 255, 255],
      [0, 0, 0],
    ]);
    expect(toHex(parseHex('#b4530a'))).toBe('#b4530a');
    expect([inkOn([255, 255, 255]), inkOn([92, 30, 0])]).toEqual(['#000000', '#ffffff']);
  });

  it('shares a scale out', () => {
    expect([shareOf(1, 2, 'weights'), shareOf(-2, 2, 'difference'), shareOf(0, 0, 'difference')]).toEqual([
      0.5, 0, 0.5,
    ]);
    expect(shareOf(0.01, 1, 'log')).toBeCloseTo(0.5);
  });
});

describe('files', () => {
  const table = {
    columns: ['token', 'weight'],
    rows: [
      ['a "b", c', 0.5],
      ['=SUM(A1)', NaN],
      ['<script>', null],
    ],
  };

  it('are tables that a spreadsheet reads and does not run', () => {
    expect(toCsv(table)).toBe('token,weight\r\n"a ""b"", c",0.5\r\n\'=SUM(A1),\r\n<script>,\r\n');
    expect(JSON.parse(toJson(table))[1]).toEqual({ token: '=SUM(A1)', weight: null });
    expect(fileName('Étape 1 : « Projeter »')).toBe('etape-1-projeter');
  });

  it('hold tokens as text', () => {
    expect(escapeXml('<script>&"\u0000')).toBe('&lt;script&gt;&amp;&quot;\ufffd');
  });
});

describe('shares', () => {
  it('are written as people read them', () => {
    expect(percent(0.9623, 'en')).toBe('96%');
    expect(percent(0.0123, 'en')).toBe('1.2%');
    expect(percent(0.00015, 'en')).toBe('0.015%');
    expect(percent(0, 'en')).toBe('0%');
    expect(percent(1, 'en')).toBe('100%');
    expect(percent(1e-9, 'en')).toBe('< 0.0001%');
    expect(percent(NaN, 'en')).toBe('·');
    expect(percent(0.5, 'fr').replace(/\s/, ' ')).toBe('50 %');
  });

  it('never say 100% of what is not certain', () => {
    for (const share of [0.995, 0.9996, 0.99999, 1 - 1e-12]) expect(percent(share, 'en')).not.toBe('100%');
    expect(percent(0.9996, 'en')).toBe('99.96%');
  });

  it('keep one decimal where changes are compared', () => {
    expect(percentTenths(0.8214, 'en')).toBe('82.1%');
    expect(percentTenths(0.00004, 'fr').replace(/\s/, ' ')).toBe('0,0 %');
  });
});
