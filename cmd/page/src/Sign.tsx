import { memo } from "react";
import type { SignName } from "./words";

// paths are drawn on 16 × 16, and stroked. A sign never stands alone: a word or a name says the same.
const paths: Record<SignName, string> = {
  done: "M3.5 8.5 6.5 11.5 12.5 4.5",
  running: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  waits: "M8 3a5 5 0 1 0 0 10A5 5 0 0 0 8 3M8 5.5V8l1.8 1.2",
  failed: "M4 4 12 12M12 4 4 12",
  held: "M5.5 4v8M10.5 4v8",
  excluded: "M4 8h8",
  warning: "M8 2.8 14 13H2zM8 6.5v3M8 11.2v.1",
};

export const Sign = memo(function Sign({ name }: { name: SignName }) {
  return (
    <svg className={`sg-sign sg-is-${name}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
});
