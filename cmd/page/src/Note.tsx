import { Sign } from "./Sign";
import { Text } from "./Text";

// Note is something that a reader must not overlook.
export function Note({ title, children }: { title: string; children: string }) {
  return (
    <p className="sg-note">
      <Sign name="warning" />
      <span><strong>{title}:</strong> <Text>{children}</Text></span>
    </p>
  );
}
