import { Button, Code, Group, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Environment } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { type RecordForm as FormState, useRecordForm } from '#web/base/form/use-record-form.ts'
import { environmentScope, usePermission } from '#web/base/session/permissions.ts'
import { notify } from '#web/base/ui/notify.ts'
import { plural } from '#web/base/ui/status.ts'
import {
  type ApplicationValues,
  applicationBody,
  NEW_APPLICATION,
  nameOf,
} from '#web/resources/applications/application-input.ts'
import { RepositoryFields } from '#web/resources/applications/repository-fields.tsx'
import { TryHealth } from '#web/resources/applications/try-health.tsx'
import { HealthCheckFields } from '#web/resources/pipelines/health-check-fields.tsx'
import { healthField, healthSummary } from '#web/resources/pipelines/health-check-input.ts'
import { useSearch } from '#web/shared/scope/scope.ts'
import classes from './first-run.module.css'
import { ServersStep } from './servers-step.tsx'
import { StepCard } from './step-card.tsx'
import { LATER_STEPS, previewSteps, readStep, type StepName, stateOf, stepWithError } from './steps.ts'

/** Repository, servers and commands: one form in three steps, which creates the application and its pipeline. */
export function ApplicationSteps({ environment }: { environment: Environment }) {
  const api = useApi()
  const refetch = useRefetch()
  const [search, update] = useSearch()
  const step = readStep(search.get('step'))
  const go = (next: StepName) => update({ step: next })
  const { id, project } = environment
  // The pipeline may fail after the application was created; it is not created twice, not even after a reload.
  const created = useRef(Number(search.get('application')) || undefined)

  const form = useRecordForm<ApplicationValues, number>({
    id: `setup-application-${id}`,
    initial: NEW_APPLICATION,
    fields: healthField,
    async save(values) {
      const body = applicationBody(values)
      created.current ??= (
        await api.post('/environments/{id}/applications', { params: { path: { id } }, body })
      ).id
      update({ application: created.current }, true)
      const params = { path: { resource_id: created.current } }
      const pipeline = { name: `Deploy ${body.name}`.slice(0, 255), operation: 'deploy' as const }
      return (await api.post('/pipelines/application/{resource_id}', { params, body: pipeline })).id
    },
    onSaved(pipeline, { name }) {
      void refetch(queryKeys.setup())
      notify.done(`Application ${name.trim()} added.`)
      // Back does not lead to a form that would create it again.
      update({ application: undefined, pipeline, step: 'hook' }, true)
    },
  })
  const rejected = stepWithError(form.errors)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when an error appears
  useEffect(() => {
    if (rejected && rejected !== step) go(rejected)
  }, [rejected])

  const scope = environmentScope(environment)
  const application = usePermission('application:add', scope)
  const pipeline = usePermission('pipeline:add', scope)
  const missing = [application, pipeline].find(({ allowed }) => !allowed)?.reason

  const { name, repository, default_branch, linked_resources } = form.values
  /** People may be faster than the inspection, which would name it. */
  function leaveRepository(): void {
    if (name.trim() === '') form.set('name', nameOf(repository))
    go('servers')
  }
  return (
    <>
      <StepCard
        number={2}
        title={LATER_STEPS[0]}
        state={stateOf('repository', step)}
        summary={`${repository} · ${default_branch || 'main'}`}
        change={() => go('repository')}
      >
        <StepForm isReady={repository.trim() !== ''} reason={missing} next={leaveRepository}>
          <RepositoryFields
            form={form}
            organizationId={project.organization.id}
            projectId={project.id}
            environmentId={id}
          />
        </StepForm>
      </StepCard>
      <StepCard
        number={3}
        title={LATER_STEPS[1]}
        state={stateOf('servers', step)}
        summary={plural(linked_resources.length, 'server')}
        change={() => go('servers')}
      >
        <ServersStep
          environment={environment}
          selected={linked_resources}
          select={(ids) => form.set('linked_resources', ids)}
          next={() => go('health')}
        />
      </StepCard>
      <StepCard
        number={4}
        title={LATER_STEPS[2]}
        state={stateOf('health', step)}
        summary={healthSummary(form.values)}
        change={() => go('health')}
      >
        <StepForm isReady reason={missing} next={() => go('build')}>
          <HealthCheckFields form={form} none="No check" />
          <TryHealth values={form.values} scope={scope} serverIds={linked_resources} />
        </StepForm>
      </StepCard>
      <StepCard number={5} title={LATER_STEPS[3]} state={stateOf('build', step)}>
        <BuildStep form={form} reason={missing} />
      </StepCard>
      <StepCard number={6} title={LATER_STEPS[4]} state="later">
        {null}
      </StepCard>
    </>
  )
}

type StepFormProps = { isReady: boolean; reason: string | undefined; next(): void; children: ReactNode }

/** Continues with Enter, too. */
function StepForm({ isReady, reason, next, children }: StepFormProps) {
  const id = useId()
  const canContinue = isReady && reason === undefined
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (canContinue) next()
      }}
    >
      <Stack gap="md">
        {children}
        <Group justify="flex-end">
          {reason && (
            <span className="dimmed" id={id}>
              {reason}
            </span>
          )}
          <Button type="submit" disabled={!canContinue} aria-describedby={reason && id}>
            Continue
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

type BuildStepProps = { form: FormState<ApplicationValues>; reason: string | undefined }

/** The commands that were detected, and what a deploy will do with them. */
function BuildStep({ form, reason }: BuildStepProps) {
  return (
    <RecordForm form={form} submit="Create application and pipeline" reason={reason}>
      <TextInput label="Name" {...form.field('name')} />
      <TextInput
        label="Install command (optional)"
        description="Runs on each server, in the folder of the new release."
        {...form.field('install_dependencies_command')}
      />
      <TextInput label="Build command (optional)" {...form.field('build_command')} />
      <Textarea
        label="Shared files and folders (optional)"
        description="One per line, such as .env or storage/. They are kept across releases."
        autosize
        minRows={2}
        {...form.field('shared_paths')}
      />
      <section aria-labelledby="preview">
        <Text fw={600} size="sm" id="preview">
          Each deploy
        </Text>
        <ol className={classes.preview}>
          {previewSteps(form.values).map(({ name, text, command }) => (
            <li key={name} className="wrap">
              {text} {command && <Code>{command}</Code>} <span className="dimmed">{name}</span>
            </li>
          ))}
        </ol>
      </section>
    </RecordForm>
  )
}
