// The few words that primitives say themselves. The app gives a translation; without one they speak English.

import { getContext, setContext } from 'svelte';

export type Say = (key: string, values?: Record<string, string | number>) => string;

const KEY = Symbol('words');

export const ENGLISH: Record<string, string> = {
  export: 'Export',
  fullScreen: 'Full screen',
  leaveFullScreen: 'Leave full screen',
  svg: 'Picture, SVG',
  png: 'Picture, PNG',
  csv: 'Table, CSV',
  json: 'Table, JSON',
  cell: '{row} → {column}: {value}',
  hidden: 'may not look there',
  loading: 'Loading…',
  decrease: 'less',
  increase: 'more',
};

export function provideWords(say: Say): void {
  setContext(KEY, say);
}

export function useWords(): Say {
  const given = getContext<Say | undefined>(KEY);
  return (
    given ??
    ((key, values = {}) =>
      (ENGLISH[key] ?? key).replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole)))
  );
}
