import { poll } from "./polled";
import { hrefOf } from "./route";
import { Failed, type Source } from "./source";
import type { Action, Answer, Detail, Explained, Failure, History, Overview, Timeline } from "./wire";

// every is how often a tab asks whether something has changed. The server judges once per change, for all tabs.
const every = 1_000;
// The server wants this header: pages of other sites cannot send it.
const page = { "Stepgate-Page": "1" };

// httpSource asks the server of `stepgate dashboard`. refused is called when this browser has no key.
export function httpSource(refused: () => void): Source {
  async function ask(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await asked(path, init);
    if (response.ok || response.status === 304) return response;
    if (response.status === 401) refused();
    throw new Failed(response.status, await failureOf(response), response.status === 404);
  }

  const json = async <T>(path: string): Promise<T> => (await ask(path)).json() as Promise<T>;

  // changes gives what an address shows where that is not what it showed before.
  function changes<T>(path: string): (signal: AbortSignal) => Promise<T | undefined> {
    let tag = "";
    return async (signal) => {
      const had = tag;
      tag = "";
      const response = await ask(path, { signal, headers: had ? { "If-None-Match": had } : {} });
      const value = response.status === 304 ? undefined : ((await response.json()) as T);
      tag = value ? response.headers.get("ETag") ?? "" : had;
      return value;
    };
  }

  return {
    overview: (listen) => poll(every, changes<Overview>("api/overview"), listen),
    rollout: (namespace, name, listen) => poll(every, changes<Detail>(pathOf("api/rollouts", namespace, name)), listen),
    explain: (namespace, name) => json<Explained>(pathOf("api/applications", namespace, name)),
    timeline: (namespace, name) => json<Timeline>(pathOf("api/timelines", namespace, name)),
    history: (namespace, name) => json<History>(pathOf("api/histories", namespace, name)),
    act: async (action: Action) => {
      const init = { method: "POST", body: JSON.stringify(action), headers: { "Content-Type": "application/json" } };
      return (await ask("api/actions", init)).json() as Promise<Answer>;
    },
    href: hrefOf,
  };
}

// takeToken takes the token out of the address, where somebody could read it or copy it by mistake, and gets this browser
// the key for it.
export async function takeToken(): Promise<void> {
  const token = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", window.location.pathname + window.location.search + "#/");
  const init = { method: "POST", headers: { Authorization: `Bearer ${token}` } };
  // Where it is not the token, the next request says what to do.
  await asked("api/session", init).catch(() => undefined);
}

async function asked(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, { ...init, headers: { ...page, ...init.headers }, cache: "no-store" });
  } catch (error) {
    throw error instanceof TypeError ? new Failed(0, "stepgate dashboard does not answer") : error;
  }
}

function pathOf(under: string, namespace: string, name: string): string {
  return `${under}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

async function failureOf(response: Response): Promise<string> {
  try {
    return ((await response.json()) as Failure).error || response.statusText;
  } catch {
    return `the server answers ${response.status} ${response.statusText}`;
  }
}
