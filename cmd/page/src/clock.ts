import { useSyncExternalStore } from "react";

const tick = 5_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const listener of listeners) listener();
  }, tick);
  return () => {
    listeners.delete(changed);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

// useNow is the present time, to some seconds.
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
