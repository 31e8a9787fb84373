// From a repository to deploy-on-push. What was created is in the URL, what was only entered is in the draft: a reload
// continues where it was.
import { Button, Group } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Rocket } from 'lucide-react'
import { lazy, Suspense } from 'react'
import { Link, useLocation } from 'wouter'
import { useApi } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { ErrorAlert, Loaded, Loading, PageHeader } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { useChosenPipeline } from '#web/resources/hooks/pipeline-field.tsx'
import { usePipeline } from '#web/resources/pipelines/pipelines.ts'
import { readScope, useSearch } from '#web/shared/scope/scope.ts'
import { useEnvironment } from '#web/shared/scope/tree.ts'
import { ApplicationSteps } from './application-steps.tsx'
import { EnvironmentStep } from './environment-step.tsx'
import classes from './first-run.module.css'
import { StepCard } from './step-card.tsx'
import { LATER_STEPS } from './steps.ts'

export default function NewApplicationPage() {
  const [search, update] = useSearch()
  const environmentId = Number(search.get('environment')) || undefined
  const pipelineId = Number(search.get('pipeline')) || undefined
  const step = search.get('step')
  const isChosen = environmentId !== undefined && step !== null && step !== 'place'
  const environment = useEnvironment(environmentId)
  const environmentName =
    environment.data && [environment.data.project.name, environment.data.name].join(' / ')
  return (
    <>
      <PageHeader title="Add application" />
      <ol className={`plain-list ${classes.steps}`}>
        <StepCard
          number={1}
          title="Where it belongs"
          state={isChosen ? 'done' : 'current'}
          summary={environmentName}
          change={pipelineId === undefined ? () => update({ step: 'place' }) : undefined}
        >
          <EnvironmentStep
            selected={readScope(search)}
            onChosen={(environment) => update({ environment, step: 'repository' })}
          />
        </StepCard>
        {isChosen ? (
          <Loaded query={environment} what="environment">
            {(loaded) =>
              pipelineId === undefined ? (
                <ApplicationSteps key={loaded.id} environment={loaded} />
              ) : (
                <HookStep pipelineId={pipelineId} />
              )
            }
          </Loaded>
        ) : (
          LATER_STEPS.map((title, index) => (
            <StepCard key={title} number={index + 2} title={title} state="later">
              {null}
            </StepCard>
          ))
        )}
      </ol>
    </>
  )
}

const NewIncomingHook = lazy(() => import('#web/pages/hooks/incoming/new-incoming-hook.tsx'))

/** The application and its pipeline exist; what is left is the hook, and the first deploy. */
function HookStep({ pipelineId }: { pipelineId: number }) {
  const chosen = useChosenPipeline(pipelineId)
  return (
    <Loaded query={usePipeline(pipelineId)} what="pipeline">
      {(pipeline) => (
        <>
          {LATER_STEPS.slice(0, 4).map((title, index) => (
            <StepCard
              key={title}
              number={index + 2}
              title={title}
              state="done"
              summary={index === 3 && <Link href={`/pipelines/${pipeline.id}`}>{pipeline.name}</Link>}
            >
              {null}
            </StepCard>
          ))}
          <StepCard number={6} title={LATER_STEPS[4]} state="current">
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
