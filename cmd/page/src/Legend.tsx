import type { Bar } from "./lanes";

// Legend says what the bars of lanes mean.
export function Legend({ of }: { of: readonly (readonly [kind: Bar["kind"], word: string])[] }) {
  return (
    <p className="sg-legend">
      <span>One line for each step:</span>
      {of.map(([kind, word]) => (
        <span key={kind}>
          <svg viewBox="0 0 14 8" aria-hidden="true">
            <rect className={`sg-past-${kind}`} width="14" y={kind === "waited" ? 3 : 0} height={kind === "waited" ? 2 : 8} />
          </svg>
          {word}
        </span>
      ))}
    </p>
  );
}
