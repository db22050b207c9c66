import { useCallback, useState } from "react";
import { Announced } from "./Announced";
import { ActionDialog } from "./ActionDialog";
import { ApplicationPanel } from "./ApplicationPanel";
import { Banner } from "./Banner";
import { ask, type Wanted } from "./actions";
import { CommitsContext } from "./commits";
import { HistorySection } from "./HistorySection";
import { Needs } from "./Needs";
import { useParameter } from "./route";
import { RolloutHeader } from "./RolloutHeader";
import { Steps } from "./Steps";
import { Text } from "./Text";
import { TimelineSection } from "./TimelineSection";
import { useRollout, useSource } from "./source";
import { isParent, placeOf, titleOf } from "./words";
import type { Detail, Rollout, Step } from "./wire";

// RolloutView is one rollout: its head, its steps, what to do, and the rollouts before it.
export function RolloutView({ namespace, name }: { namespace: string; name: string }) {
  const live = useRollout(namespace, name);
  const source = useSource();
  const [opened, setOpened] = useParameter("open");
  const [wanted, setWanted] = useState<Wanted>();
  const close = useCallback(() => setOpened(""), [setOpened]);
  const detail = live.value?.rollout && live.value;
  const may = { annotate: !!source.act && !!detail?.rights?.annotate, refresh: !!source.act && !!detail?.rights?.refresh };
  return (
    <>
      <Banner live={live} />
      {live.missing && <Nothing name={`${namespace}/${name}`} why={live.missing} />}
      {!detail && !live.missing && <><h1 tabIndex={-1}><Text>{name}</Text></h1><p className="sg-empty">Reading the rollout…</p></>}
      <Announced>{detail && sentenceOf(detail)}</Announced>
      {detail && (
        <CommitsContext.Provider value={detail.commits ?? none}>
          <RolloutHeader rollout={detail.rollout} mayAnnotate={may.annotate} act={setWanted} />
          <Needs detail={detail} may={may} act={setWanted} />
          <Steps detail={detail} mayAnnotate={may.annotate} open={setOpened} act={setWanted} />
          <Unselected names={detail.rollout.unselected} />
          {!detail.rollout.alone && detail.rollout.phase !== "NoSteps" && <HistorySection rollout={detail.rollout} />}
          {!detail.rollout.alone && !isParent(name) && <TimelineSection namespace={namespace} name={name} phase={detail.rollout.phase} />}
          {opened && (
            <ApplicationPanel
              key={opened} detail={detail} name={opened} close={close}
              refresh={may.refresh ? () => setWanted(ask.refresh(namespace, opened)) : undefined}
            />
          )}
          {wanted && (
            <ActionDialog
              key={JSON.stringify(wanted)} wanted={wanted} steps={detail.rollout.steps ?? []} close={() => setWanted(undefined)}
              act={setWanted}
            />
          )}
        </CommitsContext.Provider>
      )}
    </>
  );
}

const none = {};

// sentenceOf is the rollout in a short sentence.
function sentenceOf({ rollout: r }: Detail): string {
  const where = r.steps?.length ? `${placeIn(r, r.steps)}, ` : "";
  const need = r.needs?.[0];
  return `${where}${r.done} of ${r.total} done${need ? `. Waits for: ${need.text}` : ""}`;
}

function placeIn({ step, waves }: Rollout, steps: Step[]): string {
  if (!step) return `All ${waves ? "waves" : "steps"} done`;
  const place = placeOf(step, steps.length, steps[step - 1]?.wave);
  return waves ? titleOf(place) : `Step ${place}`;
}

function Nothing({ name, why }: { name: string; why: string }) {
  return (
    <div className="sg-message">
      <h1 tabIndex={-1}><Text>{name}</Text> is not here</h1>
      <p><Text>{why}</Text></p>
    </div>
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
