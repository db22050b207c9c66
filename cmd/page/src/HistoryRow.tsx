import { memo, useState } from "react";
import { useNow } from "./clock";
import { HistorySteps } from "./HistorySteps";
import { lanesOfKept, firstOf, longestOf, notesOf, tookOf, waitTook } from "./kept";
import { LaneBars } from "./LaneBars";
import { Sign } from "./Sign";
import { Age, Text } from "./Text";
import { duration, keptSign, keptWord, printable, short } from "./words";
import type { KeptRollout } from "./wire";

// HistoryRow is one rollout that was kept: what became of it, how long it took, and what it waited for longest.
export const HistoryRow = memo(function HistoryRow({ rollout: r }: { rollout: KeptRollout }) {
  const [open, setOpen] = useState(false);
  const now = useNow();
  const longest = longestOf(r, now);
  return (
    <li className="sg-kept">
      <details onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary title={r.source}>
          {/* The link is in the details: a summary is a control itself. */}
          <span className="sg-revisions"><code title={printable(r.revision)}>{printable(short(r.revision))}</code></span>
          <span className="sg-past-verdict"><Result of={r} /></span>
          <span className="sg-past-time"><Age at={firstOf(r)} /> ago</span>
          <span className="sg-number"><span className="sg-hidden">{r.endedAt ? "took " : "until now "}</span>{tookOf(r, now)}</span>
          <span className="sg-kept-longest">
            {longest && (
              <span>
                {longest.name} waited {duration(waitTook(longest.wait, now))}: <Text>{longest.wait.for}</Text>
              </span>
            )}
            {notesOf(r).map((note) => <span key={note} className="sg-faint">{note}</span>)}
          </span>
          <LaneBars lanes={lanesOfKept(r, now)} />
        </summary>
        {open && <HistorySteps rollout={r} />}
      </details>
    </li>
  );
});

function Result({ of: { result } }: { of: KeptRollout }) {
  if (!result) return <><Sign name="running" /> under way</>;
  return <><Sign name={keptSign[result] ?? "waits"} /> {keptWord[result] ?? result}</>;
}
