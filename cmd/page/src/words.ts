import type { Candidate, KeptResult, Kind, Phase, Row, Urgency, Verdict } from "./wire";

export type SignName = Kind | "warning";

// kinds are in the order in which somebody has to act.
export const kinds: Kind[] = ["failed", "held", "running", "waits", "excluded", "done"];

export const kindWord: Record<Kind, string> = {
  failed: "failed",
  held: "held",
  running: "running",
  waits: "waiting",
  excluded: "not counted",
  done: "done",
};

// wordFor is the word of a kind, unless the text says it already.
export function wordFor(kind: Kind, text: string): string {
  const word = kindWord[kind];
  return text.startsWith(kind === "waits" ? "wait" : word) || text.startsWith("would wait") ? "" : word;
}

export const phaseSign: Record<Phase, SignName> = {
  Complete: "done",
  Progressing: "running",
  Waiting: "waits",
  NoSteps: "excluded",
};

export const phaseWord: Record<Phase, string> = {
  Complete: "Complete",
  Progressing: "Progressing",
  Waiting: "Waiting",
  NoSteps: "No steps",
};

// byParent begins the name of the order that a parent Application gives its children.
const byParent = "waves/";

// isParent says whether a rollout is the order of a parent Application.
export function isParent(name: string): boolean {
  return name.startsWith(byParent);
}

// orderBy is the name of the order that a parent Application gives its children.
export function orderBy(name: string): string {
  return byParent + name;
}

// called is what people call what orders Applications.
export function called(name: string): string {
  return isParent(name) ? name.slice(byParent.length) : name;
}

// urgencies are in the order in which somebody has to act.
export const urgencies: Urgency[] = ["NeedsYou", "WaitsByItself", "Running", "Complete"];

export const urgencyWord: Record<Urgency, string> = {
  NeedsYou: "Needs you",
  WaitsByItself: "Waits by itself",
  Running: "Running",
  Complete: "Complete",
};

export const urgencySign: Record<Urgency, SignName> = {
  NeedsYou: "warning",
  WaitsByItself: "waits",
  Running: "running",
  Complete: "done",
};

// reasonOf says what a rollout waits for first, and how much more there is.
export function reasonOf({ need, more, open, status }: Row): string {
  const first = open ? "Nothing is held. " : "";
  if (need) return first + (more ? `${need.text} (+${more} more)` : need.text);
  return status;
}

export const verdictWord: Record<Verdict, string> = {
  InOrder: "in order",
  OutOfOrder: "out of order",
  ByHand: "by hand",
  Unclear: "unclear",
  OneStep: "one step",
};

export const verdictSign: Record<Verdict, SignName> = {
  InOrder: "done",
  OutOfOrder: "failed",
  ByHand: "warning",
  Unclear: "waits",
  OneStep: "done",
};

// kept are the result of a rollout and its sign. One without a result is under way.
export const keptWord: Record<KeptResult, string> = { complete: "complete", superseded: "superseded" };

export const keptSign: Record<KeptResult, SignName> = { complete: "done", superseded: "excluded" };

// short cuts a commit, and nothing else, to the 7 characters by which people know it.
export function short(revision: string): string {
  return /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(revision) ? revision.slice(0, 7) : revision;
}

export function revisionsText(revisions: string[] | null | undefined): string {
  return (revisions ?? []).map(short).join(", ");
}

export function candidateText(c: Candidate): string {
  if (!c.reason) return "may start";
  const why = c.detail ? `${c.reason}: ${c.detail}` : c.reason;
  return c.blocker ? `waits for ${c.blocker} (${why})` : `waits: ${why}`;
}

// stepName is what people call a step: step 3, or wave 20.
export function stepName(step: number, wave?: number): string {
  return wave === undefined ? `step ${step}` : `wave ${wave}`;
}

// placeOf is a step among so many: 2 of 3, or wave 20 (2 of 3).
export function placeOf(step: number, of: number, wave?: number): string {
  return wave === undefined ? `${step} of ${of}` : `wave ${wave} (${step} of ${of})`;
}

// titleOf is a text with a capital letter.
export function titleOf(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function plural(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}

// printable shows the characters that cannot be seen, or that turn the direction of the line, by their number.
export function printable(text: string): string {
  return text.replace(/(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]/gu, numbered);
}

function numbered(character: string): string {
  return `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`;
}

// duration is a time span as the command line writes it; the seconds count only while they matter.
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  const days = Math.floor(hours / 24);
  return hours % 24 && days < 7 ? `${days}d${hours % 24}h` : `${days}d`;
}

// objectOf is the namespace and the name of an Application: one that is in another namespace than what orders it is called
// NAMESPACE/NAME there.
export function objectOf(namespace: string, name: string): [string, string] {
  const at = name.indexOf("/");
  return at < 0 ? [namespace, name] : [name.slice(0, at), name.slice(at + 1)];
}

// isSet reports whether a member of the order of a parent is an ApplicationSet that is not done itself.
export function isSet(name: string): boolean {
  return name.startsWith("applicationset:");
}
