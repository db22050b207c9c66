import { memo } from "react";
import { called, duration, isParent, printable, short } from "./words";
import { useNow } from "./clock";
import { useCommit } from "./commits";

// Text is text from the cluster. It is never HTML, and cannot change the direction of what stands beside it.
export const Text = memo(function Text({ children }: { children: string }) {
  return <bdi>{printable(children)}</bdi>;
});

// Name is that of what orders Applications: an ApplicationSet, unless it says something else.
export function Name({ namespace, name }: { namespace: string; name: string }) {
  return (
    <>
      <span className="sg-faint"><Text>{namespace}</Text>/</span><Text>{called(name)}</Text>
      {isParent(name) && <span className="sg-faint"> (Application)</span>}
    </>
  );
}

const tail = 12;

// Cut is a name that loses its middle, and not its end, where there is no room.
export const Cut = memo(function Cut({ children }: { children: string }) {
  const name = printable(children);
  if (name.length < 2 * tail) return <bdi className="sg-cut"><span>{name}</span></bdi>;
  return (
    <bdi className="sg-cut">
      <span>{name.slice(0, -tail)}</span>
      <span>{name.slice(-tail)}</span>
    </bdi>
  );
});

// Revisions are commits, cut, with the whole in the title.
export function Revisions({ of }: { of: string[] | null | undefined }) {
  if (!of?.length) return null;
  return (
    <span className="sg-revisions">
      {of.map((revision, i) => <Revision key={i}>{revision}</Revision>)}
    </span>
  );
}

function Revision({ children: revision }: { children: string }) {
  const href = useCommit(revision);
  const code = <code title={printable(revision)}>{printable(short(revision))}</code>;
  return href ? <a href={href} target="_blank" rel="noreferrer">{code}</a> : code;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const otherYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

// Moment is a time of the day here, with the day if that is another one, and the time in UTC in its title.
export function Moment({ at }: { at: string }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <Text>{at}</Text>;
  const now = new Date();
  const today = date.toDateString() === now.toDateString();
  const days = date.getFullYear() === now.getFullYear() ? day : otherYear;
  return (
    <time dateTime={at} title={`${date.toISOString().replace(".000Z", "Z")} (UTC)`}>
      {today ? clock.format(date) : `${days.format(date)}, ${clock.format(date)}`}
    </time>
  );
}

// Age is how long ago it was, or how long it will take.
export function Age({ at, sign }: { at: string; sign?: "in" }) {
  const now = useNow();
  const then = new Date(at).getTime();
  if (Number.isNaN(then)) return <Text>{at}</Text>;
  const text = sign === "in" ? `in ${duration(then - now)}` : duration(now - then);
  return <time dateTime={at} title={`${new Date(then).toISOString()} (UTC)`}>{text}</time>;
}
