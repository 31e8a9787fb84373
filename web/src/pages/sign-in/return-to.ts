// Single sign-on leaves the dashboard. The page that the person wanted is remembered in the tab, and opened afterward.
import { readStored, writeStored } from '#web/base/session/tab-storage.ts'

const KEY = 'gantry-return-to'

/** Pure. The path below `/app`; undefined for anything that is no page of the dashboard, or the sign-in page itself. */
export function ownPath(path: string | null): string | undefined {
  if (path === null || !/^\/(?![/\\])/.test(path) || /[\\\u0000-\u0020]/.test(path)) return undefined
  return /^\/(sign-in)?\/?([?#]|$)/.test(path) ? undefined : path
}

/** Keeps the remembered page when the person is not on one: at the sign-in page after a failed attempt. */
export function rememberPage(path: string): void {
  if (ownPath(path) !== undefined) writeStored(KEY, path)
}

export function readRememberedPage(): string | undefined {
  return ownPath(readStored(KEY))
}

export function forgetRememberedPage(): void {
  writeStored(KEY, null)
}
