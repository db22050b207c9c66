import { useEffect, useRef } from "react";

// useSlash focuses the field when somebody types "/" elsewhere.
export function useSlash() {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      const typing = e.target instanceof Element && e.target.closest("input, textarea, select, [role=dialog]");
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || typing) return;
      e.preventDefault();
      field.current?.focus();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  return field;
}
