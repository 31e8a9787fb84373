import { useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { Pipeline, PipelineStep } from '../api/types.ts'
import { RemoveDialog } from '../ui/remove-dialog.tsx'
import { useRefreshPipeline } from './use-pipeline-changes.ts'

type RemoveStepDialogProps = { pipelineId: number; step: PipelineStep; close(): void }

export function RemoveStepDialog({ pipelineId, step, close }: RemoveStepDialogProps) {
  const api = useApi()
  const queries = useQueryClient()
  const refresh = useRefreshPipeline(pipelineId)
  const path = { id: pipelineId, step_id: step.id }
  return (
    <RemoveDialog
      what="step"
      name={step.name}
      remove={() => api.delete('/pipelines/{id}/steps/{step_id}', { params: { path } })}
      onRemoved={() => {
        queries.setQueryData<Pipeline>(
          queryKeys.pipeline(pipelineId),
          (before) => before && { ...before, steps: before.steps.filter(({ id }) => id !== step.id) },
        )
        refresh()
      }}
      close={close}
    >
      Runs that have already started are not affected. This cannot be undone.
    </RemoveDialog>
  )
}
