import { Checkbox, Group, NumberInput, TextInput } from '@mantine/core'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { MoreOptions } from '#web/base/ui/more-options.tsx'
import { CodeEditor } from '#web/shared/editor/code-editor.tsx'
import { hasMoreOptions, type StepValues } from './step-input.ts'

export const STEP_LABELS = {
  run_as_user: 'Run as user',
  timeout_seconds: 'Timeout (seconds)',
  idempotent: 'Can run again',
  irreversible: 'Cannot be undone',
  run_on_revert: 'Runs again on revert',
}

/** docs/guides/runs.md explains them. */
const VARIABLES = [
  { label: 'GANTRY_ACTION_ID', detail: 'the run' },
  { label: 'GANTRY_TARGET_ID', detail: 'the run on this server' },
  { label: 'GANTRY_ENVIRONMENT', detail: 'name of the environment' },
  { label: 'GANTRY_SERVER', detail: 'name of the server' },
  { label: 'GANTRY_APPLICATION', detail: 'name of the application' },
  { label: 'GANTRY_COMMIT', detail: 'what is deployed' },
  { label: 'GANTRY_BRANCH', detail: 'what is deployed' },
  { label: 'GANTRY_TAG', detail: 'what is deployed' },
  { label: 'GANTRY_SOURCE_TYPE', detail: 'branch, tag or commit' },
  { label: 'GANTRY_SOURCE_REF', detail: 'its name' },
  { label: 'GANTRY_RELEASE', detail: 'name of the new release' },
  { label: 'GANTRY_RELEASE_PATH', detail: 'folder of the new release' },
  { label: 'GANTRY_CURRENT_PATH', detail: 'folder of the live release' },
  { label: 'GANTRY_SHARED_PATH', detail: 'files shared by all releases' },
  { label: 'GANTRY_VAR_', detail: 'variables of the run' },
]

export function StepFields({ form }: { form: RecordForm<StepValues> }) {
  const { description, run_as_user, timeout_seconds } = form.errors
  const isWrong = Boolean(description || run_as_user || timeout_seconds)
  return (
    <>
      <TextInput label="Name" {...form.field('name')} />
      <CodeEditor
        label="Command"
        description="A bash script. It runs on each server; type $ for the variables it gets."
        language="bash"
        minLines={6}
        completions={VARIABLES}
        {...form.field('command')}
      />
      <MoreOptions isOpen={hasMoreOptions(form.values) || isWrong}>
        <TextInput label="Description (optional)" spellCheck {...form.field('description')} />
        <Group gap="md" align="start" grow>
          <TextInput
            label="Run as user (optional)"
            placeholder="user of the connection"
            {...form.field('run_as_user')}
          />
          <TimeoutInput form={form} />
        </Group>
        <Checkbox
          label="Can run again"
          description="The step is idempotent: if its worker is lost, another worker repeats it."
          {...form.field('idempotent', 'checkbox')}
        />
        <Checkbox
          label={STEP_LABELS.irreversible}
          description="Once it has completed, a failed deploy is not reverted."
          {...form.field('irreversible', 'checkbox')}
        />
        <Checkbox
          label={STEP_LABELS.run_on_revert}
          description="After a revert, the step runs once more. It must be able to run again."
          {...form.field('run_on_revert', 'checkbox')}
        />
      </MoreOptions>
    </>
  )
}

type WithTimeout = Pick<RecordForm<Pick<StepValues, 'timeout_seconds'>>, 'field'>

export function TimeoutInput({ form }: { form: WithTimeout }) {
  return (
    <NumberInput
      label={STEP_LABELS.timeout_seconds}
      min={1}
      max={86_400}
      clampBehavior="none"
      {...form.field('timeout_seconds')}
    />
  )
}
