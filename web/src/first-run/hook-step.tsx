import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Rocket } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { Link, useLocation } from 'wouter'
import { useApi } from '../api/queries.ts'
import type { Pipeline } from '../api/types.ts'
import { useChosenPipeline } from '../hooks/pipeline-field.tsx'
import { usePipeline } from '../pipelines/pipelines.ts'
import { ErrorAlert, Loaded, Loading } from '../ui/page.tsx'
import { Dimmed } from '../ui/parts.tsx'
import { StepCard } from './step-card.tsx'
import { LATER_STEPS } from './steps.ts'

const NewIncomingHook = lazy(() => import('../hooks/incoming/new-incoming-hook.tsx'))

/** The application and its pipeline exist; what is left is the hook, and the first deploy. */
export function HookStep({ pipelineId }: { pipelineId: number }) {
  const chosen = useChosenPipeline(pipelineId)
  return (
    <Loaded query={usePipeline(pipelineId)} what="pipeline">
      {(pipeline) => (
        <>
          {LATER_STEPS.slice(0, 3).map((title, index) => (
            <StepCard
              key={title}
              number={index + 2}
              title={title}
              state="done"
              summary={index === 2 && <Link href={`/pipelines/${pipeline.id}`}>{pipeline.name}</Link>}
            >
              {null}
            </StepCard>
          ))}
          <StepCard number={5} title={LATER_STEPS[3]} state="current">
            <Suspense fallback={<Loading what="senders" />}>
              <NewIncomingHook pipeline={chosen} />
            </Suspense>
            <DeployNow pipeline={pipeline} />
          </StepCard>
        </>
      )}
    </Loaded>
  )
}

function DeployNow({ pipeline }: { pipeline: Pipeline }) {
  const api = useApi()
  const [, navigate] = useLocation()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () =>
      api.post('/pipelines/{id}/actions', { params: { path: { id: pipeline.id } }, body: {} }),
    onSuccess: ({ id }) => navigate(`/actions/${id}`),
  })
  return (
    <>
      <Group justify="space-between" mt="lg" gap="xs">
        <Dimmed>Nothing to push? Deploy the branch as it is now.</Dimmed>
        <Button
          variant="default"
          leftSection={<Rocket size={16} aria-hidden="true" />}
          loading={isPending}
          onClick={() => mutate()}
        >
          Deploy now
        </Button>
      </Group>
      {error && <ErrorAlert error={error} />}
    </>
  )
}
