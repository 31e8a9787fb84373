// Unsaved input, kept in the tab until it is saved or discarded. Secrets are never kept.
import { forgetStored, readStored, writeStored } from '#web/base/session/tab-storage.ts'

/** What differs from the stored record, as far as the form still has such a field. */
export function readDraft<Values extends object>(key: string, initial: Values): Partial<Values> | undefined {
  const text = readStored(key)
  if (text === null) return undefined
  try {
    const kept = Object.entries(JSON.parse(text)).filter(([name]) => name in initial)
    return kept.length === 0 ? undefined : (Object.fromEntries(kept) as Partial<Values>)
  } catch {
    return undefined
  }
}

export function writeDraft<Values extends object>(
  key: string,
  values: Partial<Values>,
  secrets: readonly (keyof Values)[],
): void {
  const kept = Object.entries(values).filter(([name]) => !secrets.includes(name as keyof Values))
  writeStored(key, kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept)))
}

export function dropDraft(key: string): void {
  writeStored(key, null)
}

/** The next person at this browser finds nothing of what was typed. `but` is who signs in again. */
export function forgetDrafts(but?: { id: number }): void {
  forgetStored('draft:', but && `draft:${but.id}:`)
}
