import { duration, stepName } from "./words";
import type { PastRollout, Sync } from "./wire";

export interface Bar {
  from: number;
  to: number;
  kind: "good" | "early" | "failed" | "running" | "waited" | "left";
}

export interface Lane {
  step: number;
  bars: Bar[];
  text: string;
}

const ms = (at: string) => new Date(at).getTime();

export function spanOf(r: PastRollout): { from: number; to: number } {
  const from = ms(r.beganAt);
  const ends = (r.syncs ?? []).map((s) => (s.finishedAt ? ms(s.finishedAt) : Date.now()));
  return { from, to: Math.max(from + 1000, r.endedAt ? ms(r.endedAt) : from, ...ends) };
}

export interface LaneStep {
  step: number;
  name: string;
}

// laneStepsOf are the steps of rollouts: all up to the last one, or the waves that there are, of which each has its number.
export function laneStepsOf(rollouts: PastRollout[]): LaneStep[] {
  const syncs: Sync[] = rollouts.flatMap((r) => r.syncs ?? []);
  if (!syncs.some((s) => s.wave)) {
    const last = Math.max(1, ...syncs.map((s) => s.step));
    return Array.from({ length: last }, (_, i) => ({ step: i + 1, name: stepName(i + 1) }));
  }
  const waves = [...new Set(syncs.map((s) => s.step))].sort((a, b) => a - b);
  return waves.map((wave) => ({ step: wave, name: stepName(0, wave) }));
}

// lanesOf are the steps, each with the times in which something of it was synced, as parts of the whole time. Syncs of a
// kind that overlap become one bar, so that 1,000 Applications are some bars.
export function lanesOf(r: PastRollout, steps: LaneStep[]): Lane[] {
  const span = spanOf(r);
  const early = new Set((r.early ?? []).map((s) => s.application));
  const part = (t: number) => (t - span.from) / (span.to - span.from);
  return steps.map(({ step, name }) => {
    const syncs = (r.syncs ?? []).filter((s) => s.step === step);
    const bars = syncs
      .map((s): Bar => ({
        from: part(ms(s.startedAt)), to: s.finishedAt ? part(ms(s.finishedAt)) : 1, kind: kindOf(s, early),
      }))
      .sort((a, b) => a.kind.localeCompare(b.kind) || a.from - b.from);
    return { step, bars: merged(bars), text: `${name}: ${textOf(syncs, early)}` };
  });
}

function kindOf(s: Sync, early: Set<string>): Bar["kind"] {
  if (early.has(s.application)) return "early";
  if (s.outcome === "Failed") return "failed";
  return s.finishedAt ? "good" : "running";
}

function merged(bars: Bar[]): Bar[] {
  const all: Bar[] = [];
  for (const bar of bars) {
    const last = all.at(-1);
    if (last && last.kind === bar.kind && bar.from <= last.to) last.to = Math.max(last.to, bar.to);
    else all.push({ ...bar });
  }
  return all;
}

function textOf(syncs: Sync[], early: Set<string>): string {
  if (syncs.length === 0) return "no sync";
  const from = Math.min(...syncs.map((s) => ms(s.startedAt)));
  const to = Math.max(...syncs.map((s) => (s.finishedAt ? ms(s.finishedAt) : Date.now())));
  const tooEarly = syncs.filter((s) => early.has(s.application)).length;
  const failed = syncs.filter((s) => s.outcome === "Failed").length;
  return `${syncs.length} synced within ${duration(to - from)}`
    + (tooEarly ? `, ${tooEarly} too early` : "") + (failed ? `, ${failed} failed` : "");
}
