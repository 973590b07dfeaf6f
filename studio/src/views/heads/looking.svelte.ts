// What is being looked at: a model and a text from the address, the look once it is there, or why there is none.

import type { ModelInfo, StudioInfo } from '../../contract/types';
import { latest, sentenceOf } from '../../contract/requests';
import { openLook, type LookReader } from './reader';

export const EXAMPLE = "The animal didn't cross the street because it was too tired.";

/** The models that can be asked, and the one that is shown when none is named. */
export function usableModels(studio: StudioInfo): ModelInfo[] {
  return studio.models.filter((model) => !model.problem);
}

export function firstModel(studio: StudioInfo): string {
  const given = studio.start.recording ? `recording:${studio.start.recording}` : studio.start.model;
  if (given) return given;
  if (usableModels(studio).length === 0 && studio.recordings.length)
    return `recording:${studio.recordings[0].name}`;
  return firstReader(studio);
}

/** A model that reads any text, as a recording does not; none where there is none. */
export function firstReader(studio: StudioInfo): string {
  const names = usableModels(studio).map((model) => model.name);
  return ['en-fr', 'grammar'].find((name) => names.includes(name)) ?? names[0] ?? '';
}

export const exampleOf = (studio: StudioInfo, model: string): string =>
  studio.models.find((one) => one.name === model)?.examples[0] ?? EXAMPLE;

export const isRecording = (model: string): boolean => model.startsWith('recording:');

export class Looking {
  reader = $state.raw<LookReader | null>(null);
  busy = $state(false);
  problem = $state('');
  readonly #next = latest();
  #asked = '';

  /** Reads the text with the model, unless that is what is shown already. */
  open(model: string, text: string, target?: string): void {
    const key = JSON.stringify([model, text, target ?? null]);
    if (key === this.#asked) return;
    this.#asked = key;
    const signal = this.#next();
    if (!model || (!text.trim() && !isRecording(model))) {
      [this.reader, this.busy, this.problem] = [null, false, ''];
      return;
    }
    this.busy = true;
    this.problem = '';
    openLook({ model, text: isRecording(model) ? '' : text, target }, signal)
      .then((reader) => {
        if (!signal.aborted) [this.reader, this.busy] = [reader, false];
      })
      .catch((error: unknown) => {
        const problem = sentenceOf(error);
        if (problem === null || signal.aborted) return;
        [this.reader, this.busy, this.problem] = [null, false, problem];
      });
  }

  again(): void {
    const [model, text, target] = JSON.parse(this.#asked || '["","",null]') as [
      string,
      string,
      string | null,
    ];
    this.#asked = '';
    this.open(model, text, target ?? undefined);
  }
}
