import { Group, NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { HEALTH_LABELS, HEALTH_TYPES, type HealthValues } from './health-check-input.ts'

type HealthForm = Pick<RecordForm<HealthValues>, 'field' | 'values'>
type HealthCheckFieldsProps = {
  form: HealthForm
  /** What it means to choose none here. */
  none: string
}

/** How a deploy checks a release once it is live. */
export function HealthCheckFields({ form, none }: HealthCheckFieldsProps) {
  const { health_type: type } = form.values
  return (
    <>
      <NativeSelect
        label={HEALTH_LABELS.health_type}
        description="Runs on each server after activation. A release that does not become healthy fails its deploy."
        data={[
          { value: '', label: none },
          ...Object.entries(HEALTH_TYPES).map(([value, label]) => ({ value, label })),
        ]}
        {...form.field('health_type')}
      />
      {type === 'http' && <HttpFields form={form} />}
      {type === 'tcp' && (
        <NumberInput
          label={HEALTH_LABELS.health_port}
          description="On the loopback of the server"
          {...NUMBER}
          max={65_535}
          {...form.field('health_port')}
        />
      )}
      {type === 'command' && (
        <Textarea
          label={HEALTH_LABELS.health_command}
          description="Bash, in the release directory; healthy when it exits with 0"
          rows={2}
          className="code-input"
          {...form.field('health_command')}
        />
      )}
      {type !== '' && <TimingFields form={form} />}
    </>
  )
}

const NUMBER = { min: 0, clampBehavior: 'none' } as const

function HttpFields({ form }: { form: HealthForm }) {
  return (
    <>
      <TextInput
        label={HEALTH_LABELS.health_url}
        description="As the server reaches it: http://127.0.0.1:3000/health. Redirects are not followed."
        {...form.field('health_url')}
      />
      <Group gap="md" align="start" grow>
        <TextInput
          label={HEALTH_LABELS.health_status}
          description="A status, or a range"
          {...form.field('health_status')}
        />
        <TextInput
          label={`${HEALTH_LABELS.health_body} (optional)`}
          description="That the body must contain"
          {...form.field('health_body')}
        />
      </Group>
    </>
  )
}

const TIMING = [
  [
    { name: 'health_within', description: 'Time to become healthy' },
    { name: 'health_for', description: 'Time to stay healthy; 0 means once' },
  ],
  [
    { name: 'health_interval', description: 'Between two tries' },
    { name: 'health_timeout', description: 'Then the try has failed' },
  ],
] as const

function TimingFields({ form }: { form: HealthForm }) {
  return TIMING.map((row) => (
    <Group key={row[0].name} gap="md" align="start" grow>
      {row.map(({ name, description }) => (
        <NumberInput
          key={name}
          label={HEALTH_LABELS[name]}
          description={description}
          suffix=" s"
          {...NUMBER}
          {...form.field(name)}
        />
      ))}
    </Group>
  ))
}
