import { ask, atOf, type Wanted } from "./actions";
import { Command } from "./Command";
import { Age, Moment, Text } from "./Text";
import { plural } from "./words";
import type { Detail, Need, Rights } from "./wire";

interface Props {
  detail: Detail;
  may: Rights;
  act: (wanted: Wanted) => void;
}

const actorWord: Record<string, string> = { You: "Needs you", ArgoCD: "Argo CD does it", Time: "Ends by itself" };

// Needs are what the rollout waits for, and what to do about it, in this order.
export function Needs({ detail, may, act }: Props) {
  const { needs, open } = detail.rollout;
  if (!needs?.length) return null;
  return (
    <section className="sg-next" aria-labelledby="sg-next">
      <h2 id="sg-next">What it waits for</h2>
      <ol>
        {needs.map((need, i) => (
          <li key={i}>
            <strong>{actorWord[need.actor] ?? need.actor}:</strong> <Text>{need.text}</Text>
            {need.until && <>, until <Moment at={need.until} /> (<Age at={need.until} sign="in" />)</>}
            {need.holds > 0 && <span className="sg-faint" title={need.held?.join(", ")}>; {open ? "would hold" : "holds"} {plural(need.holds, "sync", "syncs")}</span>}
            {need.do && need.do !== need.command && <p className="sg-do">Do: <Text>{need.do}</Text></p>}
            {need.command && <p><Command>{need.command}</Command></p>}
            <Button need={need} detail={detail} may={may} act={act} />
          </li>
        ))}
      </ol>
      {!!detail.needsMore && <p>and {detail.needsMore} more</p>}
    </section>
  );
}

function Button({ need, detail: { rollout }, may, act }: Props & { need: Need }) {
  const wanted = wantedBy(need, rollout, may);
  if (!wanted) return null; // React 16 takes undefined for a mistake
  return <p className="sg-buttons"><button type="button" onClick={() => act(wanted)}>{wanted.title}…</button></p>;
}

// wantedBy is the action of a need; none if the user may not, or it is of another ApplicationSet.
function wantedBy(need: Need, rollout: Detail["rollout"], may: Rights): Wanted | undefined {
  if (need.applicationSet && need.applicationSet !== `${rollout.namespace}/${rollout.name}`) return undefined;
  const at = atOf(need.step, need.wave);
  if (need.verb === "refresh" && may.refresh && need.application) return ask.refresh(rollout.namespace, need.application);
  if (need.verb === "approve" && may.annotate && at) return ask.approve(rollout, at);
  if (need.verb === "resume" && may.annotate) return ask.resume(rollout, at);
  return undefined;
}
