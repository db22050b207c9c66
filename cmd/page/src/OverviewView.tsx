import { useMemo } from "react";
import { Announced } from "./Announced";
import { Banner } from "./Banner";
import { OverviewRow } from "./OverviewRow";
import { Sign } from "./Sign";
import { Text } from "./Text";
import { useParameter } from "./route";
import { useOverview } from "./source";
import { useSlash } from "./slash";
import { plural, reasonOf, urgencies, urgencySign, urgencyWord } from "./words";
import type { Overview, Row, Urgency } from "./wire";

const columns = ["Rollout", "Step", "Done", "Waits for", "Since"];

// OverviewView is all rollouts, those first about which somebody has to do something.
export function OverviewView() {
  const live = useOverview();
  const [words, setWords] = useParameter("filter");
  const field = useSlash();
  const all = live.value && (live.value.rows ?? []);
  const rows = useMemo(() => matching(all ?? [], words), [all, words]);
  return (
    <>
      <Banner live={live} />
      <div className="sg-bar">
        <h1 tabIndex={-1}>Rollouts</h1>
        {all && <p className="sg-faint">{all.length}<Where overview={live.value} /></p>}
        <div className="sg-bar-end">
          <input
            ref={field} type="search" className="sg-field" placeholder="Filter  ( / )" aria-label="Filter rollouts"
            value={words} onChange={(e) => setWords(e.target.value)}
          />
        </div>
      </div>
      <p role="status" className="sg-hidden">{all && words ? plural(rows.length, "rollout is shown", "rollouts are shown") : ""}</p>
      <Announced>{all && urgencies.map((u) => `${urgencyWord[u]}: ${all.filter((row) => row.urgency === u).length}`).join(", ")}</Announced>
      {!all && !live.lost && <p className="sg-empty">Reading the rollouts…</p>}
      {all && rows.length === 0 && !(live.value?.problem && all.length === 0) && (
        <p className="sg-empty">{all.length ? "No rollout matches." : "Nothing with steps, or that comes after others, is here."}</p>
      )}
      {urgencies.map((urgency) => <Group key={urgency} urgency={urgency} rows={rows.filter((row) => row.urgency === urgency)} />)}
    </>
  );
}

function Group({ urgency, rows }: { urgency: Urgency; rows: Row[] }) {
  if (rows.length === 0) return null;
  const id = `sg-${urgency}`;
  return (
    <section className="sg-section" aria-labelledby={id}>
      <h2 id={id}><Sign name={urgencySign[urgency]} /> {urgencyWord[urgency]} <span className="sg-count">{rows.length}</span></h2>
      <table className="sg-rows" role="table" aria-labelledby={id}>
        <thead role="rowgroup">
          <tr role="row">{columns.map((c) => <th key={c} role="columnheader" scope="col">{c}</th>)}</tr>
        </thead>
        <tbody role="rowgroup">{rows.map((row) => <OverviewRow key={`${row.namespace}/${row.name}/${row.alone ?? false}`} {...row} />)}</tbody>
      </table>
    </section>
  );
}

function Where({ overview }: { overview?: Overview }) {
  const { context, namespace } = overview ?? {};
  return (
    <>
      {context && <> in <Text>{context}</Text></>}
      {namespace && <>, namespace <Text>{namespace}</Text></>}
    </>
  );
}

// matching are the rows that have all words somewhere, in the server's order.
function matching(all: Row[], words: string): Row[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((row) => {
    const text = `${row.namespace}/${row.name} ${row.status} ${reasonOf(row)} ${(row.revisions ?? []).join(" ")}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
