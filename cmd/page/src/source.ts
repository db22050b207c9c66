import { createContext, useContext, useEffect, useState } from "react";
import type { Action, Answer, Detail, Explained, History, Overview, Timeline } from "./wire";

// Live is the newest value of a stream.
export interface Live<T> {
  value?: T;
  // goodAt is the moment of the value, as far as nothing was wrong with it.
  goodAt?: string;
  // lost says why the value is not the present one; missing says that there is no such object.
  lost?: string;
  missing?: string;
}

export type Listen<T> = (live: Live<T>) => void;
export type Stop = () => void;

// Source is where the components have their facts from. They know neither addresses nor tokens.
export interface Source {
  overview(listen: Listen<Overview>): Stop;
  rollout(namespace: string, name: string, listen: Listen<Detail>): Stop;
  explain(namespace: string, application: string): Promise<Explained>;
  // timeline is absent where nobody reads the past.
  timeline?(namespace: string, name: string): Promise<Timeline>;
  // history is what stepgate has kept of the past.
  history(namespace: string, name: string): Promise<History>;
  // act is absent where nothing may be written.
  act?(action: Action): Promise<Answer>;
  // commit is absent where nobody knows what a commit is about.
  commit?(namespace: string, application: string, revision: string): Promise<{ subject: string; author: string }>;
  // argocd is the address of Argo CD's UI, where it is not in the facts.
  argocd?: string;
  // href is the address of a rollout's view.
  href(namespace: string, name: string): string;
}

export const SourceContext = createContext<Source | null>(null);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error("no source");
  return source;
}

export function useOverview(): Live<Overview> {
  const source = useSource();
  const [live, setLive] = useState<Live<Overview>>({});
  useEffect(() => source.overview(setLive), [source]);
  return live;
}

export function useRollout(namespace: string, name: string): Live<Detail> {
  const source = useSource();
  const [live, setLive] = useState<Live<Detail>>({});
  useEffect(() => {
    setLive({});
    return source.rollout(namespace, name, setLive);
  }, [source, namespace, name]);
  return live;
}

export interface Asked<T> {
  value?: T;
  error?: string;
}

// useAsked asks once, and again when the key changes. The last answer stays until the next one is there.
export function useAsked<T>(ask: () => Promise<T>, key: string): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({});
  useEffect(() => {
    let gone = false;
    ask().then(
      (value) => gone || setAsked({ value }),
      (error: unknown) => gone || setAsked((last) => ({ ...last, error: textOf(error) })),
    );
    return () => {
      gone = true;
    };
  }, [key]);
  return asked;
}

// Failed is an answer that has no facts. missing says that there is no such object, or none that the user may get.
export class Failed extends Error {
  constructor(readonly status: number, text: string, readonly missing = status === 403) {
    super(text);
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
