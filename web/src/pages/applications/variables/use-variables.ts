// Loads the variables of an application, holds what a person changes, and saves it row by row.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { GantryError } from '#client/index.ts'
import type { Api } from '#web/base/api/api.ts'
import { queryKeys, useAll, useApi } from '#web/base/api/queries.ts'
import { blockNavigation } from '#web/base/form/leave-guard.ts'
import { notify } from '#web/base/ui/notify.ts'
import { plural } from '#web/base/ui/status.ts'
import {
  type Edit,
  type Edits,
  editOf,
  isOutdated,
  type Operation,
  operationsOf,
  type PastedRow,
  rowsOf,
  type Variable,
  withPasted,
} from './variable-edits.ts'

/** Messages by field; `row` is about the variable as a whole. */
export type RowErrors = { name?: string; value?: string; hidden?: string; row?: string }

export function useVariables(applicationId: number) {
  const api = useApi()
  const queries = useQueryClient()
  const queryKey = queryKeys.variables(applicationId)
  const query = useAll(queryKey, '/applications/{id}/variables', { params: { path: { id: applicationId } } })
  const [edits, setEdits] = useState<Edits>({})
  const [errors, setErrors] = useState<Record<string, RowErrors>>({})
  const count = useRef(0)
  const nextKey = useCallback(() => `new-${++count.current}`, [])
  const variables = query.data ?? []
  const rows = rowsOf(variables, edits)
  const operations = operationsOf(edits)
  const isDirty = operations.length > 0

  // Values are often secret: unlike other forms, unsaved ones are not kept in the tab's storage.
  useEffect(() => (isDirty ? blockNavigation() : undefined), [isDirty])

  const save = useMutation({
    gcTime: 0,
    async mutationFn() {
      const failed: Record<string, RowErrors> = {}
      const done: string[] = []
      for (const operation of operations) {
        const found = await perform(api, applicationId, operation)
        if (found) failed[operation.key] = found
        else done.push(operation.key)
      }
      return { failed, done }
    },
    async onSuccess({ failed, done }) {
      await queries.invalidateQueries({ queryKey })
      setEdits((before) => without(before, done))
      setErrors(failed)
      if (done.length > 0) notify.done(`${plural(done.length, 'variable')} saved.`)
    },
    // What was saved before the connection was lost is shown as it is.
    onError: () => queries.invalidateQueries({ queryKey }),
  })

  const change = useCallback((key: string, edit: Edit, changed: Partial<Edit>) => {
    setEdits((before) => ({ ...before, [key]: { ...(before[key] ?? edit), ...changed } }))
    setErrors((before) => without(before, [key]))
  }, [])

  return {
    query,
    rows,
    errors,
    isDirty,
    changeCount: operations.length,
    save,
    change,
    add() {
      const key = nextKey()
      setEdits((before) => ({
        ...before,
        [key]: { base: null, name: '', value: '', hidden: false, isRemoved: false },
      }))
      return key
    },
    /** Undoes the changes of one row, or removes it if it is new. */
    reset: useCallback((key: string) => {
      setEdits((before) => without(before, [key]))
      setErrors((before) => without(before, [key]))
    }, []),
    discard() {
      setEdits({})
      setErrors({})
      save.reset()
    },
    paste(pasted: readonly PastedRow[]) {
      setEdits((before) => withPasted(before, rows, pasted, nextKey))
    },
    /** The person's changes on top of what somebody else saved. */
    keepMine(key: string) {
      const stored = variables.find(({ id }) => String(id) === key)
      if (stored) setEdits((before) => ({ ...before, [key]: { ...before[key]!, base: stored } }))
      setErrors((before) => without(before, [key]))
    },
    theirsOf(key: string): Variable | undefined {
      const stored = variables.find(({ id }) => String(id) === key)
      return stored && isOutdated(edits[key] ?? editOf(stored), stored) ? stored : undefined
    },
  }
}

/** Undefined when it is done. */
async function perform(api: Api, id: number, operation: Operation): Promise<RowErrors | undefined> {
  try {
    if (operation.kind === 'create') {
      await api.post('/applications/{id}/variables', { params: { path: { id } }, body: operation.body })
      return undefined
    }
    const path = { id, variable_id: operation.id }
    // The list has no versions: this one is that of what is about to be replaced.
    const { data, etag } = await api.getVersioned('/applications/{id}/variables/{variable_id}', {
      params: { path },
    })
    if (isOutdated(operation, data))
      return { row: 'Someone else changed this variable while you were editing.' }
    const params = { path, header: { 'If-Match': etag ?? undefined } }
    if (operation.kind === 'remove')
      await api.delete('/applications/{id}/variables/{variable_id}', { params })
    else await api.put('/applications/{id}/variables/{variable_id}', { params, body: operation.body })
    return undefined
  } catch (error) {
    if (!(error instanceof GantryError)) throw error
    // Removed already.
    if (error.status === 404 && operation.kind === 'remove') return undefined
    return errorsOf(error)
  }
}

function errorsOf(error: GantryError): RowErrors {
  const known: RowErrors = {}
  for (const field of ['name', 'value', 'hidden'] as const) {
    const text = error.errors[field]?.join('; ')
    if (text) known[field] = `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  }
  return Object.keys(known).length > 0 ? known : { row: error.message }
}

function without<Value>(record: Readonly<Record<string, Value>>, keys: readonly string[]) {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)))
}
