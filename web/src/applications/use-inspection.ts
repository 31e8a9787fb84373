import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useApi } from '../api/services.ts'
import type { RecordForm } from '../ui/form/use-record-form.ts'
import { type ApplicationValues, type Inspection, withDetected } from './application-input.ts'

/** The input that has the focus, if it is one of these values. */
function focusedField(values: ApplicationValues): keyof ApplicationValues | undefined {
  const name = document.activeElement?.getAttribute('name')
  return (Object.keys(values) as (keyof ApplicationValues)[]).find((one) => one === name)
}

type Source = Pick<ApplicationValues, 'repository' | 'credential_id'>

/** Looks at the repository and fills what it finds into the form. */
export function useInspection(form: RecordForm<ApplicationValues>, environmentId: number) {
  const api = useApi()
  const [found, setFound] = useState<Inspection>()
  // The answer arrives later: it applies to what is in the form then.
  const latest = useRef(form)
  latest.current = form
  const inspected = useRef('')
  const { mutate, isPending, error } = useMutation({
    mutationFn: ({ repository, credential_id }: Source) =>
      api.post('/repositories/inspect', {
        body: {
          repository: repository.trim(),
          credential_id: credential_id === '' ? null : Number(credential_id),
          environment_id: environmentId,
        },
      }),
    onSuccess(result, { repository }) {
      const { values, set } = latest.current
      if (values.repository !== repository) return
      const after = withDetected(values, result, found, focusedField(values))
      for (const [name, value] of Object.entries(after))
        if (value !== values[name as keyof ApplicationValues]) set(name as 'name', value as string)
      setFound(result)
    },
  })
  return {
    found,
    isPending,
    error,
    /** Without `isRepeated` only what was not inspected before. */
    inspect(source: Source, { isRepeated }: { isRepeated: boolean }): void {
      const key = `${source.credential_id} ${source.repository.trim()}`
      if (source.repository.trim() === '' || (key === inspected.current && !isRepeated)) return
      inspected.current = key
      mutate(source)
    },
  }
}
