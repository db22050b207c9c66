import { useMemo, useState, type FocusEvent } from "react";
import { Sign } from "./Sign";
import { Text } from "./Text";
import { Tile } from "./Tile";
import { groupsOf, matching, type Group } from "./groups";
import { wordFor } from "./words";
import type { Application, Said } from "./wire";

interface Props {
  applications: Application[];
  said: Record<string, Said>;
  // words choose Applications; all if there are none.
  words: string;
  open: (application: string) => void;
}

// Tiles are the Applications of a step, in groups, with one stop of the Tab key for all of them.
export function Tiles({ applications, said, words, open }: Props) {
  const [whole, setWhole] = useState(false);
  const all = useMemo(() => groupsOf(matching(applications, said, words), said), [applications, said, words]);
  const groups = useMemo(() => (whole ? all : firstOf(all)), [all, whole]);
  const count = (of: Group[]) => of.reduce((n, g) => n + g.items.length, 0);
  const [focused, setFocused] = useState<string>();
  const first = groups[0]?.items[0]?.application.name;
  const stop = groups.some((g) => g.items.some((i) => i.application.name === focused)) ? focused : first;
  const onFocus = (e: FocusEvent) => {
    const name = e.target.getAttribute("data-tile");
    if (name !== null) setFocused(name);
  };
  return (
    <div className="sg-groups" onFocus={onFocus}>
      {groups.map((group) => (
        <div key={group.key} className={`sg-group sg-group-${group.kind}`}>
          <h4>
            <Sign name={group.kind} />
            {group.all} {wordFor(group.kind, group.text)}
            {group.text && <span className="sg-group-text"><Text>{group.text}</Text></span>}
          </h4>
          <ul className={classOf(group)}>
            {group.items.map(({ application: a, text }) => (
              <Tile
                key={a.name} name={a.name} cluster={a.cluster} track={a.track} kind={group.kind} text={text} compact={group.compact}
                differs={a.differs} stop={a.name === stop} open={open}
              />
            ))}
          </ul>
        </div>
      ))}
      {count(groups) < count(all) && (
        <p className="sg-buttons"><button type="button" onClick={() => setWhole(true)}>Show all {count(all)}</button></p>
      )}
    </div>
  );
}

// most is how many tiles of a step are shown at first.
const most = 60;

// firstOf are the first tiles: the groups are in the order in which somebody has to look at them.
function firstOf(groups: Group[]): Group[] {
  let left = most;
  return groups.map((g) => {
    const items = g.items.slice(0, left);
    left -= items.length;
    return { ...g, items };
  });
}

const many = 80;

function classOf({ compact, items }: Group): string {
  if (!compact) return "sg-tiles";
  return items.length > many ? "sg-tiles sg-tiles-compact sg-tiles-many" : "sg-tiles sg-tiles-compact";
}
