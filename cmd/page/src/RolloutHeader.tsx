import { Subject } from "./commits";
import { ask, type Wanted } from "./actions";
import { Note } from "./Note";
import { Progress } from "./Progress";
import { Sign } from "./Sign";
import { Age, Name, Revisions, Text } from "./Text";
import { phaseSign, phaseWord, placeOf } from "./words";
import type * as Wire from "./wire";
import type { Rollout } from "./wire";

interface Props {
  rollout: Rollout;
  mayAnnotate: boolean;
  act: (wanted: Wanted) => void;
}

// RolloutHeader says where the rollout is.
export function RolloutHeader({ rollout: r, mayAnnotate, act }: Props) {
  const paused = isPaused(r);
  return (
    <header className="sg-head">
      <div className="sg-bar">
        <h1 tabIndex={-1}><Name {...r} /></h1>
        {mayAnnotate && !!r.steps?.length && (
          <div className="sg-bar-end">
            {paused && <button type="button" onClick={() => act(ask.resume(r))}>Resume…</button>}
            <button type="button" onClick={() => act(ask.pause(r))}>Pause…</button>
          </div>
        )}
      </div>
      {r.exempt?.map((text) => <Note key={text} title={r.open ? "Not gated" : "Exempt"}>{text}</Note>)}
      <dl className="sg-facts">
        <div><dt>Status</dt><dd><Sign name={phaseSign[r.phase] ?? "waits"} /> {phaseWord[r.phase] ?? r.phase}{paused && !r.open && ", paused"}</dd></div>
        {!!r.steps?.length && <div><dt>{r.waves ? "Wave" : "Step"}</dt><dd>{r.step === 0 ? "all done" : placeOf(r.step, r.steps.length, r.steps[r.step - 1]?.wave)}</dd></div>}
        <div>
          <dt>Done</dt>
          <dd className="sg-col-done"><span className="sg-number">{r.done}/{r.total}</span><Progress done={r.done} total={r.total} /></dd>
        </div>
        {r.since && <div><dt>Has waited</dt><dd><Age at={r.since} /></dd></div>}
        {!!r.after?.length && <div><dt>Comes after</dt><dd><After of={r.after} /></dd></div>}
        {!!r.waitAfter?.length && <div><dt>Wait for that</dt><dd><Text>{r.waitAfter.join(", ")}</Text></dd></div>}
        {r.track && <div><dt>Tracks by</dt><dd><Text>{r.track}</Text></dd></div>}
        {!!r.revisions?.length && <div><dt>Compared with</dt><dd><Revisions of={r.revisions} /><Subject namespace={r.namespace} application={r.steps?.[0]?.applications?.[0]?.name} revisions={r.revisions} /></dd></div>}
      </dl>
      {r.starves && <Note title="Starves">{r.starves}</Note>}
      {r.problems?.map((text) => <Note key={text} title="Problem">{text}</Note>)}
      {r.phase === "NoSteps" && !r.after?.length && <Note title="No steps">This ApplicationSet has no steps, so there is no order to keep.</Note>}
    </header>
  );
}

// After says of each name whether it is done, as `stepgate get` does.
function After({ of: all }: { of: Wire.After[] }) {
  return all.map((a, i) => (
    <span key={a.name} className="sg-after">
      <Sign name={a.done && !a.older ? "done" : "waits"} /> <Text>{a.name}</Text> {stateOf(a)}{i < all.length - 1 && ", "}
    </span>
  ));
}

function stateOf(a: Wire.After) {
  if (a.older) return "(done; Argo CD has to compare it once more)";
  if (a.done) return "(done)";
  const first = a.blockers?.[0];
  if (!first) return "(not done)";
  const more = (a.blockers?.length ?? 0) - 1;
  return <>(not done: <Text>{`${first.application} ${first.reason}`}</Text>{more > 0 && ` and ${more} more`})</>;
}

function isPaused(r: Rollout): boolean {
  return !!r.steps?.some((step) => step.conditions?.some((c) => !c.met && c.reason === "Paused"));
}
