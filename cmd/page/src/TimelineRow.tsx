import { memo, useMemo, useState } from "react";
import { LaneBars } from "./LaneBars";
import { SyncTable } from "./SyncTable";
import { Sign } from "./Sign";
import { Moment, Revisions, Text } from "./Text";
import { lanesOf, spanOf, type LaneStep } from "./lanes";
import { duration, verdictSign, verdictWord } from "./words";
import type { PastRollout } from "./wire";

// TimelineRow is one revision: when each step was synced, whether in order, and who did it.
export const TimelineRow = memo(function TimelineRow({ rollout: r, steps }: { rollout: PastRollout; steps: LaneStep[] }) {
  const [open, setOpen] = useState(false);
  const lanes = useMemo(() => lanesOf(r, steps), [r, steps]);
  const span = spanOf(r);
  const what = [r.chart, r.repository, r.targetRevision].filter(Boolean).join(" ");
  return (
    <li>
      <details onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary title={what}>
          <Revisions of={[r.revision]} />
          <span className="sg-past-verdict">
            <Sign name={verdictSign[r.verdict] ?? "waits"} /> {verdictWord[r.verdict] ?? r.verdict}
            {r.reason && <span className="sg-faint"> <Text>{r.reason}</Text></span>}
          </span>
          <span className="sg-past-time"><Moment at={r.beganAt} /></span>
          <span className="sg-number">{r.endedAt ? duration(span.to - span.from) : "runs"}</span>
          <span className="sg-past-who"><Text>{whoOf(r)}</Text></span>
          <LaneBars lanes={lanes} />
        </summary>
        {open && <SyncTable rollout={r} />}
      </details>
    </li>
  );
});

// whoOf names the users; most syncs are started by Argo CD itself.
function whoOf(r: PastRollout): string {
  const users = [...new Set((r.syncs ?? []).map((s) => s.by).filter((by): by is string => !!by))];
  if (users.length === 0) return "Argo CD";
  return users.length > 2 ? `${users.slice(0, 2).join(", ")} and ${users.length - 2} more` : users.join(", ");
}
