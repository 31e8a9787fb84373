import { queryKeys, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { type RecordForm, useRecordForm } from '#web/base/form/use-record-form.ts'
import { useStored } from '#web/base/form/versioned.ts'
import { notify } from '#web/base/ui/notify.ts'
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
  const refetch = useRefetch()
  return useRecordForm<HookValues, Hook>({
    id: `hook-${hook.id}`,
    initial: readHook(hook),
    secrets: ['secret'],
    version,
    fields: inputOf,
    ...useStored('/hooks/incoming/{hook_id}', { path: { hook_id: hook.id } }, readHook, changeOf),
    onSaved(saved) {
      notify.done(`Hook ${saved.name} saved.`)
      if (saved.secret !== null && !/^\*+$/.test(saved.secret)) onSecret(saved.secret)
      void refetch(queryKeys.hook('incoming', hook.id))
    },
  })
}
