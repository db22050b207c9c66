import { Conditions } from "./Conditions";
import { Note } from "./Note";
import { Sign } from "./Sign";
import { Age, Moment, Revisions, Text } from "./Text";
import { candidateText, printable } from "./words";
import type { Blocker, Candidate, Explained, Explanation } from "./wire";

// ExplanationView is `stepgate explain` as a page.
export function ExplanationView({ explained }: { explained: Explained }) {
  const e = explained.explanation;
  return (
    <>
      <p className="sg-verdict"><Text>{explained.verdict}</Text></p>
      {e.starves && <Note title="Starves">{e.starves}</Note>}
      {e.exempt?.map((text) => <Note key={text} title="Exempt">{text}</Note>)}
      {e.means && <p><Text>{e.means}</Text></p>}
      {!e.blockers?.length && !e.conditions?.length && e.do && <p className="sg-do">Do: <Text>{e.do}</Text></p>}
      {e.says && <p className="sg-says">Argo CD says: <Text>{e.says}</Text></p>}
      <Blockers of={e.blockers} />
      {!!e.conditions?.length && <><h3>Conditions of step {e.step}</h3><Conditions of={e.conditions} withAdvice /></>}
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

function Blockers({ of }: { of?: Blocker[] }) {
  if (!of?.length) return null;
  return (
    <>
      <h3>What holds it up, in the order in which to act</h3>
      <ol className="sg-blockers">
        {of.map((b) => (
          <li key={`${b.application} ${b.reason}`}>
            <strong><Text>{b.application}</Text></strong> (step {b.step}{b.cluster && <>, on <Text>{b.cluster}</Text></>}):{" "}
            <Text>{b.detail ? `${b.reason}: ${b.detail}` : b.reason}</Text>
            <p className="sg-do">Do: <Text>{b.do}</Text></p>
            {b.says && <p className="sg-says">Argo CD says: <Text>{b.says}</Text></p>}
          </li>
        ))}
      </ol>
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
