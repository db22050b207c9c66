import { called, stepName } from "./words";
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

// At is the step of an action: a wave has the number of the wave alone.
export type At = Pick<Action, "step" | "wave">;

// atOf is a step by what the server says of it; undefined for none.
export function atOf(step: number | undefined, wave: number | undefined): At | undefined {
  if (wave !== undefined) return { wave };
  return step ? { step } : undefined;
}

const of = ({ namespace, name }: Place, at?: At) => ({ namespace, name, ...at });
const where = (r: Place, at?: At) => (at ? `${stepName(at.step ?? 0, at.wave)} of ${called(r.name)}` : called(r.name));

// undoOf is what takes an action back, as far as something does.
export function undoOf({ verb, step, wave, ...place }: Action): Wanted | undefined {
  const at = atOf(step, wave);
  if (verb === "pause") return ask.resume(place, at);
  // Nothing takes an approval back; a pause holds what it lets through.
  return verb === "refresh" ? undefined : ask.pause(place, at);
}

// ask makes the actions of the buttons.
export const ask = {
  pause: (r: Place, at?: At): Wanted => ({
    action: { verb: "pause", ...of(r, at) }, word: "Pause", title: `Pause ${where(r, at)}`, asks: true,
  }),
  resume: (r: Place, at?: At): Wanted => ({
    action: { verb: "resume", ...of(r, at) }, word: "Resume", title: `Resume ${where(r, at)}`,
  }),
  // What is approved is what the dry run shows.
  approve: (r: Place, at?: At): Wanted => ({
    action: { verb: "approve", ...of(r, at) }, word: "Approve", title: `Approve ${where(r, at)}`,
  }),
  refresh: (namespace: string, name: string): Wanted => ({
    action: { verb: "refresh", namespace, name }, word: "Refresh", title: `Refresh ${name}`,
  }),
};
