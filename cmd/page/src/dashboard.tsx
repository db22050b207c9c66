import { useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./Page";
import { SourceContext } from "./source";
import { httpSource, takeToken } from "./http";
import "./theme.css";
import "./parts.css";
import "./rollout.css";
import "./dialog.css";
import "./page.css";

function Dashboard() {
  // A browser that has been given the key needs no token: in other tabs, and when the program begins again.
  const [allowed, setAllowed] = useState<boolean>();
  useEffect(() => {
    const open = () => void takeToken().then(() => setAllowed(true));
    open();
    // A new address in the same window does not load the page again: only its fragment differs.
    window.addEventListener("hashchange", open);
    return () => window.removeEventListener("hashchange", open);
  }, []);
  const source = useMemo(() => httpSource(() => setAllowed(false)), []);
  if (allowed === undefined) return null;
  if (!allowed) return <NoKey />;
  return <SourceContext.Provider value={source}><Page /></SourceContext.Provider>;
}

function NoKey() {
  return (
    <main className="sg-message">
      <h1>Open the address of stepgate dashboard</h1>
      <p>This browser has no key yet, or an old one. It gets one for seven days from the address that this prints:</p>
      <pre>stepgate dashboard</pre>
    </main>
  );
}

const place = document.getElementById("page");
if (place) createRoot(place).render(<Dashboard />);
