import type { ReactNode } from "react";
import { useNow } from "./clock";
import { textOf, waitTook } from "./kept";
import { Sign } from "./Sign";
import { Moment, Revisions, Text } from "./Text";
import { duration, stepName, titleOf, type SignName } from "./words";
import type { KeptRollout, KeptStep } from "./wire";

// HistorySteps are the steps of a rollout that was kept, each with what it waited for, and who and what had a say in it.
export function HistorySteps({ rollout: r }: { rollout: KeptRollout }) {
  const now = useNow();
  return (
    <div className="sg-kept-all">
      <p className="sg-step-what">
        <span>Commit or version <Revisions of={[r.revision]} /></span>
        <span>of <code><Text>{r.source.replace(/\s+/g, " ")}</Text></code></span>
        <span>first compared <Moment at={r.comparedAt} /></span>
        {r.startedAt && <span>first sync <Moment at={r.startedAt} /></span>}
        {r.endedAt && <span>{r.result} <Moment at={r.endedAt} /></span>}
      </p>
      {r.back && <Line sign="warning">It was deployed before, and something else since.</Line>}
      {(r.bypasses ?? []).map((b) => (
        <Line key={`${b.at} ${b.why}`} sign="warning">bypassed since <Moment at={b.at} />: <Text>{b.why}</Text></Line>
      ))}
      <ol className="sg-kept-steps">
        {(r.steps ?? []).map((s) => <Step key={s.step} rollout={r} step={s} now={now} />)}
      </ol>
    </div>
  );
}

function Line({ sign, children }: { sign: SignName; children: ReactNode }) {
  return <p className="sg-kept-line"><Sign name={sign} /><span>{children}</span></p>;
}

function Step({ rollout, step: s, now }: { rollout: KeptRollout; step: KeptStep; now: number }) {
  return (
    <li>
      <h3>{titleOf(stepName(s.step, s.wave))}</h3>
      <p>
        {textOf(s, rollout, now)}, {s.done} of {s.applications} done
        {s.startedAt && <>, started <Moment at={s.startedAt} /></>}
        {s.completedAt && <>, complete <Moment at={s.completedAt} /></>}
      </p>
      {(s.waits ?? []).map((w) => (
        <Line key={`${w.since} ${w.for}`} sign={w.until ? "done" : "waits"}>
          {w.until ? "waited" : "waits"} {duration(waitTook(w, now))}: <Text>{w.for}</Text>, since{" "}
          <Moment at={w.since} />
        </Line>
      ))}
      {(s.approvals ?? []).map((a) => (
        <Line key={`${a.at} ${a.by}`} sign="done">approved by <Text>{a.by}</Text>, <Moment at={a.at} /></Line>
      ))}
      {(s.evidence ?? []).map((e) => (
        <Line key={e.object} sign={e.answer === "yes" ? "done" : "failed"}>
          <Text>{e.object}</Text> says <Text>{e.answer}</Text>{e.detail && <>: <Text>{e.detail}</Text></>}
          {e.at && <>, <Moment at={e.at} /></>}
        </Line>
      ))}
      {(s.failures ?? []).map((f) => (
        <Line key={`${f.at} ${f.application}`} sign={f.repairedAt ? "warning" : "failed"}>
          <Text>{f.application}</Text>: <Text>{f.what}</Text>, <Moment at={f.at} />,{" "}
          {f.repairedAt ? `repaired after ${duration(new Date(f.repairedAt).getTime() - new Date(f.at).getTime())}` : "not repaired"}
        </Line>
      ))}
      {(s.by ?? []).map((by) => <Line key={by} sign="warning">started by hand by <Text>{by}</Text></Line>)}
    </li>
  );
}
