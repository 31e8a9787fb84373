// A step gets a new version when it or its neighbor moves, and a pipeline when one of its steps changes. For a form that
// shows none of that, it is no conflict.
import { useRef } from 'react'
import { GantryError } from '#client/index.ts'
import { isSame } from '../ui/form/changes.ts'
import type { Stored } from '../ui/form/use-record-form.ts'

/** `shown` is what the form was last given, `load` reads it again. */
export function useStoredVersion<Values extends object>(
  shown: Stored<Values>,
  load: () => Promise<Stored<Values>>,
) {
  const known = useRef(new Map<string | null, Values>())
  known.current.set(shown.version, shown.values)

  async function reload(): Promise<Stored<Values>> {
    const stored = await load()
    known.current.set(stored.version, stored.values)
    return stored
  }

  /** Repeats a rejected change if the values are still those that the person saw. */
  async function save<Saved>(
    ifMatch: string | undefined,
    change: (ifMatch: string | undefined) => Promise<Saved>,
  ): Promise<Saved> {
    try {
      return await change(ifMatch)
    } catch (error) {
      if (!(error instanceof GantryError) || error.status !== 412) throw error
      const stored = await reload()
      if (!isSame(stored.values, known.current.get(ifMatch ?? null))) throw error
      return change(stored.version ?? undefined)
    }
  }

  return { reload, save }
}

/** For a request that changes a record. */
export function ifMatchHeader(version: string | undefined): { 'If-Match'?: string } {
  return version === undefined ? {} : { 'If-Match': version }
}
