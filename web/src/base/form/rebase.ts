// What a form does when its record is loaded again. Pure.
import { changedFields, isSame } from './changes.ts'

export type Stored<Values> = { values: Values; version: string | null }

/** What the person's changes are compared with. */
export type Base<Values> = Stored<Values> & {
  /** A loaded version that is older than this one: it does not replace it. */
  older?: string | null
  /** Saved by this form, which does not know the new version yet. */
  isSaved?: boolean
}

/**
 * The form on top of what was loaded; undefined if it stays as it is. What somebody else changed does not replace what
 * the person is changing: saving it shows both. What the form saved itself is no such conflict, nor is a change of what
 * the form does not show. Whether somebody else changed a secret cannot be seen: while the person changes one, nothing is
 * taken over, unless the form saved it itself.
 */
export function rebase<Values extends object>(
  base: Base<Values>,
  values: Values,
  loaded: Stored<Values>,
  secrets: readonly (keyof Values)[] = [],
): { base: Base<Values>; values: Values } | undefined {
  if (loaded.version === null || [base.version, base.older].includes(loaded.version)) return undefined
  const changed = changedFields(base.values, values)
  const names = Object.keys(changed) as (keyof Values)[]
  const isOwn = base.isSaved && names.every((name) => isSaved(loaded.values[name], base.values[name]))
  const isSeen = !names.some((name) => secrets.includes(name)) && isSame(loaded.values, base.values)
  if (names.length > 0 && !isOwn && !isSeen) return undefined
  return { base: loaded, values: { ...loaded.values, ...changed } }
}

/** Texts are stored without the spaces around them. */
function isSaved(stored: unknown, sent: unknown): boolean {
  return isSame(stored, typeof sent === 'string' && typeof stored === 'string' ? sent.trim() : sent)
}
