import { useSyncExternalStore } from "react";

// Route is what the fragment of the address names: one rollout, or all of them.
export type Route = { namespace: string; name: string } | null;

export function hrefOf(namespace: string, name: string): string {
  return `#/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function routeOf(fragment: string): Route {
  const [, namespace, name, more] = fragment.split("/");
  if (!namespace || !name || more !== undefined) return null;
  try {
    return { namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) };
  } catch {
    return null;
  }
}

function subscribe(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

export function useRoute(): Route {
  return routeOf(useSyncExternalStore(subscribe, () => window.location.hash));
}
