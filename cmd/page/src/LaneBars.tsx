import type { Lane } from "./lanes";

const height = 8;
const gap = 3;
// thin is the height of a bar in which nothing runs: shape says it beside colour.
const thin = 2;

// LaneBars are the steps one above the other, with what happened in each from left to right.
export function LaneBars({ lanes }: { lanes: Lane[] }) {
  const whole = lanes.length * (height + gap) - gap;
  return (
    <svg
      className="sg-lanes" role="img" aria-label={lanes.map((l) => l.text).join("; ")} viewBox={`0 0 1000 ${whole}`}
      preserveAspectRatio="none" style={{ height: whole }}
    >
      {lanes.map((lane, i) => (
        <g key={lane.step}>
          <title>{lane.text}</title>
          <rect className="sg-lane" y={i * (height + gap)} width="1000" height={height} />
          {lane.bars.map((bar, k) => (
            <rect
              key={k} className={`sg-past-${bar.kind}`} x={bar.from * 1000} width={Math.max(4, (bar.to - bar.from) * 1000)}
              y={i * (height + gap) + (bar.kind === "waited" ? (height - thin) / 2 : 0)} height={bar.kind === "waited" ? thin : height}
            />
          ))}
        </g>
      ))}
    </svg>
  );
}
