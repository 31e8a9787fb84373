import { useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../../api/queries.ts'
import { useApi } from '../../api/services.ts'
import type { Hook } from '../../api/types.ts'
import { type RecordForm, useRecordForm } from '../../ui/form/use-record-form.ts'
import { notify } from '../../ui/notify.ts'
import { changeOf, type HookValues, inputOf, readHook } from './hook-values.ts'

export type HookForm = RecordForm<HookValues>

type HookFormOptions = {
  hook: Hook
  version: string | null
  /** Calls must be signed from now on, and there was no secret yet. */
  onSecret(secret: string): void
}

/** The one form of a hook: the page shows it, and so does the drawer of a call. */
export function useHookForm({ hook, version, onSecret }: HookFormOptions): HookForm {
  const api = useApi()
  const queries = useQueryClient()
  const params = { path: { hook_id: hook.id } }
  return useRecordForm<HookValues, Hook>({
    id: `hook-${hook.id}`,
    initial: readHook(hook),
    secrets: ['secret'],
    version,
    fields: inputOf,
    save: (values, ifMatch) => {
      const header = ifMatch === undefined ? {} : { 'If-Match': ifMatch }
      return api.put('/hooks/incoming/{hook_id}', { params: { ...params, header }, body: changeOf(values) })
    },
    async reload() {
      const { data, etag } = await api.getVersioned('/hooks/incoming/{hook_id}', { params })
      return { values: readHook(data), version: etag }
    },
    onSaved(saved) {
      notify.done(`Hook ${saved.name} saved.`)
      if (saved.secret !== null && !/^\*+$/.test(saved.secret)) onSecret(saved.secret)
      void queries.invalidateQueries({ queryKey: queryKeys.hook('incoming', hook.id) })
    },
  })
}
