import { Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Action } from '../api/types.ts'
import { useBlockers } from '../pipelines/blockers.ts'
import { stateSummary } from './steps.ts'

/** Why the run is in its status; while it waits, with links to the runs that it waits for. */
export function StateText({ action }: { action: Action }) {
  const blockers = useBlockers({
    environmentId: action.environment.id,
    pipelineId: action.pipeline_id,
    serverIds: action.targets.map((target) => target.resource_id),
    reason: action.status === 'waiting' ? action.status_reason_code : null,
  })
  return (
    <Text mb="md" className="wrap">
      {stateSummary(action)}
      {blockers.length > 0 && (
        <>
          {' '}
          Running now:{' '}
          {blockers.map((id, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <Link href={`/actions/${id}`}>#{id}</Link>
            </span>
          ))}
          .
        </>
      )}
    </Text>
  )
}
