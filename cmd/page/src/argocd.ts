import { comesAfterOthers, hasOrder, type Resource } from "./host";
import { Failed } from "./source";
import { orderBy } from "./words";
import type { Action, Answer, Failure } from "./wire";

// Subject is an Application in whose name stepgate is asked.
export interface Subject {
  namespace: string;
  name: string;
  project: string;
  // own asks for the order that it gives its children, and not for the one that it is in.
  own?: boolean;
}

const words: Record<number, string> = {
  401: "Argo CD does not let you ask stepgate: you need the right to get this Application and the right extensions, invoke, EXTENSION",
  404: "Argo CD knows no proxy extension EXTENSION: an administrator has to configure it: see https://github.com/stepgate/stepgate/blob/main/docs/argocd-ui.md",
  429: "stepgate has too much to answer just now",
  502: "stepgate does not answer",
  503: "stepgate does not answer",
  504: "stepgate does not answer",
};

async function json<T>(path: string, headers: Record<string, string>, signal?: AbortSignal, body?: string): Promise<T> {
  const address = new URL(path, document.baseURI);
  let response: Response;
  try {
    const method = body === undefined ? "GET" : "POST";
    response = await fetch(address, { method, body, headers, signal, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    throw error instanceof TypeError ? new Failed(0, "Argo CD does not answer") : error;
  }
  if (!response.ok) throw new Failed(response.status, await failureOf(response, /^extensions\/([^/]+)/.exec(path)?.[1] ?? "stepgate"));
  return response.json() as Promise<T>;
}

async function failureOf(response: Response, extension: string): Promise<string> {
  try {
    const { error } = (await response.json()) as Failure;
    if (error) return error;
  } catch {
    // It is not from stepgate.
  }
  return words[response.status]?.replace("EXTENSION", extension) ?? `Argo CD answers ${response.status} ${response.statusText}`;
}

// askStepgate asks through argocd-server, which checks that the user may get the Application.
export function askStepgate<T>(path: string, subject: Subject, signal?: AbortSignal): Promise<T> {
  return json<T>(`extensions/stepgate/api/v1/${path}${subject.own ? "?order=own" : ""}`, headersOf(subject), signal);
}

function headersOf({ namespace, name, project }: Subject): Record<string, string> {
  return { "Argocd-Application-Name": `${namespace}:${name}`, "Argocd-Project-Name": project };
}

// haveDone has stepgate act. argocd-server tells it for whom.
export function haveDone(action: Action, subject: Subject): Promise<Answer> {
  const headers = { ...headersOf(subject), "Content-Type": "application/json" };
  return json<Answer>("extensions/stepgate-act/api/v1/actions", headers, undefined, JSON.stringify(action));
}

// mayAct asks Argo CD whether the user may have stepgate act.
export async function mayAct(): Promise<boolean> {
  try {
    return (await json<{ value?: string }>("api/v1/account/can-i/extensions/invoke/stepgate-act", {})).value === "yes";
  } catch {
    return false;
  }
}

export function subjectOf(application: Resource, namespace = ""): Subject {
  const { metadata, spec } = application;
  return { namespace: metadata?.namespace ?? namespace, name: metadata?.name ?? "", project: spec?.project || "default" };
}

// theSubject asks Argo CD for the project of an Application.
export async function theSubject(namespace: string, name: string): Promise<Subject> {
  const path = `api/v1/applications/${encodeURIComponent(name)}?appNamespace=${encodeURIComponent(namespace)}`;
  try {
    return subjectOf(await json<Resource>(path, {}), namespace);
  } catch (error) {
    if (!(error instanceof Failed) || (error.status !== 403 && error.status !== 404)) throw error;
    throw new Failed(error.status, `Argo CD does not show you the Application ${name}`);
  }
}

interface Commit {
  subject: string;
  author: string;
}

const commits = new Map<string, Promise<Commit>>();

// theCommit asks Argo CD what a commit is about, and whose it is: once, as it never changes.
export function theCommit(namespace: string, name: string, revision: string): Promise<Commit> {
  const known = commits.get(revision);
  if (known) return known;
  const path = `api/v1/applications/${encodeURIComponent(name)}/revisions/${encodeURIComponent(revision)}/metadata`
    + `?appNamespace=${encodeURIComponent(namespace)}`;
  const asked = json<{ message?: string; author?: string }>(path, {}).then(({ message = "", author = "" }) => (
    { subject: message.split("\n", 1)[0] ?? "", author: author.replace(/\s*<.*>$/, "") }
  ));
  commits.set(revision, asked);
  asked.catch(() => commits.delete(revision)); // who asks again may be answered
  return asked;
}

// Family is an ApplicationSet, and those of its Applications that the user may get, or an Application of none.
export interface Family {
  namespace: string;
  name: string;
  subjects: Subject[];
  // follows says that it, or something of it, comes after others.
  follows: boolean;
}

interface List {
  items?: Resource[] | null;
}

// Argo CD selects these fields of Applications, and not their owners. So the ApplicationSets tell which are theirs.
const fields = "items.metadata.name,items.metadata.namespace,items.metadata.annotations,items.spec.project";

// alone are the Applications of no ApplicationSet among the last families: Argo CD is not asked for ApplicationSets of
// their names.
export const alone = new Map<string, Subject>();

// families are all that the user may get of what has an order: ApplicationSets with steps or waves, those that come after
// others, or of which an Application does, Applications of none that do, and the children of parents with waves.
export async function families(signal?: AbortSignal): Promise<Family[]> {
  const sets = (await json<List>("api/v1/applicationsets", {}, signal)).items ?? [];
  const known = new Map<string, Subject>();
  const following = new Set<string>();
  const all: Family[] = [];
  for (const application of (await json<List>(`api/v1/applications?fields=${fields}`, {}, signal)).items ?? []) {
    const subject = subjectOf(application);
    const key = `${subject.namespace}/${subject.name}`;
    known.set(key, subject);
    if (comesAfterOthers(application)) following.add(key);
    if (hasOrder(application)) {
      all.push({ namespace: subject.namespace, name: orderBy(subject.name), follows: false, subjects: [{ ...subject, own: true }] });
    }
  }
  for (const set of sets) {
    const { namespace = "", name = "" } = set.metadata ?? {};
    const keys = namesOf(set).map((n) => `${namespace}/${n}`);
    const follows = comesAfterOthers(set) || keys.some((k) => following.has(k));
    if (follows || hasOrder(set)) {
      all.push({ namespace, name, follows, subjects: keys.map((k) => known.get(k)).filter((s) => s !== undefined) });
    }
    keys.forEach((k) => following.delete(k));
  }
  const names = new Set(sets.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`));
  alone.clear();
  for (const key of following) {
    const subject = known.get(key);
    if (!subject) continue;
    if (!names.has(key)) alone.set(key, subject);
    all.push({ namespace: subject.namespace, name: subject.name, subjects: [subject], follows: true });
  }
  return all.sort((a, b) => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name));
}

// namesOf are the names of the Applications of an ApplicationSet, as its status has them.
export function namesOf({ status }: Resource): string[] {
  const names = [...(status?.applicationStatus ?? []).map((a) => a.application), ...(status?.resources ?? []).map((r) => r.name)];
  return [...new Set(names)];
}

// theSet asks Argo CD for an ApplicationSet.
export function theSet(namespace: string, name: string): Promise<Resource> {
  return json<Resource>(`api/v1/applicationsets/${encodeURIComponent(name)}?appsetNamespace=${encodeURIComponent(namespace)}`, {});
}
