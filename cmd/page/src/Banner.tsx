import { Moment, Text } from "./Text";
import { Sign } from "./Sign";
import type { Live } from "./source";

// Banner says that what is shown is not the present, since when, and why.
export function Banner({ live }: { live: Live<{ at: string; problem?: string }> }) {
  const why = live.lost ?? live.value?.problem;
  const since = live.goodAt ?? live.value?.at;
  return (
    <div role="status" className="sg-banner-place">
      {why && (
        <p className="sg-banner">
          <Sign name="warning" />
          <span>
            {since ? <><strong>Not live since <Moment at={since} />:</strong> </> : <strong>Not live: </strong>}
            <Text>{why}</Text>
            {live.lost && ". Trying again."}
          </span>
        </p>
      )}
    </div>
  );
}
