import { Failed, textOf, type Listen, type Live, type Stop } from "./source";

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

const longestPause = 15_000;

// poll asks again and again while somebody looks at the page; seldomer while there is no answer. The last value stays.
// An answer without a value says that it is still so.
export function poll<T extends { at: string; problem?: string }>(
  every: number, ask: (signal: AbortSignal) => Promise<T | undefined>, listen: Listen<T>,
): Stop {
  const abort = new AbortController();
  let live: Live<T> = {};
  let goodAt: string | undefined;
  let pause = every;
  let timer: ReturnType<typeof setTimeout> | undefined;

  // next is what there is to tell; nothing if it is still so.
  async function next(): Promise<Live<T> | undefined> {
    try {
      const value = await ask(abort.signal);
      pause = every;
      const now = value ?? live.value;
      if (!now?.problem) goodAt = value?.at ?? new Date().toISOString();
      if (!value) return live.lost ? { value: live.value, goodAt } : undefined;
      return { value: value.problem ? kept(live.value, value) : value, goodAt };
    } catch (error) {
      pause = Math.max(every, Math.min(pause * 2, longestPause));
      if (error instanceof Failed && error.missing) return { missing: error.message };
      return { value: live.value, goodAt, lost: textOf(error) };
    }
  }

  async function look() {
    clearTimeout(timer);
    const news = document.hidden ? undefined : await next();
    if (abort.signal.aborted) return;
    if (news) listen((live = news));
    clearTimeout(timer);
    timer = setTimeout(() => void look(), pause);
  }

  const seen = () => document.hidden || void look();
  document.addEventListener("visibilitychange", seen);
  window.addEventListener("online", seen);
  void look();
  return () => {
    abort.abort();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
    window.removeEventListener("online", seen);
  };
}

// kept is the news of a problem with what was known before it.
function kept<T extends object>(before: T | undefined, news: T): T {
  const empty = (v: unknown) => v === null || v === undefined || (Array.isArray(v) && v.length === 0);
  const told = Object.entries(news).filter(([, v]) => !empty(v));
  return { ...before, ...Object.fromEntries(told) } as T;
}
