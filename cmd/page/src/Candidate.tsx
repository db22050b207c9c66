import { Subject } from "./commits";
import { Moment, Revisions, Text } from "./Text";
import { candidateText } from "./words";
import type { Application, Step } from "./wire";

// Candidate says what the step deploys next, and what it runs.
export function Candidate({ namespace, step }: { namespace: string; step: Step }) {
  const runs = most(step.applications ?? []);
  if (!step.candidate && !runs) return null;
  return (
    <dl className="sg-commits">
      {step.candidate && (
        <div>
          <dt>next</dt>
          <dd>
            <Revisions of={step.candidate.revisions} />
            <Subject namespace={namespace} application={step.applications?.[0]?.name} revisions={step.candidate.revisions} /> <Text>{candidateText(step.candidate)}</Text>
            {step.candidate.until && <>, until <Moment at={step.candidate.until} /></>}
          </dd>
        </div>
      )}
      {runs && (
        <div>
          <dt>runs</dt>
          <dd>
            <Revisions of={runs.revisions} />
            <Subject namespace={namespace} application={runs.application} revisions={runs.revisions} />
            {runs.since && <> since <Moment at={runs.since} /></>}
            {runs.others > 0 && <span className="sg-faint">, {runs.others} run another</span>}
          </dd>
        </div>
      )}
    </dl>
  );
}

// most is what most of the Applications run, and since when the newest of them does.
function most(applications: Application[]) {
  const byRevisions = new Map<string, Application[]>();
  for (const a of applications) {
    if (!a.runs?.length) continue;
    const key = a.runs.join(" ");
    const same = byRevisions.get(key);
    if (same) same.push(a);
    else byRevisions.set(key, [a]);
  }
  const groups = [...byRevisions.values()].sort((a, b) => b.length - a.length);
  const first = groups[0];
  if (!first) return undefined;
  const since = first.map((a) => a.since ?? "").sort().at(-1);
  return { application: first[0]?.name, revisions: first[0]?.runs, since, others: groups.slice(1).reduce((n, g) => n + g.length, 0) };
}
