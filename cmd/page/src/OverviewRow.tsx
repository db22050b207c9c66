import { memo } from "react";
import { Age, Revisions, Text } from "./Text";
import { Progress } from "./Progress";
import { Sign } from "./Sign";
import { useSource } from "./source";
import { phaseSign } from "./words";
import type { Row } from "./wire";

// OverviewRow is one rollout. It is drawn again only when something of it has changed.
export const OverviewRow = memo(function OverviewRow(row: Row) {
  const source = useSource();
  const waits = row.phase === "NoSteps" && row.waitingFor;
  return (
    <tr role="row" className={row.phase === "Complete" || (row.phase === "NoSteps" && !waits) ? "sg-quiet" : ""}>
      <th role="rowheader" scope="row" className="sg-col-name">
        <a href={source.href(row.namespace, row.name)}>
          <span className="sg-faint"><Text>{row.namespace}</Text>/</span><Text>{row.name}</Text>
        </a>
      </th>
      <td role="cell" className="sg-col-step">{stepText(row)}</td>
      <td role="cell" className="sg-col-done">
        {row.total > 0 && <><span className="sg-number">{row.done}/{row.total}</span><Progress done={row.done} total={row.total} /></>}
      </td>
      <td role="cell" className="sg-col-status">
        <Sign name={waits ? "waits" : phaseSign[row.phase] ?? "waits"} /> <Text>{row.status}</Text>
      </td>
      <td role="cell" className="sg-col-since">{row.since && <Age at={row.since} />}</td>
      <td role="cell" className="sg-col-waits" title={row.waitingFor}>
        {row.waitingFor && <Text>{row.waitingFor}</Text>}
      </td>
      <td role="cell" className="sg-col-revision"><Revisions of={row.revisions} /></td>
    </tr>
  );
}, same);

function same(a: Row, b: Row): boolean {
  const { revisions: ra, ...restA } = a;
  const { revisions: rb, ...restB } = b;
  const keys = Object.keys({ ...restA, ...restB }) as (keyof typeof restA)[];
  return keys.every((k) => restA[k] === restB[k]) && (ra ?? []).join() === (rb ?? []).join();
}

function stepText(row: Row): string {
  if (row.steps === 0) return "";
  return row.step === 0 ? `${row.steps}/${row.steps}` : `${row.step}/${row.steps}`;
}
