// Moves the steps of a pipeline.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys, useApi } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { notify } from '#web/base/ui/notify.ts'
import { useRefreshPipeline } from '#web/resources/pipelines/pipelines.ts'
import { moveStep, precedingId } from './step-order.ts'

type Move = { id: number; after: number | null; before: Pipeline }

/** `move` shows the new order at once. Moves are sent one after another: each one names the step that it follows. */
export function useMoveStep(pipeline: Pipeline) {
  const api = useApi()
  const queries = useQueryClient()
  const refresh = useRefreshPipeline(pipeline.id)
  const [announcement, setAnnouncement] = useState('')
  const queryKey = queryKeys.pipeline(pipeline.id)
  const mutationKey = ['move-step', pipeline.id]
  const { mutate } = useMutation({
    mutationKey,
    scope: { id: `move-step-${pipeline.id}` },
    mutationFn: ({ id, after }: Move) =>
      api.put('/pipelines/{id}/steps/{step_id}', {
        params: { path: { id: pipeline.id, step_id: id } },
        body: { trigger_after: after },
      }),
    onError(error, { before }) {
      queries.setQueryData(queryKey, before)
      notify.problem(error)
    },
    // An earlier answer must not undo what the page already shows of a later move.
    onSettled: () => (queries.isMutating({ mutationKey }) === 1 ? refresh() : undefined),
  })

  function move(id: number, to: number): void {
    const before = queries.getQueryData<Pipeline>(queryKey) ?? pipeline
    const steps = moveStep(before.steps, id, to).map((step, index) => ({ ...step, order: index + 1 }))
    const index = steps.findIndex((step) => step.id === id)
    if (index === -1 || steps.every((step, at) => step.id === before.steps[at]?.id)) return
    void queries.cancelQueries({ queryKey, exact: true })
    queries.setQueryData(queryKey, { ...before, steps })
    setAnnouncement(`${steps[index]!.name} is now step ${index + 1} of ${steps.length}.`)
    mutate({ id, after: precedingId(steps, id), before })
  }

  return { move, announcement }
}
