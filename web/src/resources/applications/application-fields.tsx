// The inputs of an application besides its repository.
import { Checkbox, NativeSelect, NumberInput, Stack, Textarea, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { MoreOptions } from '#web/base/ui/more-options.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { HealthCheckFields } from '#web/resources/pipelines/health-check-fields.tsx'
import { HEALTH_LABELS } from '#web/resources/pipelines/health-check-input.ts'
import { type ApplicationValues, SUBMODULES } from './application-input.ts'

type FieldsProps = { form: RecordForm<ApplicationValues> }

export function CommandFields({ form }: FieldsProps) {
  return (
    <>
      <Textarea
        label="Install command (optional)"
        description="Runs in every new release, on the server"
        rows={2}
        className="code-input"
        {...form.field('install_dependencies_command')}
      />
      <Textarea
        label="Build command (optional)"
        description="Runs after the install command"
        rows={2}
        className="code-input"
        {...form.field('build_command')}
      />
    </>
  )
}

export function HealthFields({ form, children }: FieldsProps & { children?: ReactNode }) {
  const isSet = form.values.health_type !== ''
  return (
    <MoreOptions
      label="Health check"
      isOpen={isSet || Object.keys(HEALTH_LABELS).some((name) => form.errors[name])}
    >
      <HealthCheckFields form={form} none="No check" />
      {children}
    </MoreOptions>
  )
}

const ADVANCED = [
  'root_directory',
  'shared_paths',
  'deployments_keep',
  'submodules',
  'programming_language',
  'framework',
  'engine_version',
]

export function AdvancedFields({ form }: FieldsProps) {
  return (
    <MoreOptions isOpen={ADVANCED.some((name) => form.errors[name])}>
      <TextInput
        label="Folder (optional)"
        description="Deploys only this folder of the repository: apps/shop"
        {...form.field('root_directory')}
      />
      <Textarea
        label="Shared paths (optional)"
        description="Kept across releases, one per line: storage/ is a folder, .env a file"
        rows={3}
        className="code-input"
        {...form.field('shared_paths')}
      />
      <NumberInput
        label="Releases to keep"
        description="On each server, so that you can roll back to them"
        min={1}
        max={100}
        {...form.field('deployments_keep')}
      />
      <NativeSelect
        label="Submodules"
        description="Repositories inside the repository, fetched over https or ssh"
        data={Object.entries(SUBMODULES).map(([value, label]) => ({ value, label }))}
        {...form.field('submodules')}
      />
      <TextInput label="Language (optional)" {...form.field('programming_language')} />
      <TextInput label="Framework (optional)" {...form.field('framework')} />
      <TextInput label="Engine version (optional)" {...form.field('engine_version')} />
    </MoreOptions>
  )
}

type ServersFieldProps = FieldsProps & { servers: { id: number; name: string }[] | undefined }

export function ServersField({ form, servers }: ServersFieldProps) {
  const { errors, values } = form
  return (
    <Checkbox.Group
      label="Servers"
      description="Where it is deployed"
      value={values.linked_resources}
      onChange={(ids) => form.set('linked_resources', ids)}
      error={errors.linked_resources}
    >
      <Stack gap="xs" mt="xs">
        {servers?.map(({ id, name }) => (
          <Checkbox key={id} value={String(id)} label={<span className="wrap">{name}</span>} />
        ))}
        {servers?.length === 0 && (
          <Dimmed>This environment has no servers yet. You can link them later.</Dimmed>
        )}
      </Stack>
    </Checkbox.Group>
  )
}
