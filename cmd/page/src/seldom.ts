import { useEffect, useState } from "react";

// useSeldom is a value that changes at most once in so many ms; at the end it is the newest one.
export function useSeldom<T>(value: T, every: number): T {
  const [shown, setShown] = useState(() => ({ value, at: Date.now() }));
  useEffect(() => {
    if (value === shown.value) return;
    const timer = setTimeout(() => setShown({ value, at: Date.now() }), Math.max(0, shown.at + every - Date.now()));
    return () => clearTimeout(timer);
  }, [value, shown, every]);
  return shown.value;
}
