import { useCallback, useSyncExternalStore } from "react";

// Route is what the fragment of the address names: one rollout, or all of them.
export type Route = { namespace: string; name: string } | null;

export function hrefOf(namespace: string, name: string): string {
  return `#/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

export function routeOf(path: string): Route {
  const [, namespace, name, more] = path.split("/");
  if (!namespace || !name || more !== undefined) return null;
  try {
    return { namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) };
  } catch {
    return null;
  }
}

// replaced is told when a parameter has changed: the browser tells only of addresses that somebody has gone to.
const replaced = "stepgate-address";
const changes = ["hashchange", "popstate", replaced];

function subscribe(changed: () => void): () => void {
  for (const name of changes) window.addEventListener(name, changed);
  return () => {
    for (const name of changes) window.removeEventListener(name, changed);
  };
}

function parts(): [path: string, parameters: URLSearchParams] {
  const [path = "", parameters] = window.location.hash.split("?", 2);
  return [path, new URLSearchParams(parameters)];
}

export function useRoute(): Route {
  return routeOf(useSyncExternalStore(subscribe, () => parts()[0]));
}

// useParameter is something of a view that its address keeps, so that a link shows the same.
export function useParameter(name: string): [value: string, set: (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => parts()[1].get(name) ?? "");
  const set = useCallback((next: string) => {
    const [path, parameters] = parts();
    if (next) parameters.set(name, next);
    else parameters.delete(name);
    const text = parameters.toString();
    const fragment = text ? `${path || "#"}?${text}` : path;
    history.replaceState(history.state, "", window.location.pathname + window.location.search + fragment);
    window.dispatchEvent(new Event(replaced));
  }, [name]);
  return [value, set];
}
