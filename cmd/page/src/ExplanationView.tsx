import { Command } from "./Command";
import { Conditions } from "./Conditions";
import { Note } from "./Note";
import { Sign } from "./Sign";
import { Age, Moment, Revisions, Text } from "./Text";
import { candidateText, printable, stepName } from "./words";
import type { Blocker, Candidate, Explained, Explanation, Need } from "./wire";

// ExplanationView is `stepgate explain` as a page.
export function ExplanationView({ explained }: { explained: Explained }) {
  const e = explained.explanation;
  return (
    <>
      <p className="sg-verdict"><Text>{explained.verdict}</Text></p>
      {e.starves && <Note title="Starves">{e.starves}</Note>}
      {e.exempt?.map((text) => <Note key={text} title="Exempt">{text}</Note>)}
      {e.means && <p><Text>{e.means}</Text></p>}
      {e.says && <p className="sg-says">Argo CD says: <Text>{e.says}</Text></p>}
      <Needs title="What keeps it from being done" of={e.own} blockers={e.blockers} />
      <Needs title="What it waits for, in the order in which to act" of={e.needs} blockers={e.blockers} />
      {!!e.conditions?.length && <><h3>Conditions of {stepName(e.step, e.wave)}</h3><Conditions of={e.conditions} /></>}
      <Candidates of={e.candidates} />
      {!!e.revisions?.length && (
        <><h3>Deploys</h3><p><Revisions of={e.revisions} />{e.pinned ? ", named in the operation" : ""}</p></>
      )}
      {e.message && <><h3>Text for whoever asks</h3><p><Text>{e.message}</Text></p></>}
      <Events of={e.events} />
      {e.problems?.map((text) => <Note key={text} title="Problem">{text}</Note>)}
      <p className="sg-faint">Judged by <Text>{e.settings}</Text></p>
      <details className="sg-more">
        <summary>The whole text of stepgate explain</summary>
        <pre tabIndex={0}><bdi>{(explained.lines ?? []).map(printable).join("\n")}</bdi></pre>
      </details>
    </>
  );
}

// mostNeeds is how many are shown: who reads acts on the first ones.
const mostNeeds = 20;

function Needs({ title, of, blockers }: { title: string; of?: Need[]; blockers?: Blocker[] }) {
  if (!of?.length) return null;
  return (
    <>
      <h3>{title}</h3>
      <ol className="sg-blockers">
        {of.slice(0, mostNeeds).map((n) => {
          const says = n.application && blockers?.find((b) => b.application === n.application)?.says;
          return (
            <li key={`${n.applicationSet} ${n.text}`}>
              <Text>{n.text}</Text>
              {n.do && n.do !== n.command && <p className="sg-do">Do: <Text>{n.do}</Text></p>}
              {n.command && <p><Command>{n.command}</Command></p>}
              {says && <p className="sg-says">Argo CD says: <Text>{says}</Text></p>}
            </li>
          );
        })}
      </ol>
      {of.length > mostNeeds && <p>and {of.length - mostNeeds} more</p>}
    </>
  );
}

function Candidates({ of }: { of?: Candidate[] }) {
  if (!of?.length) return null;
  return (
    <>
      <h3>Candidates, newest first</h3>
      <ul className="sg-conditions">
        {of.map((c, i) => (
          <li key={i}>
            <Sign name={c.reason ? "waits" : "done"} />
            <div>
              <Revisions of={c.revisions} /> <Text>{candidateText(c)}</Text>
              {c.until && <>, until <Moment at={c.until} /></>}
              {c.next && ": next"}{c.compared && " (the compared one)"}
            </div>
          </li>
        ))}
      </ul>
    </>
  );
}

function Events({ of }: { of: Explanation["events"] }) {
  if (!of?.length) return null;
  return (
    <>
      <h3>Events of the gate</h3>
      <ul className="sg-events">
        {of.map((event, i) => (
          <li key={i}><Age at={event.time} /><strong><Text>{event.reason}</Text></strong><Text>{event.note}</Text></li>
        ))}
      </ul>
    </>
  );
}
