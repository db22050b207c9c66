import { useMemo, useState } from "react";
import { Banner } from "./Banner";
import { OverviewRow } from "./OverviewRow";
import { Text } from "./Text";
import { useOverview } from "./source";
import { useSlash } from "./slash";
import { plural } from "./words";
import type { Overview, Row } from "./wire";

const columns = ["Rollout", "Step", "Done", "Status", "Since", "Waits for", "Revision"];

// OverviewView is all rollouts, what is under way first.
export function OverviewView() {
  const live = useOverview();
  const [words, setWords] = useState("");
  const [onlyOpen, setOnlyOpen] = useState(false);
  const field = useSlash();
  const all = live.value && (live.value.rows ?? []);
  const rows = useMemo(() => chosen(all ?? [], words, onlyOpen), [all, words, onlyOpen]);
  const underWay = all?.filter(isUnderWay).length ?? 0;
  return (
    <>
      <Banner live={live} />
      <div className="sg-bar">
        <h1 tabIndex={-1}>Rollouts</h1>
        {all && <p className="sg-faint">{underWay} of {all.length} under way<Where overview={live.value} /></p>}
        <div className="sg-bar-end">
          <input
            ref={field} type="search" className="sg-field" placeholder="Filter  ( / )" aria-label="Filter rollouts"
            value={words} onChange={(e) => setWords(e.target.value)}
          />
          <label className="sg-check">
            <input type="checkbox" checked={onlyOpen} onChange={(e) => setOnlyOpen(e.target.checked)} />
            Only under way
          </label>
        </div>
      </div>
      <p role="status" className="sg-hidden">
        {all && (words || onlyOpen) ? plural(rows.length, "rollout is shown", "rollouts are shown") : ""}
      </p>
      {!all && !live.lost && <p className="sg-empty">Reading the rollouts…</p>}
      {all && rows.length === 0 && !(live.value?.problem && all.length === 0) && (
        <p className="sg-empty">{all.length ? "No rollout matches." : "Nothing with steps, or that comes after others, is here."}</p>
      )}
      {rows.length > 0 && (
        <table className="sg-rows" role="table" aria-label="Rollouts">
          <thead role="rowgroup">
            <tr role="row">{columns.map((c) => <th key={c} role="columnheader" scope="col">{c}</th>)}</tr>
          </thead>
          <tbody role="rowgroup">{rows.map((row) => <OverviewRow key={`${row.namespace}/${row.name}/${row.alone ?? false}`} {...row} />)}</tbody>
        </table>
      )}
    </>
  );
}

function Where({ overview }: { overview?: Overview }) {
  const { context, namespace } = overview ?? {};
  return (
    <>
      {context && <>, in <Text>{context}</Text></>}
      {namespace && <>, namespace <Text>{namespace}</Text></>}
    </>
  );
}

const rank: Record<Row["phase"], number> = { Progressing: 0, Waiting: 0, Complete: 1, NoSteps: 2 };

// What has no steps is under way while something of it waits.
function rankOf(row: Row): number {
  return row.phase === "NoSteps" && row.waitingFor ? 0 : rank[row.phase];
}

function isUnderWay(row: Row): boolean {
  return rankOf(row) === 0;
}

// chosen are the rows that have all words somewhere. Within the same rank the server's order stays.
function chosen(all: Row[], words: string, onlyOpen: boolean): Row[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter((row) => !onlyOpen || isUnderWay(row))
    .filter((row) => {
      const text = [row.namespace, "/", row.name, " ", row.status, row.waitingFor, row.revisions].join(" ").toLowerCase();
      const whole = `${row.namespace}/${row.name}`.toLowerCase();
      return wanted.every((word) => text.includes(word) || whole.includes(word));
    })
    .sort((a, b) => rankOf(a) - rankOf(b));
}
