import { Moment, Text } from "./Text";
import { duration } from "./words";
import type { PastRollout, Sync } from "./wire";

// SyncTable are the syncs of a past rollout, by the step and the name.
export function SyncTable({ rollout }: { rollout: PastRollout }) {
  const early = new Set((rollout.early ?? []).map((s) => s.application));
  return (
    <div className="sg-syncs" role="region" aria-label="Syncs" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Application</th><th scope="col">Step</th><th scope="col">Began</th><th scope="col">Took</th>
            <th scope="col">Outcome</th><th scope="col">By</th>
          </tr>
        </thead>
        <tbody>
          {(rollout.syncs ?? []).map((s) => (
            <tr key={s.application}>
              <th scope="row"><Text>{s.application}</Text></th>
              <td>{s.step}</td>
              <td><Moment at={s.startedAt} /></td>
              <td className="sg-number">{s.finishedAt ? took(s) : ""}</td>
              <td><Text>{s.outcome}</Text>{early.has(s.application) && <strong className="sg-bad">, too early</strong>}</td>
              <td><Text>{s.by || (s.automated ? "Argo CD" : "")}</Text></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function took(s: Sync): string {
  return duration(new Date(s.finishedAt ?? s.startedAt).getTime() - new Date(s.startedAt).getTime());
}
