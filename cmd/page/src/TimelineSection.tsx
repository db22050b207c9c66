import { useMemo } from "react";
import { laneStepsOf } from "./lanes";
import { Legend } from "./Legend";
import { TimelineRow } from "./TimelineRow";
import { Text } from "./Text";
import { useAsked, useSource, type Source } from "./source";
import type { Phase } from "./wire";

const legend = [["good", "synced"], ["early", "too early"], ["failed", "failed"], ["running", "runs"]] as const;

// TimelineSection are the last rollouts. They are asked for at the beginning, and when the phase changes.
export function TimelineSection(props: { namespace: string; name: string; phase: Phase }) {
  const { timeline } = useSource();
  return timeline ? <LastRollouts {...props} timeline={timeline} /> : null;
}

interface Props {
  namespace: string;
  name: string;
  phase: Phase;
  timeline: NonNullable<Source["timeline"]>;
}

function LastRollouts({ namespace, name, phase, timeline }: Props) {
  const asked = useAsked(() => timeline(namespace, name), `${namespace}/${name} ${phase}`);
  const rollouts = asked.value?.rollouts ?? [];
  const steps = useMemo(() => laneStepsOf(asked.value?.rollouts ?? []), [asked.value]);
  return (
    <section className="sg-timeline" aria-labelledby="sg-timeline">
      <div className="sg-bar"><h2 id="sg-timeline">Last rollouts</h2>{rollouts.length > 0 && <Legend of={legend} />}</div>
      {asked.error && <p className="sg-note"><Text>{asked.error}</Text></p>}
      {!asked.value && !asked.error && <p className="sg-empty">Reading the records…</p>}
      {asked.value && rollouts.length === 0 && <p className="sg-empty">No rollout is on record.</p>}
      {rollouts.length > 0 && (
        <ul>{rollouts.map((r, i) => <TimelineRow key={`${r.revision} ${r.beganAt} ${i}`} rollout={r} steps={steps} />)}</ul>
      )}
      {!!asked.value?.more && <p className="sg-faint">{asked.value.more} more: stepgate audit shows them.</p>}
    </section>
  );
}
