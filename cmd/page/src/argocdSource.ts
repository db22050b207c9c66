import { alone, askStepgate, families, haveDone, mayAct, namesOf, theCommit, theSet, theSubject, type Family, type Subject } from "./argocd";
import { poll, shared } from "./polled";
import { Failed, type Listen, type Source, type Stop } from "./source";
import type { Detail, Explained, History, Overview, Row, Status } from "./wire";
import { called, isParent } from "./words";

const rolloutEvery = 5_000;
const overviewEvery = 30_000;
// mostTried is how many Applications of an ApplicationSet are tried, where some may have gone.
const mostTried = 3;

// Find finds Applications of an ApplicationSet in whose name stepgate may be asked.
export type Find = (namespace: string, name: string) => Promise<Subject[]>;

// allowed is the answer to mayAct: it is asked once for a page.
let allowed: Promise<boolean> | undefined;

// withRights leaves the right to act to those whom Argo CD lets have stepgate act.
async function withRights(detail: Detail): Promise<Detail> {
  if (!detail.rights.annotate) return detail;
  allowed ??= mayAct();
  return { ...detail, rights: { ...detail.rights, annotate: await allowed } };
}

// argocdSource asks stepgate through argocd-server, with the session of the user.
export function argocdSource(find: Find): Source {
  const followed = new Map<string, (listen: Listen<Detail>) => Stop>();
  const follow = (namespace: string, name: string) => {
    let subjects: Promise<Subject[]> | undefined;
    const ask = async (signal: AbortSignal) => {
      subjects ??= find(namespace, name);
      try {
        return await withRights(await firstOf(await subjects, (s) => askStepgate<Detail>("rollout", s, signal)));
      } catch (error) {
        subjects = undefined;
        throw error;
      }
    };
    return shared<Detail>((listen) => poll(rolloutEvery, ask, listen));
  };
  return {
    overview: (listen) => poll(overviewEvery, overview, listen),
    rollout: (namespace, name, listen) => {
      const key = `${namespace}/${name}`;
      const one = followed.get(key) ?? follow(namespace, name);
      followed.set(key, one);
      return one(listen);
    },
    explain: async (namespace, name) => askStepgate<Explained>("explanation", await theSubject(namespace, name)),
    history: async (namespace, name) => historyOf(await find(namespace, name)),
    act: async (action) => firstOf(await find(action.namespace, action.name), (s) => haveDone(action, s)),
    commit: theCommit,
    argocd: new URL(".", document.baseURI).href.replace(/\/$/, ""),
    href: (namespace, name) =>
      `${window.location.pathname}${window.location.search}#/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
  };
}

// historyOf asks for the history. A reporter that is older than this extension knows nothing of it.
async function historyOf(subjects: Subject[]): Promise<History> {
  try {
    return await firstOf(subjects, (s) => askStepgate<History>("history", s));
  } catch (error) {
    if (!(error instanceof Failed) || error.status !== 404) throw error;
    throw new Failed(404, "stepgate's reporter is older than this extension, and knows no history: upgrade stepgate.");
  }
}

// firstOf is the first answer that has facts.
async function firstOf<T>(subjects: Subject[], ask: (subject: Subject) => Promise<T>): Promise<T> {
  let problem: unknown = new Failed(403, "Argo CD shows you no Application of this ApplicationSet");
  for (const subject of subjects.slice(0, mostTried)) {
    try {
      return await ask(subject);
    } catch (error) {
      problem = error;
      if (!(error instanceof Failed) || (error.status !== 401 && error.status !== 403)) break;
    }
  }
  throw problem;
}

async function overview(signal: AbortSignal): Promise<Overview> {
  const all = await families(signal);
  const rows: Row[] = [];
  let problem: string | undefined;
  // One after the other: admission comes first.
  for (const family of all) {
    try {
      const { rollout } = await rowOf(family, signal);
      // An Application of an ApplicationSet that the user may not get is none of none.
      if (rollout.name === family.name && (family.follows || rollout.phase !== "NoSteps")) rows.push(rollout);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      if (error.status !== 403) problem = error.message;
      if (error.status !== 403 && error.status !== 429) break;
    }
  }
  return { at: new Date().toISOString(), rows, ...(problem && { problem }) };
}

function rowOf(family: Family, signal: AbortSignal): Promise<Status> {
  return firstOf(family.subjects, (s) => askStepgate<Status>("status", s, signal));
}

// namesFrom are the names of the Applications of an ApplicationSet. Where there is none of that name, it may be that of an
// Application of none.
async function namesFrom(namespace: string, name: string): Promise<string[]> {
  try {
    return namesOf(await theSet(namespace, name));
  } catch (error) {
    if (!(error instanceof Failed) || (error.status !== 403 && error.status !== 404)) throw error;
    return [name];
  }
}

// findFor finds Applications of these names, which are those of an ApplicationSet; without names, Argo CD tells them.
export function findFor(names: string[]): Find {
  return async (namespace, name) => {
    if (isParent(name)) return [{ ...(await theSubject(namespace, called(name))), own: true }];
    const known = alone.get(`${namespace}/${name}`);
    if (known) return [known];
    const all = names.length > 0 ? names : await namesFrom(namespace, name);
    const found: Subject[] = [];
    for (const one of all.slice(0, mostTried)) {
      try {
        found.push(await theSubject(namespace, one));
        break;
      } catch (error) {
        // It may be gone, or the user may not get it.
        if (!(error instanceof Failed) || (error.status !== 403 && error.status !== 404)) throw error;
      }
    }
    return found;
  };
}
