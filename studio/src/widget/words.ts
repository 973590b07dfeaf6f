// The words of these pictures, in both languages: a file has nothing to fetch them from.

import frameEn from '../text/en/frame';
import headsEn from '../text/en/heads';
import lookEn from '../text/en/look';
import mapEn from '../text/en/map';
import frameFr from '../text/fr/frame';
import headsFr from '../text/fr/heads';
import lookFr from '../text/fr/look';
import mapFr from '../text/fr/map';

export const ALL = [
  ['frame', 'en', frameEn], ['heads', 'en', headsEn], ['look', 'en', lookEn], ['map', 'en', mapEn],
  ['frame', 'fr', frameFr], ['heads', 'fr', headsFr], ['look', 'fr', lookFr], ['map', 'fr', mapFr],
] as const; // prettier-ignore
