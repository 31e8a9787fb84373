import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { GantryError } from '#client/index.ts'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import { hasOwnRequests, type OutgoingValues, settingsOf } from './hook-values.ts'

const TYPING_MS = 400
const WAITING_MS = 5_000

type WithError = { state: { error: Error | null } }

/** What the hook would send with the values of the form, saved or not. Waits until typing pauses. */
export function usePreview(hookId: string, values: OutgoingValues, actionId: number | undefined) {
  const api = useApi()
  const [debounced] = useDebouncedValue(values, TYPING_MS)
  const body = {
    ...(!hasOwnRequests(debounced) && { target_url: debounced.target_url.trim() }),
    // Undefined while the template is no JSON: the form says so.
    settings: settingsOf(debounced) as object | undefined,
    ...(actionId !== undefined && { action_id: actionId }),
  }
  return useQuery({
    queryKey: queryKeys.preview(hookId, JSON.stringify(body)),
    enabled: body.settings !== undefined,
    placeholderData: keepPreviousData,
    gcTime: 0,
    // There is nothing to show before the first run.
    refetchInterval: ({ state }: WithError) => (isConflict(state.error) ? WAITING_MS : false),
    retry: (_: number, error: Error) => !(error instanceof GantryError),
    queryFn: ({ signal }) =>
      api.post('/hooks/outgoing/{hook_id}/preview', { params: { path: { hook_id: hookId } }, body, signal }),
  })
}

/** No run matches the hook yet. */
export const isConflict = (error: Error | null) => error instanceof GantryError && error.status === 409
