import { useState } from "react";
import { useSeldom } from "./seldom";

// announceEvery is how long a screen reader is left in peace at least, in ms.
const announceEvery = 10_000;

// Announced tells a screen reader a short sentence when it has changed, and not at the beginning.
export function Announced({ children }: { children?: string }) {
  const text = useSeldom(children, announceEvery);
  const [first, setFirst] = useState(text);
  if (first === undefined && text !== undefined) setFirst(text);
  return <p aria-live="polite" className="sg-hidden">{text !== first && text}</p>;
}
