// What the API says, by the names that the views use: all generated from the server's own description (`npm run types`).

import type { components } from './schema';

type Schemas = components['schemas'];

export type Token = string;

export type CellAnswer = Schemas['CellAnswer'];
export type CheckAnswer = Schemas['CheckAnswer'];
export type CheckFinding = Schemas['CheckFinding'];
export type CheckRequest = Schemas['CheckRequest'];
export type CheckpointInfo = Schemas['CheckpointInfo'];
export type CheckpointLookRequest = Schemas['CheckpointLookRequest'];
export type CurveSeries = Schemas['CurveSeries'];
export type CurvesAnswer = Schemas['CurvesAnswer'];
export type EffectAnswer = Schemas['EffectAnswer'];
export type EffectRequest = Schemas['EffectRequest'];
export type ExampleMistake = Schemas['ExampleMistake'];
export type ForcedToken = Schemas['ForcedToken'];
export type FoundPositions = Schemas['FoundPositions'];
export type HeadChange = Schemas['HeadChange'];
export type HeadEffectRow = Schemas['HeadEffectRow'];
export type HeadEffectsAnswer = Schemas['HeadEffectsAnswer'];
export type HeadRow = Schemas['HeadRow'];
export type HeadsAnswer = Schemas['HeadsAnswer'];
export type KeptToken = Schemas['KeptToken'];
export type LayerSimilarity = Schemas['LayerSimilarity'];
export type Look = Schemas['LookAnswer'];
export type LookRequest = Schemas['LookRequest'];
export type ModelInfo = Schemas['ModelInfo'];
export type Prediction = Schemas['Prediction'];
export type RecordingInfo = Schemas['RecordingInfo'];
export type RunInfo = Schemas['RunInfo'];
export type RunSample = Schemas['RunSample'];
export type SearchAnswer = Schemas['SearchAnswer'];
export type SearchCandidate = Schemas['SearchCandidate'];
export type SearchRequest = Schemas['SearchRequest'];
export type SearchStep = Schemas['SearchStep'];
export type SimilarityAnswer = Schemas['SimilarityAnswer'];
export type SimilarityRequest = Schemas['SimilarityRequest'];
export type SiteInfo = Schemas['SiteInfo'];
export type StatedNumber = Schemas['StatedNumber'];
export type StrongCell = Schemas['StrongCell'];
export type StudioBounds = Schemas['StudioBounds'];
export type StudioError = Schemas['StudioError'];
export type StudioInfo = Schemas['StudioInfo'];
export type StudioStart = Schemas['StudioStart'];
export type TextPart = Schemas['TextPart'];
export type TokenProbability = Schemas['TokenProbability'];
export type TypedAnswer = Schemas['TypedAnswer'];
export type TypedRequest = Schemas['TypedRequest'];
export type VectorPlace = Schemas['VectorPlace'];
export type WeightOnColumn = Schemas['WeightOnColumn'];
export type WorkedExample = Schemas['WorkedExample'];
export type AlignmentHeads = Schemas['AlignmentHeads'];

/** A binary answer. */
export interface Numbers {
  data: Float32Array;
  shape: number[];
  meta: Record<string, unknown>;
}
