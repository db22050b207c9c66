import { createContext, useContext } from "react";

// Scheme is the class of the components' outermost element. The extension adds one for the colours of its host.
export const SchemeContext = createContext("sg");

export function useSchemeClass(): string {
  return useContext(SchemeContext);
}
