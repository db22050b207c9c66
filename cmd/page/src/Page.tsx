import { useEffect, useRef } from "react";
import { Caught } from "./Caught";
import { OverviewView } from "./OverviewView";
import { RolloutView } from "./RolloutView";
import { Text } from "./Text";
import { useRoute, type Route } from "./route";
import { called, printable } from "./words";

// Page is the frame of the dashboard: its head, and the view that the address names.
export function Page() {
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  useNewView(route, main);
  const skip = () => main.current?.focus();
  return (
    <>
      <button type="button" className="sg-skip" onClick={skip}>Skip to the content</button>
      <header className="sg-top">
        <nav aria-label="Where you are">
          <ol>
            <li><a href="#/" aria-current={route ? undefined : "page"}>stepgate</a></li>
            {route && <li aria-current="page"><Text>{called(route.name)}</Text></li>}
          </ol>
        </nav>
      </header>
      <main ref={main} tabIndex={-1}>
        <Caught key={route ? `${route.namespace}/${route.name}` : ""}>
          {route ? <RolloutView {...route} /> : <OverviewView />}
        </Caught>
      </main>
    </>
  );
}

// useNewView says which view this is: in the title of the window, and, after the first one, with the focus.
function useNewView(route: Route, main: React.RefObject<HTMLElement | null>) {
  const first = useRef(true);
  const title = route ? `${printable(route.namespace)}/${printable(called(route.name))}` : "Rollouts";
  useEffect(() => {
    document.title = `${title} · stepgate`;
    if (!first.current) {
      window.scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    first.current = false;
  }, [title]);
}
