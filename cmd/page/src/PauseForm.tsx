import { atOf } from "./actions";
import { stepName } from "./words";
import type { Action, Step } from "./wire";

interface Props {
  steps: Step[];
  // fixed says that the step is given.
  fixed: boolean;
  action: Action;
  change: (action: Action) => void;
}

// PauseForm asks for what a pause lacks.
export function PauseForm({ steps, fixed, action, change }: Props) {
  return (
    <>
      {!fixed && (
        <label className="sg-label">
          What
          <select
            className="sg-field" value={steps.find((s) => isAt(s, action))?.number ?? 0}
            onChange={(e) => {
              const s = steps.find(({ number }) => number === Number(e.target.value));
              change({ ...action, step: undefined, wave: undefined, ...atOf(s?.number, s?.wave) });
            }}
          >
            <option value={0}>all {steps[0]?.wave === undefined ? "steps" : "waves"}</option>
            {steps.map((s) => <option key={s.number} value={s.number}>{stepName(s.number, s.wave)}{s.selector && ` (${s.selector})`}</option>)}
          </select>
        </label>
      )}
      <label className="sg-label">
        Reason
        <input
          className="sg-field" value={action.reason ?? ""} placeholder="INC-1234" autoComplete="off"
          onChange={(e) => change({ ...action, reason: e.target.value || undefined })}
        />
        <span className="sg-faint">Everybody whose sync waits reads it. It may be empty.</span>
      </label>
    </>
  );
}

// isAt reports whether an action is about a step.
function isAt({ number, wave }: Step, action: Action): boolean {
  return wave === undefined ? number === action.step : wave === action.wave;
}
