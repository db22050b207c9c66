import { memo } from "react";
import { Cut, Text } from "./Text";
import { Sign } from "./Sign";
import { kindWord, printable } from "./words";
import type { Kind } from "./wire";

interface Props {
  name: string;
  cluster?: string;
  track?: string;
  kind: Kind;
  text: string;
  compact: boolean;
  differs?: string;
  stop: boolean;
  open: (application: string) => void;
}

// Tile is one Application. Its properties are plain values, so that an event draws only the tiles that it changes.
export const Tile = memo(function Tile({ name, cluster, track, kind, text, compact, differs, stop, open }: Props) {
  const title = [name, cluster && `on ${cluster}`, track && `track ${track}`, text, differs && `The ApplicationSet controller ${differs}`]
    .filter(Boolean).map((part) => printable(String(part))).join("\n");
  return (
    <li className={`sg-tile sg-tile-${kind}`}>
      <button type="button" data-tile={name} tabIndex={stop ? 0 : -1} title={title} onClick={() => open(name)} aria-haspopup="dialog">
        <span className="sg-tile-name">
          <Sign name={kind} /><Cut>{name}</Cut><span className="sg-hidden">, {kindWord[kind]}</span>
          {differs && compact && <Sign name="warning" />}
        </span>
        {!compact && cluster && <span className="sg-tile-text sg-faint">on <Text>{cluster}</Text></span>}
        {!compact && track && <span className="sg-tile-text sg-faint">track <Text>{track}</Text></span>}
        {!compact && text && <span className="sg-tile-text"><Text>{text}</Text></span>}
        {differs && (
          <span className={compact ? "sg-hidden" : "sg-tile-text sg-differs"}>
            <Sign name="warning" /><span>The ApplicationSet controller <Text>{differs}</Text></span>
          </span>
        )}
      </button>
    </li>
  );
});
