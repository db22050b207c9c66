// The JSON of the dashboard's server, from its Go types. `make generate` writes this file.

export interface Overview {
  at: string;
  context?: string;
  namespace?: string;
  problem?: string;
  rows: Row[] | null;
}

export interface Row {
  namespace: string;
  name: string;
  alone?: boolean;
  phase: Phase;
  status: string;
  open?: boolean;
  step: number;
  wave?: number;
  steps: number;
  done: number;
  total: number;
  since?: string;
  urgency: Urgency;
  need?: Need;
  more?: number;
  revisions?: string[];
}

export type Phase = "Complete" | "Progressing" | "Waiting" | "NoSteps";

export type Urgency = "NeedsYou" | "WaitsByItself" | "Running" | "Complete";

export interface Need {
  reason: string;
  actor: string;
  applicationSet?: string;
  step: number;
  wave?: number;
  application?: string;
  text: string;
  do?: string;
  command?: string;
  verb?: string;
  until?: string;
  holds: number;
  held?: string[];
}

export interface Detail {
  at: string;
  problem?: string;
  rollout: Rollout;
  said: Record<string, Said>;
  rights: Rights;
  needsMore?: number;
  commits?: Record<string, string>;
  argocd?: string;
}

export interface Rollout {
  namespace: string;
  name: string;
  phase: Phase;
  step: number;
  steps: Step[] | null;
  waves?: boolean;
  done: number;
  total: number;
  needs?: Need[];
  since?: string;
  revisions?: string[];
  unselected?: string[];
  open?: boolean;
  exempt?: string[];
  problems?: string[];
  after?: After[];
  track?: string;
  waitAfter?: string[];
  starves?: string;
  alone?: boolean;
}

export interface Step {
  number: number;
  wave?: number;
  selector: string;
  maxUpdate?: string;
  done: number;
  candidate?: Candidate;
  conditions?: Condition[];
  applications: Application[] | null;
}

export interface Candidate {
  revisions: string[] | null;
  approval?: string;
  compared?: boolean;
  next?: boolean;
  reason?: string;
  detail?: string;
  blocker?: string;
  until?: string;
}

export interface Condition {
  reason: string;
  met: boolean;
  refused?: boolean;
  text: string;
  until?: string;
  by?: string;
  at?: string;
  applications?: string[];
  do?: string;
}

export interface Application {
  name: string;
  track?: string;
  cluster?: string;
  health: string;
  sync: string;
  revisions?: string[];
  runs?: string[];
  since?: string;
  done: boolean;
  reason?: string;
  detail?: string;
  notCounted?: string;
  syncing?: boolean;
  need?: number;
  mayStart?: boolean;
  waitsFor?: string[];
  waitsForMore?: number;
  held?: string;
  refused?: boolean;
  waits?: string;
  believed?: Believed;
  differs?: string;
}

export interface Believed {
  status: string;
  step: number;
  revisions?: string[];
  since?: string;
}

export interface After {
  name: string;
  done: boolean;
  older?: boolean;
  blockers?: Blocker[];
}

export interface Blocker {
  application: string;
  cluster?: string;
  step: number;
  wave?: number;
  reason: string;
  detail?: string;
  do: string;
  says?: string;
}

export interface Said {
  kind: Kind;
  text: string;
}

export type Kind = "done" | "running" | "waits" | "failed" | "held" | "excluded";

export interface Rights {
  annotate: boolean;
  refresh: boolean;
}

export interface Explained {
  explanation: Explanation;
  verdict: string;
  lines: string[] | null;
}

export interface Explanation {
  namespace: string;
  application: string;
  applicationSet?: string;
  step: number;
  wave?: number;
  steps: number;
  health: string;
  sync: string;
  by: string;
  outcome: Outcome;
  reason?: string;
  means?: string;
  do?: string;
  needs?: Need[];
  own?: Need[];
  blockers?: Blocker[];
  conditions?: Condition[];
  revisions?: string[];
  pinned?: boolean;
  deployed?: string;
  says?: string;
  message?: string;
  settings: string;
  exempt?: string[];
  problems?: string[];
  starves?: string;
  candidates?: Candidate[];
  gate?: string;
  events?: Event[];
}

export type Outcome = "Allowed" | "Held" | "Refused" | "Audited" | "NotGated" | "Idle" | "Running";

export interface Event {
  time: string;
  reason: string;
  note: string;
}

export interface Timeline {
  rollouts: PastRollout[] | null;
  more: number;
}

export interface PastRollout {
  revision: string;
  repository: string;
  chart?: string;
  targetRevision: string;
  beganAt: string;
  endedAt?: string;
  verdict: Verdict;
  fromLedger?: boolean;
  reason?: string;
  example?: Pair;
  leftOut: number;
  early?: Early[];
  syncs: Sync[] | null;
}

export type Verdict = "OutOfOrder" | "ByHand" | "Unclear" | "InOrder" | "OneStep";

export interface Pair {
  later: string;
  laterStep: number;
  earlier: string;
  earlierStep: number;
  wave?: boolean;
}

export interface Early {
  application: string;
  step: number;
  wave?: boolean;
  startedAt: string;
  finishedAt?: string;
  outcome: SyncOutcome;
  by?: string;
  automated: boolean;
  unclear?: string;
  verdict: Verdict;
  seconds?: number;
  before: Sync[] | null;
  beforeCount: number;
}

export type SyncOutcome = "Succeeded" | "Failed" | "Running";

export interface Sync {
  application: string;
  step: number;
  wave?: boolean;
  startedAt: string;
  finishedAt?: string;
  outcome: SyncOutcome;
  by?: string;
  automated: boolean;
  unclear?: string;
}

export interface History {
  at: string;
  problem?: string;
  since?: string;
  rollouts: KeptRollout[] | null;
  commits?: Record<string, string>;
}

export interface KeptRollout {
  source: string;
  revision: string;
  back?: boolean;
  comparedAt: string;
  startedAt?: string;
  endedAt?: string;
  result?: KeptResult;
  steps: KeptStep[] | null;
  bypasses?: KeptBypass[];
}

export type KeptResult = "complete" | "superseded";

export interface KeptStep {
  step: number;
  wave?: number;
  applications: number;
  done: number;
  startedAt?: string;
  completedAt?: string;
  skipped?: boolean;
  waits?: KeptWait[];
  failures?: KeptFailure[];
  by?: string[];
  approvals?: KeptApproval[];
  evidence?: KeptEvidence[];
}

export interface KeptWait {
  reason: string;
  for: string;
  since: string;
  until?: string;
}

export interface KeptFailure {
  application: string;
  what: string;
  at: string;
  repairedAt?: string;
}

export interface KeptApproval {
  by: string;
  at: string;
}

export interface KeptEvidence {
  object: string;
  answer: string;
  detail?: string;
  at?: string;
}

export interface KeptBypass {
  why: string;
  at: string;
}

export interface Action {
  verb: Verb;
  namespace: string;
  name: string;
  step?: number;
  wave?: number;
  reason?: string;
  revision?: string;
  approves?: string[];
  dryRun?: boolean;
}

export type Verb = "pause" | "resume" | "approve" | "refresh";

export interface Answer {
  ok: boolean;
  lines: string[] | null;
  command?: string;
  approves?: string[];
}

export interface Failure {
  error: string;
}

export interface Status {
  at: string;
  rollout: Row;
  step: number;
  wave?: number;
  said?: Said;
}
