import { Sign } from "./Sign";
import { Command } from "./Command";
import { printable } from "./words";
import type { Answer } from "./wire";

// AnswerLines is what the server has answered, to a dry run or to the action itself.
export function AnswerLines({ answer, sent }: { answer: Answer; sent: boolean }) {
  const title = answer.ok ? (sent ? "Done" : "This would happen") : sent ? "Failed" : "This would fail";
  return (
    <>
      <p className={answer.ok ? "sg-answer" : "sg-answer sg-bad"}>
        <Sign name={answer.ok ? (sent ? "done" : "waits") : "failed"} /> <strong>{title}</strong>
      </p>
      <pre tabIndex={0} aria-label="Answer"><bdi>{(answer.lines ?? []).map(printable).join("\n")}</bdi></pre>
      {answer.command && (
        <p className="sg-faint">The same in a terminal: <Command>{answer.command}</Command></p>
      )}
    </>
  );
}
