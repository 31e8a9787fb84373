// From a repository to deploy-on-push. What was created is in the URL, what was only entered is in the draft: a reload
// continues where it was.
import { useSearch } from '../scope/scope.ts'
import { useEnvironment } from '../scope/tree.ts'
import { Loaded, PageHeader } from '../ui/page.tsx'
import { ApplicationSteps } from './application-steps.tsx'
import classes from './first-run.module.css'
import { HookStep } from './hook-step.tsx'
import { PlaceStep } from './place-step.tsx'
import { StepCard } from './step-card.tsx'
import { LATER_STEPS } from './steps.ts'

export default function NewApplicationPage() {
  const [search, update] = useSearch()
  const environmentId = Number(search.get('environment')) || undefined
  const pipelineId = Number(search.get('pipeline')) || undefined
  const step = search.get('step')
  const isPlaced = environmentId !== undefined && step !== null && step !== 'place'
  const environment = useEnvironment(environmentId)
  const place = environment.data && [environment.data.project.name, environment.data.name].join(' / ')
  return (
    <>
      <PageHeader title="Add application" />
      <ol className={`plain-list ${classes.steps}`}>
        <StepCard
          number={1}
          title="Where it belongs"
          state={isPlaced ? 'done' : 'current'}
          summary={place}
          change={pipelineId === undefined ? () => update({ step: 'place' }) : undefined}
        >
          <PlaceStep
            selected={environmentId}
            onChosen={(environment) => update({ environment, step: 'repository' })}
          />
        </StepCard>
        {isPlaced ? (
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
