import { useRef, useState, type ReactNode } from "react";
import * as Radix from "@radix-ui/react-dialog";
import { useSchemeClass } from "./scheme";

interface Props {
  kind: "panel" | "box";
  title: ReactNode;
  close: () => void;
  children: ReactNode;
}

// Dialog is a window over the page, or a panel at its right side. Escape closes it, and the focus goes back. Radix's own
// overlay is not used: it writes a style element, which the page's Content-Security-Policy does not permit.
export function Dialog({ kind, title, close, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const [opener] = useState(() => document.activeElement);
  const scheme = useSchemeClass();
  const back = (e: Event) => {
    e.preventDefault();
    const tile = opener?.getAttribute("data-tile");
    const again = opener?.isConnected || !tile ? opener : document.querySelector(`[data-tile="${CSS.escape(tile)}"]`);
    if (again instanceof HTMLElement && again.isConnected) again.focus();
    else document.querySelector<HTMLElement>(".sg h1")?.focus();
  };
  const begin = (e: Event) => {
    e.preventDefault();
    heading.current?.focus();
  };
  return (
    <Radix.Root open onOpenChange={(open) => open || close()}>
      <Radix.Portal>
        <div className={scheme}>
          <div className="sg-overlay" />
          <Radix.Content className={`sg-dialog sg-dialog-${kind}`} aria-describedby={undefined} onOpenAutoFocus={begin} onCloseAutoFocus={back}>
            <div className="sg-dialog-head">
              <Radix.Title ref={heading} tabIndex={-1}>{title}</Radix.Title>
              <Radix.Close className="sg-close" aria-label="Close">
                <svg className="sg-sign" viewBox="0 0 16 16" aria-hidden="true"><path d="M4 4 12 12M12 4 4 12" /></svg>
              </Radix.Close>
            </div>
            {children}
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  );
}
