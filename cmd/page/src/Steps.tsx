import { useEffect, useRef } from "react";
import { StepColumn } from "./StepColumn";
import { moveFocus } from "./arrows";
import { useParameter } from "./route";
import { useSlash } from "./slash";
import { kinds, kindWord } from "./words";
import { Sign } from "./Sign";
import type { Wanted } from "./actions";
import type { Detail } from "./wire";

interface Props {
  detail: Detail;
  mayAnnotate: boolean;
  open: (application: string) => void;
  act: (wanted: Wanted) => void;
}

// Steps are the steps from left to right; one above the other where there is no room.
export function Steps({ detail, mayAnnotate, open, act }: Props) {
  const { rollout, said } = detail;
  const [words, setWords] = useParameter("filter");
  const [opened, setOpened] = useParameter("step");
  const field = useSlash();
  const list = useCurrentInView(Number(opened) || rollout.step);
  if (!rollout.steps?.length) return null;
  return (
    <section aria-labelledby="sg-steps" className="sg-section">
      <div className="sg-bar">
        <h2 id="sg-steps">{rollout.waves ? "Waves" : "Steps"}</h2>
        <Counts said={said} />
        <div className="sg-bar-end">
          <input
            ref={field} type="search" className="sg-field" placeholder="Filter  ( / )" aria-label="Filter Applications"
            value={words} onChange={(e) => setWords(e.target.value)}
          />
        </div>
      </div>
      <ol ref={list} className="sg-steps" onKeyDown={moveFocus}>
        {rollout.steps.map((step) => (
          <StepColumn
            key={step.number} rollout={rollout} step={step} said={said} current={step.number === rollout.step} words={words}
            opened={opened === String(step.number)} toggle={(open) => setOpened(open ? String(step.number) : "")}
            mayAnnotate={mayAnnotate} open={open} act={act}
          />
        ))}
      </ol>
    </section>
  );
}

// useCurrentInView moves the steps, and not the page, so that the current one can be seen with the one before it.
function useCurrentInView(step: number) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const before = list.current?.children[step - 2];
    if (list.current && before instanceof HTMLElement) list.current.scrollLeft = before.offsetLeft - list.current.offsetLeft;
  }, [step]);
  return list;
}

// Counts say how many Applications are how far.
function Counts({ said }: { said: Detail["said"] }) {
  const all = Object.values(said ?? {});
  return (
    <ul className="sg-counts">
      {kinds.map((kind) => [kind, all.filter((s) => s.kind === kind).length] as const).filter(([, n]) => n > 0).map(([kind, n]) => (
        <li key={kind}><Sign name={kind} /> {n} {kindWord[kind]}</li>
      ))}
    </ul>
  );
}
