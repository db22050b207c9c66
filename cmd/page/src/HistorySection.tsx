import { useEffect, useMemo, useRef, useState } from "react";
import { CommitsContext } from "./commits";
import { HistoryRow } from "./HistoryRow";
import { Legend } from "./Legend";
import { Sign } from "./Sign";
import { useAsked, useSource } from "./source";
import { Moment, Text } from "./Text";
import type { History, Rollout } from "./wire";

const legend = [["waited", "waited"], ["good", "complete"], ["running", "runs"], ["left", "superseded"]] as const;

// HistorySection are the rollouts that stepgate has kept. They are asked for at the beginning, and when the step changes.
export function HistorySection({ rollout: { namespace, name, phase, step } }: { rollout: Rollout }) {
  const source = useSource();
  const asked = useAsked(() => source.history(namespace, name), `${namespace}/${name} ${phase} ${step}`);
  const problem = asked.error ?? asked.value?.problem;
  const any = !!asked.value?.rollouts?.length;
  return (
    <section className="sg-timeline" aria-labelledby="sg-history">
      <div className="sg-bar"><h2 id="sg-history">History</h2>{any && <Legend of={legend} />}</div>
      {problem && <p className="sg-note"><Sign name="warning" /><span><Text>{problem}</Text></span></p>}
      {!asked.value && !asked.error && <p className="sg-empty">Reading the history…</p>}
      {asked.value && <Kept history={asked.value} />}
    </section>
  );
}

const atFirst = 10;

function Kept({ history }: { history: History }) {
  const [whole, setWhole] = useState(false);
  const list = useRef<HTMLUListElement>(null);
  const commits = useMemo(() => history.commits ?? {}, [history]);
  const all = history.rollouts ?? [];
  const shown = whole ? all : all.slice(0, atFirst);
  // The button is gone: the focus goes to the first of those that it has shown.
  useEffect(() => {
    if (whole) list.current?.children[atFirst]?.querySelector("summary")?.focus();
  }, [whole]);
  if (history.problem) return null;
  return (
    <CommitsContext.Provider value={commits}>
      {all.length === 0 && (
        <p className="sg-empty">stepgate has seen no rollout{history.since && <> since <Moment at={history.since} /></>}.</p>
      )}
      {shown.length > 0 && (
        <ul ref={list}>
          {shown.map((r) => <HistoryRow key={`${r.source} ${r.revision} ${r.comparedAt}`} rollout={r} />)}
        </ul>
      )}
      {shown.length < all.length && (
        <p className="sg-buttons"><button type="button" onClick={() => setWhole(true)}>Show {all.length - shown.length} more</button></p>
      )}
      {all.length > 0 && history.since && <p className="sg-faint">stepgate has kept this since <Moment at={history.since} />.</p>}
    </CommitsContext.Provider>
  );
}
