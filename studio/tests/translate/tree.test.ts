import { describe, expect, it } from 'vitest';
import type { SearchCandidate, SearchStep } from '../../src/contract/types';
import { columnsOf, neighbour, pathTo, treeOf, type Tree } from '../../src/views/translate/tree';

let seed = 7;
const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;

function candidate(id: number, parent: number | null, score: number, kept = true): SearchCandidate {
  return {
    id,
    parent,
    token: `t${id}`,
    token_id: id,
    logprob: score,
    total: score,
    score,
    kept,
    finished: false,
  };
}

/** A search with `beams` beams of which twice as many candidates are told, over some steps. */
function search(beams: number, length: number): { steps: SearchStep[]; path: number[] } {
  const steps: SearchStep[] = [];
  const path: number[] = [];
  let [open, id] = [[null] as (number | null)[], 0];
  for (let step = 0; step < length; step++) {
    const candidates = Array.from({ length: 2 * beams }, (_, place) => {
      const parent =
        place === 0 && path.length ? path[path.length - 1] : open[Math.floor(random() * open.length)];
      return candidate(id++, parent, -place - random(), place < beams);
    });
    open = candidates.slice(0, beams).map((one) => one.id);
    path.push(candidates[0].id);
    steps.push({ candidates });
  }
  return { steps, path };
}

function crossings(tree: Tree): number {
  let crossed = 0;
  for (const column of tree.columns) {
    for (const a of column) {
      for (const b of column) {
        if (a.parent && b.parent && a.row < b.row && a.parent.row > b.parent.row) crossed++;
      }
    }
  }
  return crossed;
}

describe('the tree of a beam search', () => {
  it('has every candidate once, a column a step', () => {
    const { steps, path } = search(4, 9);
    const tree = treeOf(steps, path);
    expect(tree.nodes).toHaveLength(72);
    expect(tree.columns.map((column) => column.length)).toEqual(Array(9).fill(8));
    expect(new Set(tree.nodes.map((node) => node.candidate.id)).size).toBe(72);
  });

  it('lets no line cross another, and no two words stand in one place', () => {
    for (let turn = 0; turn < 40; turn++) {
      const { steps, path } = search(1 + (turn % 6), 12);
      const tree = treeOf(steps, path);
      expect(crossings(tree)).toBe(0);
      for (const column of tree.columns) {
        const rows = column.map((node) => node.row);
        expect(new Set(rows).size).toBe(rows.length);
        expect(Math.max(...rows)).toBeLessThan(tree.rows);
        expect(Math.min(...rows)).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it('keeps the output on the first row', () => {
    const { steps, path } = search(4, 10);
    const tree = treeOf(steps, path);
    expect(tree.nodes.filter((node) => node.best).map((node) => node.row)).toEqual(Array(10).fill(0));
    expect(pathTo(tree.byId.get(path[9])!).map((node) => node.candidate.id)).toEqual(path);
  });

  it('can leave out what was given up', () => {
    const { steps, path } = search(3, 5);
    const tree = treeOf(steps, path, false);
    expect(tree.nodes.every((node) => node.candidate.kept || node.best)).toBe(true);
    expect(tree.rows).toBe(3);
  });

  it('is empty for an empty search, and leaves out orphans', () => {
    expect(treeOf([], []).rows).toBe(1);
    const orphan = treeOf([{ candidates: [candidate(5, 3, -1)] }], []);
    expect(orphan.nodes).toHaveLength(0);
  });

  it('is walked by arrow keys', () => {
    const { steps, path } = search(2, 3);
    const tree = treeOf(steps, path);
    const first = tree.byId.get(path[0])!;
    const second = neighbour(tree, first, 'ArrowRight');
    expect(second.candidate.id).toBe(path[1]);
    expect(neighbour(tree, second, 'ArrowLeft')).toBe(first);
    expect(neighbour(tree, first, 'ArrowLeft')).toBe(first);
    expect(neighbour(tree, first, 'ArrowUp')).toBe(first);
    expect(neighbour(tree, first, 'ArrowDown')).toBe(tree.columns[0][1]);
  });

  it('gives each column the room of its widest word', () => {
    const { steps, path } = search(2, 3);
    const tree = treeOf(steps, path);
    const columns = columnsOf(tree, (node) => (node.step === 1 ? 90 : 10), 20);
    expect(columns).toEqual([
      { x: 0, width: 36 },
      { x: 56, width: 90 },
      { x: 166, width: 36 },
    ]);
  });
});
