import type { Bar, Lane } from "./lanes";
import { duration, plural, stepName } from "./words";
import type { KeptRollout, KeptStep, KeptWait } from "./wire";

const ms = (at: string) => new Date(at).getTime();

// endOf is when a rollout has ended; now while it is under way.
export function endOf(r: KeptRollout, now: number): number {
  return r.endedAt ? ms(r.endedAt) : Math.max(now, ms(r.comparedAt));
}

// firstOf is when it was first seen: a sync may have started before its revision was compared.
export function firstOf(r: KeptRollout): string {
  return r.startedAt && ms(r.startedAt) < ms(r.comparedAt) ? r.startedAt : r.comparedAt;
}

export function tookOf(r: KeptRollout, now: number): string {
  return duration(endOf(r, now) - ms(firstOf(r)));
}

// waitTook is how long a step has waited for something.
export function waitTook(w: KeptWait, now: number): number {
  return (w.until ? ms(w.until) : now) - ms(w.since);
}

export interface Longest {
  // name is that of the step.
  name: string;
  wait: KeptWait;
}

// longestOf is the longest wait of a rollout.
export function longestOf(r: KeptRollout, now: number): Longest | undefined {
  let longest: Longest | undefined;
  for (const { step, wave, waits } of r.steps ?? []) {
    for (const wait of waits ?? []) {
      if (!longest || waitTook(wait, now) > waitTook(longest.wait, now)) longest = { name: stepName(step, wave), wait };
    }
  }
  return longest;
}

// lanesOfKept are the steps of a rollout, each with its wait and its run, as parts of the whole time.
export function lanesOfKept(r: KeptRollout, now: number): Lane[] {
  const from = ms(firstOf(r));
  const to = Math.max(from + 1000, endOf(r, now));
  const part = (t: number) => Math.min(1, Math.max(0, (t - from) / (to - from)));
  return (r.steps ?? []).map((s) => {
    const { start, end } = timesOf(s, r, now);
    const bars: Bar[] = [];
    const reached = start ?? end;
    if (reached === undefined) return { step: s.step, bars, text: `${stepName(s.step, s.wave)}: ${textOf(s, r, now)}` };
    if (reached > from) bars.push({ from: 0, to: part(reached), kind: "waited" });
    if (start !== undefined && end !== undefined) bars.push({ from: part(start), to: part(end), kind: kindOf(s, r) });
    return { step: s.step, bars, text: `${stepName(s.step, s.wave)}: ${textOf(s, r, now)}` };
  });
}

function kindOf(s: KeptStep, r: KeptRollout): Bar["kind"] {
  if (s.completedAt) return "good";
  return r.endedAt || s.skipped ? "left" : "running";
}

// timesOf are when a step has started, and when it has ended or how far it is: a step that waits has only the latter, and
// one that the rollout has never reached has neither.
function timesOf(s: KeptStep, r: KeptRollout, now: number): { start?: number; end?: number } {
  const over = r.endedAt || s.skipped;
  if (!s.startedAt && !s.completedAt) return over ? {} : { end: endOf(r, now) };
  return { start: s.startedAt ? ms(s.startedAt) : undefined, end: s.completedAt ? ms(s.completedAt) : endOf(r, now) };
}

// textOf says how long a step has waited, and how long it has run.
export function textOf(s: KeptStep, r: KeptRollout, now: number): string {
  const { start, end } = timesOf(s, r, now);
  const first = ms(firstOf(r));
  if (end === undefined) return "not reached";
  if (start === undefined) return `${s.completedAt ? "completed after" : "waits since"} ${duration(end - first)}`;
  const waited = start - first >= 1000 ? `waited ${duration(start - first)}, ` : "";
  const ran = duration(end - start);
  if (s.completedAt) return `${waited}ran ${ran}, complete`;
  return kindOf(s, r) === "left" ? `${waited}started, superseded` : `${waited}runs for ${ran}`;
}

// notesOf are what else a reader should know at a glance.
export function notesOf(r: KeptRollout): string[] {
  const steps = r.steps ?? [];
  const all = <T>(of: (s: KeptStep) => T[] | undefined) => steps.flatMap((s) => of(s) ?? []);
  const failures = all((s) => s.failures).length;
  const approvals = new Set(all((s) => s.approvals).map((a) => a.by)).size;
  const people = new Set(all((s) => s.by)).size;
  const no = all((s) => s.evidence).filter((e) => e.answer === "no").length;
  return [
    failures > 0 && plural(failures, "failure", "failures"),
    !!r.bypasses?.length && "bypassed",
    people > 0 && "started by hand",
    approvals > 0 && `approved by ${plural(approvals, "person", "people")}`,
    no > 0 && plural(no, "object says no", "objects say no"),
    !!r.back && "deployed before",
  ].filter((note) => note !== false);
}
