import { useEffect, useRef, useState, type FormEvent } from "react";
import { atOf, undoOf, type Wanted } from "./actions";
import { AnswerLines } from "./AnswerLines";
import { Dialog } from "./Dialog";
import { PauseForm } from "./PauseForm";
import { Text } from "./Text";
import { textOf, useSource } from "./source";
import type { Action, Answer, Step } from "./wire";

interface Props {
  wanted: Wanted;
  steps: Step[];
  close: () => void;
  act: (wanted: Wanted) => void;
}

type Stage = "form" | "checking" | "checked" | "sending" | "sent";

// ActionDialog asks the server what the action would do, asks the person once, does it, and shows the answer.
export function ActionDialog({ wanted, steps, close, act }: Props) {
  const source = useSource();
  const [action, setAction] = useState<Action>(wanted.action);
  const [stage, setStage] = useState<Stage>(wanted.asks ? "form" : "checking");
  const [answer, setAnswer] = useState<Answer>();
  const button = useRef<HTMLButtonElement>(null);

  async function send(dryRun: boolean) {
    setStage(dryRun ? "checking" : "sending");
    const approves = dryRun ? undefined : answer?.approves; // what the person has seen
    const got = await answered(source.act?.({ ...action, approves, dryRun }));
    setAnswer(got);
    setStage(dryRun ? "checked" : "sent");
  }

  useEffect(() => {
    if (!wanted.asks) void send(true);
  }, []);
  // The focus is never on what changes something: Enter, pressed once too often, cancels.
  useEffect(() => button.current?.focus(), [stage]);

  const submit = (e: FormEvent) => {
    e.preventDefault();
    void send(stage === "form");
  };
  const busy = stage === "checking" || stage === "sending";
  const mayGo = stage === "checked" && answer?.ok;
  const undo = stage === "sent" && answer?.ok ? undoOf(action) : undefined;
  return (
    <Dialog kind="box" title={<Text>{wanted.title}</Text>} close={close}>
      <form onSubmit={submit}>
        <div className="sg-dialog-body">
          {stage === "form" && wanted.asks && (
            <PauseForm steps={steps} fixed={!!atOf(wanted.action.step, wanted.action.wave)} action={action} change={setAction} />
          )}
          <div role="status">
            {busy && <p className="sg-empty">{stage === "checking" ? "Asking what this would do…" : "Sending…"}</p>}
            {!busy && answer && stage !== "form" && <AnswerLines answer={answer} sent={stage === "sent"} />}
            {undo && action.verb === "approve" && <p>No command takes an approval back. A pause holds the syncs that have not started.</p>}
          </div>
        </div>
        <div className="sg-dialog-foot">
          {undo && <button type="button" onClick={() => act(undo)}>{undo.title}…</button>}
          <button ref={stage === "sent" || stage === "checked" ? button : undefined} type="button" onClick={close}>
            {stage === "sent" ? "Close" : "Cancel"}
          </button>
          {stage === "checked" && wanted.asks && <button type="button" onClick={() => setStage("form")}>Back</button>}
          {stage === "form" && <button type="submit" className="sg-first">Continue</button>}
          {mayGo && <button type="submit" className="sg-first">{wanted.word}</button>}
        </div>
      </form>
    </Dialog>
  );
}

async function answered(promise: Promise<Answer> | undefined): Promise<Answer> {
  try {
    return (await promise) ?? { ok: false, lines: ["Nothing may be written from here."] };
  } catch (error) {
    return { ok: false, lines: [textOf(error)] };
  }
}
