import { Text } from '@mantine/core'
import { GantryError } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useRefetchOnActionEvents } from '../api/services.ts'
import type { Pipeline } from '../api/types.ts'
import { ErrorAlert, Loading } from '../ui/page.tsx'
import { SectionCard } from '../ui/parts.tsx'
import classes from './pipelines.module.css'
import { usePlan } from './pipelines.ts'
import { Plan } from './run-plan.tsx'

const REFETCH_MS = 5_000

/** What a run would do now. It is planned again after each change, and when runs start or end. */
export function PlanSection({ pipeline }: { pipeline: Pipeline }) {
  const { data, error } = usePlan(pipeline.id, {})
  useRefetchOnActionEvents(queryKeys.plan(pipeline.id), REFETCH_MS)
  const cannotRun = error instanceof GantryError && error.status === 409
  return (
    <SectionCard id="plan" title="Plan">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <div aria-live="polite" className={classes.plan} tabIndex={0}>
        {cannotRun ? (
          <Text size="sm">Cannot run yet. {error.message}</Text>
        ) : error ? (
          <ErrorAlert error={error} />
        ) : data ? (
          <Plan pipeline={pipeline} plan={data} />
        ) : (
          <Loading what="plan" />
        )}
      </div>
    </SectionCard>
  )
}
