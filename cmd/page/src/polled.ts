import type { Listen, Live, Stop } from "./source";
import { Failed } from "./argocd";
import { textOf } from "./source";

// shared gives every listener the values of one poll, which lasts as long as somebody listens.
export function shared<T>(start: (listen: Listen<T>) => Stop): (listen: Listen<T>) => Stop {
  const listeners = new Set<Listen<T>>();
  let live: Live<T> | undefined;
  let stop: Stop | undefined;
  return (listen) => {
    listeners.add(listen);
    if (live) listen(live);
    stop ??= start((next) => {
      live = next;
      listeners.forEach((l) => l(next));
    });
    return () => {
      listeners.delete(listen);
      if (listeners.size > 0) return;
      stop?.();
      stop = live = undefined;
    };
  };
}

// poll asks again and again while somebody looks at the page. The last value stays.
export function poll<T extends { at: string }>(every: number, ask: (signal: AbortSignal) => Promise<T>, listen: Listen<T>): Stop {
  const abort = new AbortController();
  let live: Live<T> = {};
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function look() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        const value = await ask(abort.signal);
        live = { value, goodAt: value.at };
      } catch (error) {
        live = error instanceof Failed && error.status === 403 ? { missing: error.message } : { ...live, lost: textOf(error) };
      }
    }
    if (abort.signal.aborted) return;
    if (live.value || live.lost || live.missing) listen(live);
    clearTimeout(timer);
    timer = setTimeout(() => void look(), every);
  }

  const seen = () => document.hidden || void look();
  document.addEventListener("visibilitychange", seen);
  void look();
  return () => {
    abort.abort();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
