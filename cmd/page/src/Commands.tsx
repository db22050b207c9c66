import { Command } from "./Command";
import { isParent } from "./words";
import type { Rollout } from "./wire";

// Commands are what somebody would type who wants to act, where they may not do it here.
export function Commands({ rollout }: { rollout: Rollout }) {
  const of = `${quoted(rollout.name)} -n ${quoted(rollout.namespace)}`;
  const lacks = (reason: string) => rollout.steps?.filter((s) => s.conditions?.some((c) => !c.met && c.reason === reason)) ?? [];
  const commands = rollout.alone ? [`stepgate explain ${of}`] : [
    `stepgate get ${of}`,
    ...lacks("NotApproved").map((s) => `stepgate approve ${of} --step ${s.wave ?? s.number}`),
    ...(lacks("Paused").length ? [`stepgate resume ${of}`] : []),
    ...(rollout.phase === "Complete" ? [] : [`stepgate pause ${of}`]),
    ...(isParent(rollout.name) ? [] : [`stepgate audit ${of}`]), // the last rollouts: whoever answers the extension has not watched them
  ];
  return (
    <section className="sg-section" aria-labelledby="sg-commands">
      <h2 id="sg-commands">In a terminal</h2>
      <ul className="sg-command-list">
        {commands.map((c) => <li key={c}><Command>{c}</Command></li>)}
      </ul>
    </section>
  );
}

function quoted(text: string): string {
  return /^[-\w./:]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
