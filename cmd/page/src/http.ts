import type { Listen, Live, Source, Stop } from "./source";
import { textOf } from "./source";
import { events } from "./sse";
import { hrefOf } from "./route";
import type { Action, Answer, Detail, Explained, Failure, Overview, Timeline } from "./wire";

const firstPause = 1_000;
const longestPause = 15_000;

class Unauthorised extends Error {}
class Missing extends Error {}

// httpSource asks the server of `stepgate dashboard`. refused is called when it does not know the token.
export function httpSource(token: string, refused: () => void): Source {
  const headers = { Authorization: `Bearer ${token}` };

  async function ask(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(path, { ...init, headers: { ...headers, ...init.headers }, cache: "no-store" });
    if (response.ok) return response;
    if (response.status === 401) {
      refused();
      throw new Unauthorised("the server does not know this page's token");
    }
    const text = await failureOf(response);
    throw response.status === 404 ? new Missing(text) : new Error(text);
  }

  const json = async <T>(path: string): Promise<T> => (await ask(path)).json() as Promise<T>;

  return {
    overview: (listen) => follow<Overview>((init) => ask("api/overview", init), listen),
    rollout: (namespace, name, listen) =>
      follow<Detail>((init) => ask(pathOf("api/rollouts", namespace, name), init), listen),
    explain: (namespace, name) => json<Explained>(pathOf("api/applications", namespace, name)),
    timeline: (namespace, name) => json<Timeline>(pathOf("api/timelines", namespace, name)),
    act: async (action: Action) => {
      const init = { method: "POST", body: JSON.stringify(action), headers: { "Content-Type": "application/json" } };
      return (await ask("api/actions", init)).json() as Promise<Answer>;
    },
    href: hrefOf,
  };
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

// follow reads a stream, and begins again when it ends, after pauses that grow. The last value stays.
function follow<T extends { at: string; problem?: string }>(
  open: (init: RequestInit) => Promise<Response>,
  listen: Listen<T>,
): Stop {
  const abort = new AbortController();
  let live: Live<T> = {};
  let pause = firstPause;
  const tell = (next: Live<T>) => {
    live = next;
    if (!abort.signal.aborted) listen(live);
  };

  async function read() {
    const response = await open({ signal: abort.signal });
    if (!response.body) throw new Error("the answer is empty");
    for await (const data of events(response.body)) {
      const value = JSON.parse(data) as T;
      pause = firstPause;
      tell(value.problem ? { value: kept(live.value, value), goodAt: live.goodAt } : { value, goodAt: value.at });
    }
    throw new Error("the connection to stepgate dashboard has ended");
  }

  async function loop() {
    while (!abort.signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (abort.signal.aborted || error instanceof Unauthorised) return;
        if (error instanceof Missing) tell({ missing: error.message });
        else tell({ ...live, lost: error instanceof TypeError ? "stepgate dashboard does not answer" : textOf(error) });
      }
      await waited(pause, abort.signal);
      pause = Math.min(pause * 2, longestPause);
    }
  }

  void loop();
  return () => abort.abort();
}

// kept is the news of a problem with what was known before it.
function kept<T extends object>(before: T | undefined, news: T): T {
  const empty = (v: unknown) => v === null || v === undefined || (Array.isArray(v) && v.length === 0);
  const told = Object.entries(news).filter(([, v]) => !empty(v));
  return { ...before, ...Object.fromEntries(told) } as T;
}

function waited(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      window.removeEventListener("online", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end);
    window.addEventListener("online", end);
  });
}
