const key = "stepgate-token";

// takeToken moves the token out of the address, where somebody could read it or copy it by mistake.
export function takeToken(): string | null {
  const given = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(key, given);
    history.replaceState(null, "", window.location.pathname + window.location.search + "#/");
  }
  return sessionStorage.getItem(key);
}

export function dropToken(): void {
  sessionStorage.removeItem(key);
}
