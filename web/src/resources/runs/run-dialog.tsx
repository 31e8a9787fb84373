import { Checkbox, Group, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Pipeline } from '#web/base/api/types.ts'
import { Dialog } from '#web/base/ui/dialog.tsx'
import { splitErrors } from '#web/base/ui/field-errors.ts'
import { usePlan, useShipping } from '#web/resources/pipelines/pipelines.ts'
import classes from './run.module.css'
import { EMPTY_INPUT, inputOf, inputProblems, type RunInput, toBody } from './run-input.ts'
import { RunForm } from './run-plan.tsx'
import { useAnnounceRun } from './use-announce-run.ts'

const PLAN_DELAY_MS = 250

type RunDialogProps = {
  pipeline: Pipeline
  /** Deploys an application, in words that name it; else it runs the pipeline. */
  application?: string | undefined
  /** Also before the page of the run opens. */
  close(): void
}

export function RunDialog({ pipeline, application, close }: RunDialogProps) {
  const isDeploy = pipeline.operation === 'deploy'
  const form = useRef<HTMLFormElement>(null)
  const [input, setInput] = useState(EMPTY_INPUT)
  const [isChecked, setChecked] = useState(false)
  const set = (values: Partial<RunInput>) => setInput((before) => ({ ...before, ...values }))

  const usual = usePlan(pipeline.id, {}).data
  const servers = usual?.targets ?? []
  const ids = servers.map((target) => target.resource_id)
  const problems = inputProblems(input, isDeploy, ids)
  const isValid = Object.values(problems).every((problem) => problem === undefined)
  const body = toBody(input, isDeploy, ids)
  const [planned] = useDebouncedValue(body, PLAN_DELAY_MS)
  const plan = usePlan(pipeline.id, planned, planned.servers?.length !== 0)
  const shipping = useShipping(pipeline.id, planned, isDeploy && isValid && planned.servers?.length !== 0)
  const run = useRun(pipeline, close)

  const { errors, rest } = splitErrors(run.error ?? plan.error, inputOf)
  const errorOf = (name: keyof RunInput) =>
    errors[name] ?? (isChecked ? problems[name as keyof typeof problems] : undefined)

  function submit(): void {
    setChecked(true)
    if (isValid) run.mutate(body)
    // Once the errors are rendered.
    else
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }

  return (
    <Dialog
      close={close}
      title={<span className="wrap">{application ? `Deploy ${application}` : `Run ${pipeline.name}`}</span>}
      size="52rem"
    >
      <RunForm
        ref={form}
        pipeline={pipeline}
        plan={plan}
        shipping={shipping}
        run={run}
        error={rest}
        button={application ? 'Deploy' : 'Run'}
        submit={submit}
        close={close}
      >
        {isDeploy && (
          <SourceFields
            input={input}
            set={set}
            errorOf={errorOf}
            defaultBranch={usual?.source?.source_ref ?? undefined}
          />
        )}
        {servers.length > 1 && (
          <Checkbox.Group
            label="Servers"
            error={errorOf('excluded')}
            value={ids.filter((id) => !input.excluded.includes(id)).map(String)}
            onChange={(selected) => set({ excluded: ids.filter((id) => !selected.includes(String(id))) })}
          >
            <Group gap="md" mt={4}>
              {servers.map(({ resource_id, resource_data }) => (
                <Checkbox key={resource_id} value={String(resource_id)} label={resource_data.name} />
              ))}
            </Group>
          </Checkbox.Group>
        )}
        <TextInput
          label="Comment (optional)"
          spellCheck
          placeholder="Why it runs"
          maxLength={255}
          data-autofocus={!isDeploy || undefined}
          value={input.comment}
          onChange={(event) => set({ comment: event.currentTarget.value })}
          error={errorOf('comment')}
        />
        <Textarea
          label="Variables (optional)"
          description="One name=value per line. Steps see each as GANTRY_VAR_NAME."
          placeholder="greeting=hello"
          rows={3}
          resize="vertical"
          className={classes.variables}
          value={input.variables}
          onChange={(event) => set({ variables: event.currentTarget.value })}
          error={errorOf('variables')}
        />
      </RunForm>
    </Dialog>
  )
}

/** Starts a run, says what became of it, and opens its page. */
export function useRun(pipeline: Pick<Pipeline, 'id' | 'name'>, close: () => void) {
  const api = useApi()
  const refetch = useRefetch()
  const [, navigate] = useLocation()
  const announce = useAnnounceRun()
  return useMutation({
    mutationFn: (body: ReturnType<typeof toBody>) =>
      api.post('/pipelines/{id}/actions', { params: { path: { id: pipeline.id } }, body }),
    onSuccess(action) {
      void refetch(queryKeys.recentRuns(pipeline.id), queryKeys.actions())
      close()
      announce(action, pipeline.name)
      navigate(`/actions/${action.id}`)
    },
  })
}

type SourceFieldsProps = {
  input: RunInput
  set(values: Partial<RunInput>): void
  errorOf(name: keyof RunInput): string | undefined
  defaultBranch: string | undefined
}

function SourceFields({ input, set, errorOf, defaultBranch }: SourceFieldsProps) {
  return (
    <>
      <NativeSelect
        label="Source"
        value={input.type === 'redeploy' ? 'redeploy' : input.sourceType}
        onChange={({ currentTarget: { value } }) =>
          set(
            value === 'redeploy'
              ? { type: 'redeploy' }
              : { type: 'deploy', sourceType: value as RunInput['sourceType'] },
          )
        }
        data={[
          { value: 'branch', label: 'Branch' },
          { value: 'tag', label: 'Tag' },
          { value: 'commit', label: 'Commit' },
          { value: 'redeploy', label: 'Redeploy live commit' },
        ]}
        error={errorOf('type') ?? errorOf('sourceType')}
      />
      {input.type === 'deploy' && (
        <TextInput
          label={SOURCE_LABELS[input.sourceType]}
          placeholder={input.sourceType === 'branch' ? defaultBranch : undefined}
          data-autofocus
          value={input.sourceRef}
          onChange={(event) => set({ sourceRef: event.currentTarget.value })}
          error={errorOf('sourceRef')}
        />
      )}
    </>
  )
}

const SOURCE_LABELS = { branch: 'Branch (optional)', tag: 'Tag', commit: 'Commit' }
