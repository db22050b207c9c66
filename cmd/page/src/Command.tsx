import { useEffect, useState } from "react";
import { Text } from "./Text";

// Command is a command line, with a button that copies exactly it.
export function Command({ children }: { children: string }) {
  const [copied, setCopied] = useState("");
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(""), 2_000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    const done = navigator.clipboard?.writeText(children) ?? Promise.reject(new Error("no clipboard"));
    done.then(() => setCopied("Copied"), () => setCopied("Select it instead"));
  };
  return (
    <span className="sg-with-copy">
      <code className="sg-command"><Text>{children}</Text></code>
      <button type="button" className="sg-copy" onClick={copy} aria-label={`Copy ${children}`}>Copy</button>
      <span role="status" className="sg-faint">{copied}</span>
    </span>
  );
}
