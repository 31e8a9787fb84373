import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useRef } from 'react'
import { queryKeys, useApi, useGet, useRefetch } from '../api/queries.ts'
import { useOrganizations } from '../scope/tree.ts'
import { RecordForm } from '../ui/form/record-form.tsx'
import { useRecordForm } from '../ui/form/use-record-form.ts'
import { Loaded } from '../ui/page.tsx'
import { Dimmed } from '../ui/parts.tsx'
import { findSample } from './checklist.ts'
import { NEW, type PlaceInput, placeInput, validatePlace } from './place-input.ts'

type PlaceStepProps = { selected: number | undefined; onChosen(environmentId: number): void }

/** The environment that the application belongs to: an existing one, or a new one with all that it needs. */
export function PlaceStep(props: PlaceStepProps) {
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
            return <PlaceForm {...props} initial={placeInput(own, all, props.selected)} environments={own} />
          }}
        </Loaded>
      )}
    </Loaded>
  )
}

type PlaceFormProps = PlaceStepProps & {
  initial: PlaceInput
  environments: { id: number | string; path: string; name: string; organization: { name: string } }[]
}

function PlaceForm({ initial, environments, onChosen }: PlaceFormProps) {
  const api = useApi()
  const refetch = useRefetch()
  // What exists already when a later request fails is not created again.
  const created = useRef<{ organization?: number; project?: number }>({})
  const stage = useRef<keyof PlaceInput>('organization')

  async function create(input: PlaceInput): Promise<number> {
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

  const form = useRecordForm<PlaceInput, number>({
    id: 'setup-place',
    initial,
    validate: validatePlace,
    fields: (field) => (field === 'name' ? stage.current : undefined),
    save: async (input) => (input.existing === NEW ? create(input) : Number(input.existing)),
    onSaved(environmentId) {
      void refetch(queryKeys.organizations, queryKeys.permissions, queryKeys.setup())
      onChosen(environmentId)
    },
  })
  const isNew = form.values.existing === NEW
  return (
    <RecordForm form={form} submit="Continue">
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
