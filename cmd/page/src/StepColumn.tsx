import { Candidate } from "./Candidate";
import { Conditions } from "./Conditions";
import { Progress } from "./Progress";
import { Sign } from "./Sign";
import { Text } from "./Text";
import { Tiles } from "./Tiles";
import { ask, atOf, type Wanted } from "./actions";
import { plural, stepName, titleOf } from "./words";
import type { Rollout, Said, Step } from "./wire";

interface Props {
  rollout: Rollout;
  step: Step;
  said: Record<string, Said>;
  current: boolean;
  words: string;
  // opened says that it is shown whole although it is done.
  opened: boolean;
  toggle: (open: boolean) => void;
  mayAnnotate: boolean;
  open: (application: string) => void;
  act: (wanted: Wanted) => void;
}

// StepColumn is one step: what it selects, what it deploys, what it waits for, and its Applications.
export function StepColumn({ rollout, step, said, current, words, opened, toggle, mayAnnotate, open, act }: Props) {
  const applications = step.applications ?? [];
  const total = applications.length;
  const whole = step.done === total;
  const atWork = applications.some((a) => said[a.name]?.kind === "running");
  const lacks = (reason: string) => step.conditions?.some((c) => !c.met && c.reason === reason);
  const tiles = <Tiles applications={applications} said={said} words={words} open={open} />;
  const name = stepName(step.number, step.wave);
  const grow = 1 + Math.min(1.5, Math.log10(Math.max(1, total)) / 1.5);
  return (
    <li
      className={`sg-step ${current ? "sg-step-current" : ""}`} data-step={step.number} style={{ flexGrow: grow }}
      aria-current={current ? "step" : undefined} aria-labelledby={`sg-step-${step.number}`}
    >
      <div className="sg-step-head">
        <h3 id={`sg-step-${step.number}`}>
          <Sign name={whole ? "done" : atWork ? "running" : "waits"} />
          {titleOf(name)}
          {current && <span className="sg-chip">current</span>}
        </h3>
        <span className="sg-number">{step.done}/{total} done</span>
      </div>
      <Progress done={step.done} total={total} />
      <p className="sg-step-what">
        {step.selector && <code><Text>{step.selector}</Text></code>}
        {step.maxUpdate && <span>maxUpdate <code><Text>{step.maxUpdate}</Text></code></span>}
      </p>
      <Candidate namespace={rollout.namespace} step={step} />
      <Conditions of={step.conditions} />
      {mayAnnotate && (
        <div className="sg-buttons">
          {lacks("NotApproved") && (
            <button type="button" className="sg-first" onClick={() => act(ask.approve(rollout, atOf(step.number, step.wave)))}>
              Approve {name}…
            </button>
          )}
          {lacks("Paused") && (
            <button type="button" onClick={() => act(ask.resume(rollout, atOf(step.number, step.wave)))}>Resume {name}…</button>
          )}
          {!lacks("Paused") && !whole && (
            <button type="button" onClick={() => act(ask.pause(rollout, atOf(step.number, step.wave)))}>Pause {name}…</button>
          )}
        </div>
      )}
      {whole && !words ? (
        <details className="sg-more" open={opened} onToggle={(e) => e.currentTarget.open !== opened && toggle(e.currentTarget.open)}>
          <summary>{plural(total, "Application", "Applications")}</summary>
          {tiles}
        </details>
      ) : tiles}
    </li>
  );
}
