import { useEffect, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./Page";
import { SourceContext } from "./source";
import { httpSource } from "./http";
import { dropToken, takeToken } from "./token";
import "./theme.css";
import "./parts.css";
import "./rollout.css";
import "./dialog.css";
import "./page.css";

const given = takeToken();

function Dashboard() {
  const [token, setToken] = useState(given);
  useEffect(() => {
    // A new address in the same window does not load the page again: only its fragment differs.
    const changed = () => setToken(takeToken());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  const source = useMemo(() => {
    const refused = () => {
      dropToken();
      setToken(null);
    };
    return token ? httpSource(token, refused) : null;
  }, [token]);
  if (!source) return <NoToken />;
  return <SourceContext.Provider value={source}><Page /></SourceContext.Provider>;
}

function NoToken() {
  return (
    <main className="sg-message">
      <h1>Start stepgate dashboard again</h1>
      <p>This page has no valid token. A token lasts as long as the <code>stepgate dashboard</code> that made it.</p>
      <p>Run this, and open the address that it prints:</p>
      <pre>stepgate dashboard</pre>
    </main>
  );
}

const place = document.getElementById("page");
if (place) createRoot(place).render(<Dashboard />);
