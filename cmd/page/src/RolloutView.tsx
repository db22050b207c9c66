import { useCallback, useState } from "react";
import { ActionDialog } from "./ActionDialog";
import { ApplicationPanel } from "./ApplicationPanel";
import { Banner } from "./Banner";
import { ask, type Wanted } from "./actions";
import { RolloutHeader } from "./RolloutHeader";
import { Steps } from "./Steps";
import { Text } from "./Text";
import { TimelineSection } from "./TimelineSection";
import { useRollout, useSource } from "./source";
import type { Detail } from "./wire";

// RolloutView is one rollout: its head, its steps, what to do, and the rollouts before it.
export function RolloutView({ namespace, name }: { namespace: string; name: string }) {
  const live = useRollout(namespace, name);
  const source = useSource();
  const [opened, setOpened] = useState<string>();
  const [wanted, setWanted] = useState<Wanted>();
  const close = useCallback(() => setOpened(undefined), []);
  const detail = live.value?.rollout && live.value;
  const may = { annotate: !!source.act && !!detail?.rights?.annotate, refresh: !!source.act && !!detail?.rights?.refresh };
  return (
    <>
      <Banner live={live} />
      {live.missing && <Nothing name={`${namespace}/${name}`} why={live.missing} />}
      {!detail && !live.missing && <><h1 tabIndex={-1}><Text>{name}</Text></h1><p className="sg-empty">Reading the rollout…</p></>}
      {detail && (
        <>
          <RolloutHeader rollout={detail.rollout} mayAnnotate={may.annotate} act={setWanted} />
          <Next lines={detail.next} />
          <Steps detail={detail} mayAnnotate={may.annotate} open={setOpened} act={setWanted} />
          <Unselected names={detail.rollout.unselected} />
          {!detail.rollout.alone && <TimelineSection namespace={namespace} name={name} phase={detail.rollout.phase} />}
          {opened && (
            <ApplicationPanel
              key={opened} detail={detail} name={opened} close={close}
              refresh={may.refresh ? () => setWanted(ask.refresh(namespace, opened)) : undefined}
            />
          )}
          {wanted && <ActionDialog wanted={wanted} steps={detail.rollout.steps ?? []} close={() => setWanted(undefined)} />}
        </>
      )}
    </>
  );
}

function Nothing({ name, why }: { name: string; why: string }) {
  return (
    <div className="sg-message">
      <h1 tabIndex={-1}><Text>{name}</Text> is not here</h1>
      <p><Text>{why}</Text></p>
    </div>
  );
}

function Next({ lines }: { lines: Detail["next"] }) {
  if (!lines?.length) return null;
  return (
    <section className="sg-next" aria-labelledby="sg-next">
      <h2 id="sg-next">What to do</h2>
      <ol>{lines.map((line, i) => <li key={i}><Text>{line}</Text></li>)}</ol>
    </section>
  );
}

function Unselected({ names }: { names?: string[] }) {
  if (!names?.length) return null;
  return (
    <details className="sg-more">
      <summary>{names.length} in no step: no step selects them, and the gate does not judge them</summary>
      <ul className="sg-names">{names.map((name) => <li key={name}><Text>{name}</Text></li>)}</ul>
    </details>
  );
}
