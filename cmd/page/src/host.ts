import { useEffect, useState, type ComponentType } from "react";

// Resource is as much of an object as the extension looks at.
export interface Resource {
  metadata?: {
    name?: string;
    namespace?: string;
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
    ownerReferences?: { apiVersion: string; kind: string; name: string; controller?: boolean }[];
  };
  spec?: { project?: string; strategy?: { type?: string } };
  status?: { applicationStatus?: { application: string }[]; resources?: { name: string }[] };
}

export interface StatusProps {
  application: Resource;
  openFlyout?: () => void;
}

// ExtensionsAPI is what Argo CD's UI offers, from 3.2 to 3.6 at least.
export interface ExtensionsAPI {
  registerResourceExtension(
    component: ComponentType<{ resource?: Resource }>, group: string, kind: string, title: string, options: { icon: string },
  ): void;
  registerSystemLevelExtension(component: ComponentType, title: string, path: string, icon: string): void;
  registerStatusPanelExtension?(
    component: ComponentType<StatusProps>, title: string, id: string, flyout: ComponentType<StatusProps>,
  ): void;
}

declare global {
  interface Window {
    extensionsAPI?: ExtensionsAPI;
  }
}

// ownerOf is the name of the ApplicationSet that controls an Application.
export function ownerOf(application: Resource): string | undefined {
  const is = (o: { apiVersion: string; kind: string }) => o.kind === "ApplicationSet" && o.apiVersion.startsWith("argoproj.io/");
  return application.metadata?.ownerReferences?.find(is)?.name;
}

// comesAfterOthers reports whether an ApplicationSet or an Application names what it comes after.
export function comesAfterOthers({ metadata }: Resource): boolean {
  return metadata?.annotations?.["stepgate.io/after"] !== undefined;
}

// isTracked reports whether Argo CD tracks an Application as a part of another one, which may order it.
export function isTracked({ metadata }: Resource): boolean {
  return metadata?.annotations?.["argocd.argoproj.io/tracking-id"] !== undefined
    || metadata?.labels?.["app.kubernetes.io/instance"] !== undefined;
}

// hasOrder reports whether an ApplicationSet may have steps or waves. stepgate says whether it has.
export function hasOrder({ metadata, spec }: Resource): boolean {
  return spec?.strategy?.type === "RollingSync" || metadata?.annotations?.["stepgate.io/waves"] !== undefined;
}

const themes = ".theme-light, .theme-dark";

function scheme(): string {
  const dark = document.querySelector(themes)?.classList.contains("theme-dark");
  return dark ? "sg sg-dark" : "sg sg-light";
}

// useHostScheme is the class of the host's colours. It follows the host.
export function useHostScheme(): string {
  const [value, setValue] = useState(scheme);
  useEffect(() => {
    const look = () => setValue(scheme());
    const observer = new MutationObserver(look);
    document.querySelectorAll(themes).forEach((e) => observer.observe(e, { attributes: true, attributeFilter: ["class"] }));
    look();
    return () => observer.disconnect();
  }, []);
  return value;
}

// addStyles adds the extension's styles to the host's page, once.
export function addStyles(text: string): void {
  const id = "stepgate-styles";
  if (document.getElementById(id)) return;
  const style = document.createElement("style");
  style.id = id;
  style.textContent = text;
  document.head.append(style);
}
