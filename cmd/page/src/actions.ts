import type { Action, Rollout } from "./wire";

// Wanted is an action that somebody has chosen and not yet confirmed.
export interface Wanted {
  action: Action;
  word: string;
  title: string;
  // asks says that the dialog has to ask for a step and a reason before the action is known.
  asks?: boolean;
}

type Place = Pick<Rollout, "namespace" | "name">;

const of = ({ namespace, name }: Place, step?: number) => ({ namespace, name, ...(step && { step }) });
const where = (r: Place, step?: number) => (step ? `step ${step} of ${r.name}` : r.name);

// undoOf is what takes an action back, as far as something does.
export function undoOf({ verb, step, ...place }: Action): Wanted | undefined {
  if (verb === "pause") return ask.resume(place, step);
  // Nothing takes an approval back; a pause holds what it lets through.
  return verb === "refresh" ? undefined : ask.pause(place, step);
}

// ask makes the actions of the buttons.
export const ask = {
  pause: (r: Place, step?: number): Wanted => ({
    action: { verb: "pause", ...of(r, step) }, word: "Pause", title: `Pause ${where(r, step)}`, asks: true,
  }),
  resume: (r: Place, step?: number): Wanted => ({
    action: { verb: "resume", ...of(r, step) }, word: "Resume", title: `Resume ${where(r, step)}`,
  }),
  // What is approved is what the dry run shows.
  approve: (r: Place, step: number): Wanted => ({
    action: { verb: "approve", ...of(r, step) }, word: "Approve", title: `Approve ${where(r, step)}`,
  }),
  refresh: (namespace: string, name: string): Wanted => ({
    action: { verb: "refresh", namespace, name }, word: "Refresh", title: `Refresh ${name}`,
  }),
};
