import { useEffect, useState } from "react";
import { askStepgate, subjectOf } from "./argocd";
import { ExplanationView } from "./ExplanationView";
import { comesAfterOthers, isTracked, ownerOf, useHostScheme, type Resource, type StatusProps } from "./host";
import { poll } from "./polled";
import { Sign } from "./Sign";
import { textOf, useAsked, type Live } from "./source";
import { Text } from "./Text";
import { placeOf, titleOf, wordFor } from "./words";
import type { Explained, Status } from "./wire";

const every = 10_000;

function useStatus(application: Resource): Live<Status> {
  const { namespace, name, project } = subjectOf(application);
  const owner = ownerOf(application) ?? (comesAfterOthers(application) || isTracked(application) ? "none" : undefined);
  const [live, setLive] = useState<Live<Status>>({});
  useEffect(() => {
    setLive({});
    if (!owner) return;
    return poll(every, (signal) => askStepgate<Status>("status", { namespace, name, project }, signal), setLive);
  }, [namespace, name, project, owner]);
  return live;
}

// StatusItem is the item in the bar above an Application: its step, or that it comes after others, and what it waits for.
// An Application of no rollout has none, and so has somebody who may not ask.
export function StatusItem({ application, openFlyout }: StatusProps) {
  const { value } = useStatus(application);
  const scheme = useHostScheme();
  if (!value?.said) return null;
  const { kind, text } = value.said;
  const { steps, open } = value.rollout;
  return (
    <div className="application-status-panel__item">
      <div className={`${scheme} sg-item`}>
        <span className="sg-item-title">ROLLOUT</span>
        <button type="button" className="sg-item-value" onClick={openFlyout}>
          <Sign name={kind} /> {steps > 0 ? whereOf(value) : "After others"}
        </button>
        <span className="sg-item-text">{open && "Nothing is held. "}{wordFor(kind, text)} <Text>{text}</Text></span>
      </div>
    </div>
  );
}

function whereOf({ step, wave, rollout: { steps } }: Status): string {
  const place = placeOf(step, steps, wave);
  return wave === undefined ? `Step ${place}` : titleOf(place);
}

// StatusFlyout is `stepgate explain`, in the host's panel.
export function StatusFlyout({ application }: StatusProps) {
  const subject = subjectOf(application);
  const scheme = useHostScheme();
  const { value, error } = useAsked(() => askStepgate<Explained>("explanation", subject), JSON.stringify(subject));
  return (
    <div className={`${scheme} sg-host sg-flyout`}>
      <h1><Text>{subject.name}</Text></h1>
      {error && <p role="alert" className="sg-note sg-bad"><Sign name="failed" /><Text>{textOf(error)}</Text></p>}
      {!value && !error && <p className="sg-empty">Asking stepgate…</p>}
      {value && <ExplanationView explained={value} />}
    </div>
  );
}
