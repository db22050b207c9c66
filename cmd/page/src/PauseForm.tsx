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
            className="sg-field" value={action.step ?? 0}
            onChange={(e) => change({ ...action, step: Number(e.target.value) || undefined })}
          >
            <option value={0}>all steps</option>
            {steps.map((s) => <option key={s.number} value={s.number}>step {s.number} ({s.selector})</option>)}
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
