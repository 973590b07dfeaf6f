// Comparisons to begin with.

import type { CurvesAnswer, ModelInfo, StudioInfo } from '../../contract/types';
import type { Changes } from '../../state/address.svelte';
import { firstReader, isRecording, usableModels } from '../heads/looking.svelte';
import { tellingModel, TIRED, WIDE } from './sides';

export interface Preset {
  name: 'sentences' | 'heads' | 'contexts' | 'models' | 'training';
  use: Changes;
}
export interface Shown {
  model: string;
  text: string;
  /** The left site and its heads. */
  site: string | undefined;
  heads: readonly number[];
}

const CLEAN = { model2: null, text2: null, site2: null, head2: null, word: null, word2: null };
const OPEN = { ...CLEAN, site: null, head: null }; // with the head that differs most

/** What can be compared here, beginning with what is shown. */
export function presetsFor(studio: StudioInfo, shown: Shown, runs: readonly CurvesAnswer[]): Preset[] {
  const { model, text, site, heads } = shown;
  const recorded = isRecording(model);
  /** A recording has its text: other sentences need a model. */
  const reads = recorded ? { model: tellingModel(studio) || model } : {};
  const presets: Preset[] = [
    { name: 'sentences', use: { ...OPEN, ...reads, text: TIRED, text2: WIDE } },
    { name: 'heads', use: { ...CLEAN, text: TIRED, site, head: heads.at(-1), head2: heads[0] } },
    {
      name: 'contexts',
      use: {
        ...OPEN,
        ...(recorded || model === 'grammar' ? { model: firstReader(studio) } : {}), // grammar has few words
        text: 'Turn right at the corner.', // à droite
        text2: 'You are right about that.', // raison
      },
    },
  ];
  const [one, other] = twoModels(studio);
  if (other)
    presets.push({
      name: 'models',
      use: { ...CLEAN, text: recorded ? TIRED : text, model: one.name, model2: other.name },
    });
  const trained = trainedRun(runs, tellingModel(studio));
  if (trained) {
    const [first, last] = [trained.checkpoints[0], trained.checkpoints[trained.checkpoints.length - 1]];
    const named = (checkpoint: string) => `run:${trained.run.name}@${checkpoint}`;
    presets.push({
      name: 'training',
      use: { ...OPEN, text, model: named(first.name), model2: named(last.name) },
    });
  }
  return presets;
}

/** Two models of the same languages say the same thing twice: those compare best. */
function twoModels(studio: StudioInfo): ModelInfo[] {
  const [one, ...others] = usableModels(studio);
  const second = others.find((other) => String(other.languages) === String(one.languages)) ?? others[0];
  return second ? [one, second] : [];
}

/** A run that has kept some of its way; else one that can be told from its beginning. */
function trainedRun(runs: readonly CurvesAnswer[], telling: string): CurvesAnswer | undefined {
  const many = runs.filter((run) => run.checkpoints.length > 1);
  return (
    many.find((run) => run.checkpoints.length > 2) ?? many.find((run) => run.run.name === telling) ?? many[0]
  );
}
