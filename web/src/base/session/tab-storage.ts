// What one tab remembers until it is closed. Browsers may deny the session storage; then it lasts until a reload.
const memory = new Map<string, string>()

export function readStored(key: string): string | null {
  try {
    return sessionStorage.getItem(key) ?? memory.get(key) ?? null
  } catch {
    return memory.get(key) ?? null
  }
}

export function writeStored(key: string, value: string | null): void {
  if (value === null) memory.delete(key)
  else memory.set(key, value)
  try {
    if (value === null) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, value)
  } catch {}
}

/** Forgets everything whose key starts with `prefix`, but not with `except`. */
export function forgetStored(prefix: string, except?: string): void {
  const keys = [...memory.keys()]
  try {
    keys.push(...Object.keys(sessionStorage))
  } catch {}
  for (const key of keys)
    if (key.startsWith(prefix) && !(except && key.startsWith(except))) writeStored(key, null)
}
