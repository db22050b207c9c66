import { Dialog } from "./Dialog";
import { ExplanationView } from "./ExplanationView";
import { Sign } from "./Sign";
import { Moment, Revisions, Text } from "./Text";
import { useSeldom } from "./seldom";
import { useAsked, useSource } from "./source";
import { isSet, objectOf, placeOf, wordFor } from "./words";
import type { Detail, Rollout, Step } from "./wire";

interface Props {
  detail: Detail;
  name: string;
  close: () => void;
  refresh?: () => void;
}

// explainEvery is how long an explanation counts at least, in ms: it is the reading of a whole ApplicationSet.
const explainEvery = 2_000;

// ApplicationPanel explains one Application. It asks again when what the rollout says of it, or of what it waits for,
// changes.
export function ApplicationPanel({ detail, name, close, refresh }: Props) {
  const source = useSource();
  const { rollout, said } = detail;
  const argocd = detail.argocd ?? source.argocd;
  const step = rollout.steps?.find((s) => s.applications?.some((a) => a.name === name));
  const a = step?.applications?.find((application) => application.name === name);
  const now = said[name];
  const key = JSON.stringify([name, now, a?.health, a?.sync, a?.runs, step?.conditions, step && notDone(rollout, step)]);
  const [namespace, own] = objectOf(rollout.namespace, name);
  const set = isSet(name);
  const asked = useAsked(() => (set ? Promise.resolve(undefined) : source.explain(namespace, own)), useSeldom(key, explainEvery));
  return (
    <Dialog kind="panel" title={<Text>{name}</Text>} close={close}>
      <div className="sg-dialog-body">
        {now && <p className="sg-panel-said"><Sign name={now.kind} /> <strong>{wordFor(now.kind, now.text)}</strong> <Text>{now.text}</Text></p>}
        {!a && <p>This Application is no longer in a step of this rollout.</p>}
        {a && (
          <dl className="sg-facts">
            <div><dt>{rollout.waves ? "Wave" : "Step"}</dt><dd>{step && placeOf(step.number, rollout.steps?.length ?? 0, step.wave)}</dd></div>
            {!set && <div><dt>Health</dt><dd><Text>{a.health || "Unknown"}</Text></dd></div>}
            {!set && <div><dt>Sync</dt><dd><Text>{a.sync || "Unknown"}</Text></dd></div>}
            {a.cluster && <div><dt>Cluster</dt><dd><Text>{a.cluster}</Text></dd></div>}
            {a.runs && <div><dt>Runs</dt><dd><Revisions of={a.runs} />{a.since && <> since <Moment at={a.since} /></>}</dd></div>}
            {a.revisions && <div><dt>Compared with</dt><dd><Revisions of={a.revisions} /></dd></div>}
          </dl>
        )}
        {a?.differs && (
          <p className="sg-note"><Sign name="warning" /><span>The ApplicationSet controller <Text>{a.differs}</Text></span></p>
        )}
        {argocd && !set && (
          <p><a href={`${argocd}/applications/${encodeURIComponent(namespace)}/${encodeURIComponent(own)}`} target="_blank" rel="noreferrer">
            Open it in Argo CD
          </a></p>
        )}
        {asked.error && <p role="alert" className="sg-note sg-bad"><Sign name="failed" /><Text>{asked.error}</Text></p>}
        {!set && !asked.value && !asked.error && <p className="sg-empty">Asking stepgate…</p>}
        {asked.value && <ExplanationView explained={asked.value} />}
      </div>
      {refresh && !set && (
        <div className="sg-dialog-foot"><button type="button" onClick={refresh}>Refresh…</button></div>
      )}
    </Dialog>
  );
}

// notDone is what stands in the way of a step, and why.
function notDone(rollout: Rollout, step: Step) {
  return (rollout.steps ?? []).filter((s) => s.number < step.number)
    .flatMap((s) => (s.applications ?? []).filter((a) => !a.done).map((a) => [a.name, a.reason, a.detail]));
}
