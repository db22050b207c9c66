import { useMemo, type ReactNode } from "react";
import { namesOf } from "./argocd";
import { argocdSource, findFor } from "./argocdSource";
import { Caught } from "./Caught";
import { Commands } from "./Commands";
import { addStyles, useHostScheme, type Resource } from "./host";
import { OverviewView } from "./OverviewView";
import { RolloutView } from "./RolloutView";
import { useRoute } from "./route";
import { SchemeContext } from "./scheme";
import { SourceContext, useRollout, type Source } from "./source";
import { StatusFlyout, StatusItem } from "./StatusItem";
import theme from "./theme.css";
import parts from "./parts.css";
import rollout from "./rollout.css";
import dialog from "./dialog.css";
import extension from "./extension.css";

// Framed gives the components their facts and the colours of the host, and keeps a defect of theirs to itself.
function Framed({ source, children }: { source: Source; children: ReactNode }) {
  const scheme = useHostScheme();
  return (
    <SchemeContext.Provider value={scheme}>
      <SourceContext.Provider value={source}>
        <div className={`${scheme} sg-host`}><Caught>{children}</Caught></div>
      </SourceContext.Provider>
    </SchemeContext.Provider>
  );
}

function WithCommands({ namespace, name }: { namespace: string; name: string }) {
  const { value } = useRollout(namespace, name);
  return value?.rollout ? <Commands rollout={value.rollout} /> : null;
}

function Rollout(props: { namespace: string; name: string }) {
  return (
    <>
      <RolloutView {...props} />
      <WithCommands {...props} />
    </>
  );
}

// mostNames is how many Applications of an ApplicationSet are tried.
const mostNames = 3;

// Tab is the tab of an ApplicationSet.
function Tab({ resource }: { resource?: Resource }) {
  const { name = "", namespace = "" } = resource?.metadata ?? {};
  const key = namesOf(resource ?? {}).slice(0, mostNames).join();
  const source = useMemo(() => argocdSource(findFor(key.split(",").filter(Boolean))), [key]);
  return <Framed source={source}><Rollout namespace={namespace} name={name} /></Framed>;
}

const listed = argocdSource(findFor([]));

// All is the page of all rollouts, and of one of them.
function All() {
  const route = useRoute();
  const source = listed;
  return (
    <Framed source={source}>
      {route && <p><a href={window.location.pathname + window.location.search + "#/"}>All rollouts</a></p>}
      {route ? <Rollout key={`${route.namespace}/${route.name}`} {...route} /> : <OverviewView />}
    </Framed>
  );
}

function Item(props: Parameters<typeof StatusItem>[0]) {
  return <Silent><StatusItem {...props} /></Silent>;
}

// Silent shows nothing in place of what cannot be drawn.
class Silent extends Caught {
  override render() {
    return this.state.error ? null : this.props.children;
  }
}

const api = window.extensionsAPI;
if (api) {
  addStyles([extension, theme, parts, rollout, dialog].join("\n"));
  api.registerResourceExtension(Tab, "argoproj.io", "ApplicationSet", "Rollout", { icon: "fa-stairs" });
  api.registerSystemLevelExtension(All, "Rollouts", "/stepgate", "fa-stairs");
  api.registerStatusPanelExtension?.(Item, "Rollout", "stepgate", StatusFlyout);
}
