import type { KeyboardEvent } from "react";

const along: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
};

// moveFocus goes from the focused tile to the nearest one in the direction of the arrow; Home and End to the first and
// the last one of the step.
export function moveFocus(e: KeyboardEvent<HTMLElement>): void {
  const from = e.target instanceof HTMLElement ? e.target.closest<HTMLElement>("[data-tile]") : null;
  if (!from || e.ctrlKey || e.metaKey || e.altKey) return;
  const direction = along[e.key];
  const to = direction ? nearest(from, tilesIn(e.currentTarget), direction) : edge(e.key, from);
  if (!to) return;
  e.preventDefault();
  to.focus();
}

function tilesIn(within: Element): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>("[data-tile]")].filter((tile) => tile.offsetParent !== null);
}

function edge(key: string, from: HTMLElement): HTMLElement | undefined {
  const step = from.closest("[data-step]");
  if (!step || (key !== "Home" && key !== "End")) return undefined;
  return tilesIn(step).at(key === "Home" ? 0 : -1);
}

// nearest prefers tiles in the same row or column: what is off the line counts more than the way.
function nearest(from: HTMLElement, all: HTMLElement[], [dx, dy]: [number, number]): HTMLElement | undefined {
  const here = from.getBoundingClientRect();
  let best: HTMLElement | undefined;
  let least = Infinity;
  for (const tile of all) {
    const there = tile.getBoundingClientRect();
    const x = gap(here.left, here.right, there.left, there.right, dx);
    const y = gap(here.top, here.bottom, there.top, there.bottom, dy);
    if (tile === from || x === undefined || y === undefined) continue;
    const way = dx ? x + 4 * y : y + 4 * x;
    if (way < least) [best, least] = [tile, way];
  }
  return best;
}

// gap is the distance of two intervals. There is none if the second one is not on the wanted side.
function gap(a: number, b: number, c: number, d: number, side: number): number | undefined {
  const between = c >= b - 1 ? c - b : d <= a + 1 ? a - d : 0;
  if (side > 0 && c < b - 1) return undefined;
  if (side < 0 && d > a + 1) return undefined;
  return Math.max(0, between);
}
