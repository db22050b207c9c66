import { kinds, kindWord } from "./words";
import type { Application, Kind, Said } from "./wire";

export interface Item {
  application: Application;
  text: string;
}

export interface Group {
  key: string;
  kind: Kind;
  // text is what is said of all of them, if that is the same.
  text: string;
  compact: boolean;
  // all is how many it has; items may be the first of them.
  all: number;
  items: Item[];
}

const many = 4;

// matching are the Applications that have all words in their name, cluster, or in what is said of them.
export function matching(applications: Application[], said: Record<string, Said>, words: string): Application[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return applications;
  return applications.filter((a) => {
    const { kind, text } = said[a.name] ?? {};
    const all = [a.name, a.cluster, a.track, kind && kindWord[kind], text].join(" ").toLowerCase();
    return wanted.every((word) => all.includes(word));
  });
}

// groupsOf puts first what somebody has to look at. Many of a kind that say the same become one group of small tiles.
export function groupsOf(applications: Application[], said: Record<string, Said>): Group[] {
  const byKind = new Map<Kind, Item[]>(kinds.map((kind) => [kind, []]));
  for (const application of applications) {
    const { kind, text } = said[application.name] ?? { kind: application.done ? "done" : "waits", text: "" };
    byKind.get(kind)?.push({ application, text });
  }
  return kinds.flatMap((kind) => split(kind, byKind.get(kind) ?? []));
}

function split(kind: Kind, items: Item[]): Group[] {
  if (items.length === 0) return [];
  if (kind === "done") return [{ key: kind, kind, text: "", compact: true, all: items.length, items }];
  const byText = new Map<string, Item[]>();
  for (const item of items) {
    const same = byText.get(item.text);
    if (same) same.push(item);
    else byText.set(item.text, [item]);
  }
  const single: Item[] = [];
  const groups: Group[] = [];
  for (const [text, same] of byText) {
    if (same.length < many) single.push(...same);
    else groups.push({ key: `${kind} ${text}`, kind, text, compact: true, all: same.length, items: same });
  }
  if (single.length > 0) groups.unshift({ key: kind, kind, text: "", compact: false, all: single.length, items: single });
  return groups;
}
