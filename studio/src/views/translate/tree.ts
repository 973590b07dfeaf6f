// The beams of a search as a tree, laid out without knowing of a screen: a column a step, no line crossing another.

import type { SearchCandidate, SearchStep } from '../../contract/types';

export interface TreeNode {
  candidate: SearchCandidate;
  step: number;
  row: number;
  parent: TreeNode | null;
  children: TreeNode[];
  /** Of the output. */
  best: boolean;
}

export interface Tree {
  nodes: TreeNode[];
  columns: TreeNode[][];
  rows: number;
  byId: Map<number, TreeNode>;
}

/** Each column sorted by parent, then by score: so lines never cross, and the output is the straight line on top. */
export function treeOf(steps: readonly SearchStep[], path: readonly number[], givenUp = true): Tree {
  const output = new Set(path);
  const byId = new Map<number, TreeNode>();
  const columns = steps.map(({ candidates }, step) => {
    const column: TreeNode[] = [];
    for (const candidate of candidates) {
      const parent = candidate.parent === null ? null : (byId.get(candidate.parent) ?? null);
      const best = output.has(candidate.id);
      if (candidate.parent !== null && !parent) continue;
      if (!givenUp && !candidate.kept && !best) continue;
      column.push({ candidate, step, row: 0, parent, children: [], best });
    }
    column.sort(byParent);
    for (const node of column) {
      byId.set(node.candidate.id, node);
      node.parent?.children.push(node);
    }
    return place(column);
  });
  const rows = Math.max(1, ...columns.map((column) => column.length));
  for (const column of columns) lift(column, rows);
  return { nodes: columns.flat(), columns, rows, byId };

  // A column is placed at once, since the order of the next one hangs on its rows.
  function place(column: TreeNode[]): TreeNode[] {
    let free = 0;
    for (const node of column) {
      node.row = Math.max(free, node.parent?.row ?? 0);
      free = node.row + 1;
    }
    return column;
  }
}

function byParent(a: TreeNode, b: TreeNode): number {
  const rows = (a.parent?.row ?? 0) - (b.parent?.row ?? 0);
  if (rows) return rows;
  return Number(b.best) - Number(a.best) || b.candidate.score - a.candidate.score;
}

/** Rows beyond the last are moved up, from below: the order stays. */
function lift(column: TreeNode[], rows: number): void {
  let last = rows;
  for (let index = column.length - 1; index >= 0; index--) {
    column[index].row = Math.min(column[index].row, last - 1);
    last = column[index].row;
  }
}

/** From the first token to a node. */
export function pathTo(node: TreeNode): TreeNode[] {
  const path: TreeNode[] = [];
  for (let one: TreeNode | null = node; one; one = one.parent) path.unshift(one);
  return path;
}

/** Where an arrow key leads from a node; itself where there is nothing. */
export function neighbour(tree: Tree, node: TreeNode, key: string): TreeNode {
  if (key === 'ArrowLeft') return node.parent ?? node;
  if (key === 'ArrowRight') return node.children.find((child) => child.best) ?? node.children[0] ?? node;
  const column = tree.columns[node.step];
  const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
  return column[column.indexOf(node) + step] ?? node;
}

/** Where each column begins and how wide it is. */
export function columnsOf(
  tree: Tree,
  width: (node: TreeNode) => number,
  gap: number,
): { x: number; width: number }[] {
  let x = 0;
  return tree.columns.map((column) => {
    const own = Math.max(36, ...column.map(width));
    const placed = { x, width: own };
    x += own + gap;
    return placed;
  });
}
