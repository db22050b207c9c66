// Progress is a thin bar. The numbers stand beside it, so a screen reader does not need it.
export function Progress({ done, total }: { done: number; total: number }) {
  const part = total > 0 ? Math.min(1, done / total) : 0;
  return (
    <svg className="sg-progress" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect className="sg-progress-all" width="100" height="4" />
      <rect className={part === 1 ? "sg-progress-whole" : "sg-progress-part"} width={part * 100} height="4" />
    </svg>
  );
}
