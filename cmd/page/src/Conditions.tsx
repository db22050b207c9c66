import { Age, Moment, Text } from "./Text";
import { Sign } from "./Sign";
import type { Condition } from "./wire";

// Conditions are what a step waits for beside the order, and what it no longer waits for.
export function Conditions({ of }: { of?: Condition[] }) {
  if (!of?.length) return null;
  return (
    <ul className="sg-conditions">
      {of.map((c) => (
        <li key={`${c.met} ${c.text}`}>
          <Sign name={c.met ? "done" : "waits"} />
          <div>
            <span className="sg-hidden">{c.met ? "met: " : "not met: "}</span>
            <Text>{c.text}</Text>
            {c.until && <span className="sg-local">local time <Moment at={c.until} />, <Age at={c.until} sign="in" /></span>}
            {c.at && !c.until && <span className="sg-local">local time <Moment at={c.at} /></span>}
          </div>
        </li>
      ))}
    </ul>
  );
}
