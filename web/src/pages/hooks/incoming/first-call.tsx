import { Alert, Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, TriangleAlert } from 'lucide-react'
import { Link } from 'wouter'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { HookRequestRecord } from '#web/base/api/types.ts'
import { outcomeLabel } from '#web/base/ui/status.ts'
import { firstCallState } from './first-call-state.ts'
import classes from './new-incoming-hook.module.css'

const REFETCH_INTERVAL_MS = 1_500
/** A sender may try a few times before it gets the secret right. */
const LATEST = 10

/** Waits for the first call, and says what became of it. */
export function FirstCall({ hookId }: { hookId: string }) {
  const api = useApi()
  const { data = [] } = useQuery<HookRequestRecord[]>({
    queryKey: [...queryKeys.hookRequests(hookId), 'first'],
    refetchInterval: (query) =>
      firstCallState(query.state.data ?? []).kind === 'received' ? false : REFETCH_INTERVAL_MS,
    queryFn: ({ signal }) => {
      const params = { path: { hook_id: hookId }, query: { per_page: LATEST } }
      return api.get('/hooks/incoming/{hook_id}/requests', { params, signal })
    },
  })
  const state = firstCallState(data)
  return (
    <div role="status">
      {state.kind === 'waiting' && (
        <Alert color="gray">
          <span className={classes.waiting}>
            <Loader size="xs" aria-hidden="true" /> Waiting for the first call…
          </span>
        </Alert>
      )}
      {state.kind === 'rejected' && (
        <Alert
          color="orange"
          icon={<TriangleAlert size={18} aria-hidden="true" />}
          title="A call arrived and was rejected"
        >
          <CallLink hookId={hookId} call={state.call} />. Still waiting for one that is accepted…
        </Alert>
      )}
      {state.kind === 'received' && (
        <Alert color="teal" icon={<CircleCheck size={18} aria-hidden="true" />} title="First call received">
          <CallLink hookId={hookId} call={state.call} />
          {state.call.action_id !== null && (
            <>
              {' · '}
              <Link href={`/actions/${state.call.action_id}`}>Run #{state.call.action_id}</Link>
            </>
          )}
        </Alert>
      )}
    </div>
  )
}

function CallLink({ hookId, call }: { hookId: string; call: HookRequestRecord }) {
  return <Link href={`/hooks/incoming/${hookId}?call=${call.id}`}>{outcomeLabel(call)}</Link>
}
