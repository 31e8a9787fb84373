import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useRef } from 'react'
import { queryKeys, useApi, useGet, useRefetch } from '#web/base/api/queries.ts'
import type { NameEntry } from '#web/base/api/types.ts'
import { RecordForm } from '#web/base/form/record-form.tsx'
import { useRecordForm } from '#web/base/form/use-record-form.ts'
import { useAnyPermission } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import type { Scope } from '#web/shared/scope/scope.ts'
import { useOrganizations } from '#web/shared/scope/tree.ts'
import { findSample } from './checklist.ts'
import { type EnvironmentInput, environmentInput, NEW, validateEnvironment } from './environment-input.ts'

type EnvironmentStepProps = { selected: Scope; onChosen(environmentId: number): void }

/** The environment that the application belongs to: an existing one, or a new one with all that it needs. */
export function EnvironmentStep(props: EnvironmentStepProps) {
  const organizations = useOrganizations()
  const environments = useGet(queryKeys.setup('environments'), '/names', {
    params: { query: { type: 'environment', per_page: 100 } },
  })
  return (
    <Loaded query={organizations} what="organizations">
      {(all) => (
        <Loaded query={environments} what="environments">
          {(names) => {
            const sample = findSample(all)
            const own = names.filter(
              ({ organization, archived }) => organization.id !== sample?.id && !archived,
            )
            return (
              <EnvironmentForm
                {...props}
                initial={environmentInput(own, all, props.selected)}
                environments={own}
              />
            )
          }}
        </Loaded>
      )}
    </Loaded>
  )
}

type EnvironmentFormProps = EnvironmentStepProps & {
  initial: EnvironmentInput
  environments: Pick<NameEntry, 'id' | 'path' | 'name' | 'organization'>[]
}

function EnvironmentForm({ initial, environments, onChosen }: EnvironmentFormProps) {
  const api = useApi()
  const refetch = useRefetch()
  // What exists already when a later request fails is not created again.
  const created = useRef<{ organization?: number; project?: number }>({})
  const stage = useRef<keyof EnvironmentInput>('organization')

  async function create(input: EnvironmentInput): Promise<number> {
    stage.current = 'organization'
    created.current.organization ??=
      initial.organizationId ?? (await api.post('/organizations', { body: { name: input.organization } })).id
    const organization = { path: { id: created.current.organization } }
    stage.current = 'project'
    created.current.project ??= (
      await api.post('/organizations/{id}/projects', { params: organization, body: { name: input.project } })
    ).id
    stage.current = 'environment'
    const project = { path: { id: created.current.project } }
    const body = { name: input.environment, type: 'production' as const }
    return (await api.post('/projects/{id}/environments', { params: project, body })).id
  }

  const form = useRecordForm<EnvironmentInput, number>({
    id: 'setup-environment',
    initial,
    validate: validateEnvironment,
    fields: (field) => (field === 'name' ? stage.current : undefined),
    save: async (input) => (input.existing === NEW ? create(input) : Number(input.existing)),
    onSaved(environmentId) {
      void refetch(queryKeys.organizations, queryKeys.permissions, queryKeys.setup())
      onChosen(environmentId)
    },
  })
  const isNew = form.values.existing === NEW
  const { isInstanceAdmin } = useSession()
  const { organizationId } = initial
  const project = useAnyPermission(
    'project:add',
    organizationId === undefined ? {} : { organization: organizationId },
  )
  const missing =
    organizationId === undefined
      ? isInstanceAdmin
        ? undefined
        : 'Only instance administrators create organizations. Ask one to invite you to theirs.'
      : project.allowed
        ? undefined
        : project.reason
  return (
    <RecordForm form={form} submit="Continue" reason={isNew ? missing : undefined}>
      {environments.length > 0 && (
        <NativeSelect
          label="Environment"
          data={[
            ...environments.map(({ id, path, organization }) => ({
              value: String(id),
              label: `${organization.name} / ${path.replaceAll('/', ' / ')}`,
            })),
            { value: NEW, label: 'A new project…' },
          ]}
          {...form.field('existing')}
        />
      )}
      {isNew && (
        <Stack gap="md">
          <Dimmed>
            An organization holds people and credentials, a project its environments, an environment what is
            deployed together. All three can be renamed later.
          </Dimmed>
          {initial.organizationId === undefined && (
            <TextInput label="Organization" maxLength={255} {...form.field('organization')} />
          )}
          <TextInput label="Project" maxLength={255} {...form.field('project')} />
          <TextInput label="Environment name" maxLength={255} {...form.field('environment')} />
        </Stack>
      )}
    </RecordForm>
  )
}
