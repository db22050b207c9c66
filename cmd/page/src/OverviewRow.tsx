import { memo } from "react";
import { Age, Name, Text } from "./Text";
import { Progress } from "./Progress";
import { useSource } from "./source";
import { reasonOf } from "./words";
import type { Row } from "./wire";

// OverviewRow is one rollout. It is drawn again only when something of it has changed.
export const OverviewRow = memo(function OverviewRow(row: Row) {
  const source = useSource();
  const reason = reasonOf(row);
  return (
    <tr role="row">
      <th role="rowheader" scope="row" className="sg-col-name">
        <a href={source.href(row.namespace, row.name)}><Name {...row} /></a>
      </th>
      <td role="cell" className={`sg-col-step ${row.wave === undefined ? "" : "sg-col-wave"}`}>{stepText(row)}</td>
      <td role="cell" className="sg-col-done">
        {row.total > 0 && <><span className="sg-number">{row.done}/{row.total}</span><Progress done={row.done} total={row.total} /></>}
      </td>
      <td role="cell" className="sg-col-reason" title={reason}><Text>{reason}</Text></td>
      <td role="cell" className="sg-col-since">{row.since && <Age at={row.since} />}</td>
    </tr>
  );
}, (a, b) => JSON.stringify(a) === JSON.stringify(b));

function stepText(row: Row): string {
  if (row.steps === 0) return "";
  const place = `${row.step || row.steps}/${row.steps}`;
  return row.wave === undefined ? place : `wave ${row.wave} (${place})`;
}
