// What the API says, by the names that the views use.

export type Token = string;

export interface ModelInfo {
  name: string;
  kind: 'ships' | 'folder' | 'huggingface' | 'run';
  family: string;
  task: 'translate' | 'generate' | 'classify' | 'mask' | 'other';
  languages: [string, string] | null;
  parameters: number;
  examples: string[];
}

export interface RecordingInfo {
  name: string;
  calls: number;
  sites: number;
  tokens: number;
}

export interface RunInfo {
  name: string;
  status: string;
  step: number;
  steps: number;
  family: string;
  best: number | null;
}

export interface StudioInfo {
  version: string;
  models: ModelInfo[];
  recordings: RecordingInfo[];
  runs: RunInfo[];
  start: { page: string; model?: string | null; recording?: string | null; text?: string | null };
  limits: { characters: number; tokens: number };
}

export interface SiteInfo {
  site: string;
  kind: 'encoder' | 'decoder' | 'cross' | 'self';
  heads: number;
  queries: number;
  keys: number;
  rows: 'source' | 'target';
  columns: 'source' | 'target';
  causal: boolean;
}

export interface Look {
  id: string;
  model: string;
  text: string;
  output: string | null;
  source: Token[];
  target: Token[];
  sites: SiteInfo[];
  badge: string;
  next?: { token: Token; probability: number }[] | null;
}

/** One wrong number of a worked example, as written and as it should be. */
export interface ExampleMistake {
  where: { step: string; row: number; column: number | null };
  given: number | string;
  right: number;
  sentence: string;
}

/** A worked example of the lecture notes. Matrices are missing where the notes give none. */
export interface WorkedExample {
  name: string;
  title: string;
  note: string;
  tokens: Token[];
  queries?: Token[] | null;
  x?: number[][] | null;
  wq?: number[][] | null;
  wk?: number[][] | null;
  wv?: number[][] | null;
  q?: number[][] | null;
  k?: number[][] | null;
  v?: number[][] | null;
  scores?: number[][] | null;
  scaled?: number[][] | null;
  weights?: number[][] | null;
  output?: number[][] | null;
  scale?: number | null;
  mistakes: ExampleMistake[];
}

export interface Finding {
  step: string;
  row: number;
  column: number | null;
  given: number | string;
  expected: number;
  sentence: string;
}

export interface Numbers {
  data: Float32Array;
  shape: number[];
  meta: Record<string, unknown>;
}
