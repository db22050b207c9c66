import { createContext, useContext } from "react";
import { Text } from "./Text";
import { useAsked, useSource } from "./source";

// Commits are the addresses of commits, by the commit. What is not in there has none that is known.
export const CommitsContext = createContext<Record<string, string>>({});

export function useCommit(revision: string): string | undefined {
  return useContext(CommitsContext)[revision];
}

interface Of {
  namespace: string;
  application?: string;
  revisions?: string[] | null;
}

// Subject says what a commit is about, and whose it is, where somebody knows that.
export function Subject({ namespace, application, revisions }: Of) {
  const { commit } = useSource();
  const [revision] = revisions ?? [];
  if (!commit || !application || !revision || revisions?.length !== 1) return null;
  return <Known key={revision} revision={revision} ask={() => commit(namespace, application, revision)} />;
}

function Known({ revision, ask }: { revision: string; ask: () => Promise<{ subject: string; author: string }> }) {
  const { value } = useAsked(ask, revision);
  if (!value) return null;
  return <span className="sg-subject"><Text>{value.subject}</Text>{value.author && <span className="sg-faint">, <Text>{value.author}</Text></span>}</span>;
}
