// Where an application comes from: repository, credential, branch. Gantry looks at the repository and fills in the rest.
import { Alert, Autocomplete, Group, Loader, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { ScanSearch } from 'lucide-react'
import { useRef, useState } from 'react'
import { useApi } from '#web/base/api/queries.ts'
import type { RecordForm } from '#web/base/form/use-record-form.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { plural } from '#web/base/ui/status.ts'
import { CredentialField } from '#web/resources/credentials/credential-field.tsx'
import { credentialFor, providerOf, SOURCE_PROVIDERS } from '#web/resources/credentials/credential-input.ts'
import { useCredentials } from '#web/resources/credentials/credentials.ts'
import { type ApplicationValues, type Inspection, withDetected } from './application-input.ts'

const AFTER_PRESS_MS = 200

type RepositoryFieldsProps = {
  form: RecordForm<ApplicationValues>
  organizationId: number
  projectId: number
  environmentId: number
}

export function RepositoryFields({ form, organizationId, projectId, environmentId }: RepositoryFieldsProps) {
  const scope = { organization: organizationId, project: projectId, environment: environmentId }
  const { allowed, reason } = usePermission('application:add', scope)
  const { inspect, isPending, error, found } = useInspection(form, environmentId)
  const { repository, credential_id } = form.values
  const { data: credentials = [] } = useCredentials(organizationId)
  const before = useRef(repository)
  return (
    <Stack gap="md">
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          flex={1}
          label="Repository"
          placeholder="https://github.com/acme/shop.git"
          type="text"
          inputMode="url"
          data-autofocus
          {...form.field('repository')}
          onFocus={() => {
            before.current = repository
          }}
          onBlur={() => {
            const isNew = credential_id === '' && before.current !== repository
            const found = isNew ? credentialFor(repository, credentials) : undefined
            if (found) form.set('credential_id', String(found.id))
            const source = { repository, credential_id: found ? String(found.id) : credential_id }
            // What it shows would move the button that is being pressed.
            if (allowed) setTimeout(inspect, AFTER_PRESS_MS, source, { isRepeated: false })
          }}
        />
        <ReasonedButton
          variant="default"
          reason={allowed ? (repository.trim() === '' ? 'Enter the repository first.' : undefined) : reason}
          loading={isPending}
          icon={ScanSearch}
          onClick={() => inspect({ repository, credential_id }, { isRepeated: true })}
        >
          Inspect
        </ReasonedButton>
      </Group>
      <CredentialField
        organizationId={organizationId}
        providers={SOURCE_PROVIDERS}
        suggested={providerOf(repository)}
        none="None: the repository is public"
        value={credential_id}
        error={form.errors.credential_id ?? undefined}
        onChange={(id) => {
          form.set('credential_id', id)
          if (allowed) inspect({ repository, credential_id: id }, { isRepeated: false })
        }}
      />
      <div role="status">
        {isPending && (
          <Group gap="xs">
            <Loader size="xs" aria-hidden="true" />
            <Text size="sm">Reading the repository…</Text>
          </Group>
        )}
        {!isPending && found && <InspectionResult found={found} />}
      </div>
      {error && <ErrorAlert error={error} />}
      <Autocomplete
        label="Branch"
        description="Deployed unless a run names another branch, tag or commit"
        placeholder="main"
        data={[...new Set(found?.branches ?? [])]}
        limit={50}
        maxDropdownHeight={240}
        comboboxProps={{ withinPortal: true, transitionProps: { duration: 0 } }}
        autoComplete="off"
        spellCheck={false}
        {...form.field('default_branch')}
      />
    </Stack>
  )
}

function InspectionResult({ found }: { found: Inspection }) {
  if (!found.reachable)
    return (
      <Alert color="orange" title="Gantry cannot read this repository">
        {found.message}
      </Alert>
    )
  const what = [found.framework, found.language, found.package_manager].filter(Boolean)
  return (
    <Alert color="teal" title="Repository found">
      {plural(found.branches.length, 'branch').replace('branchs', 'branches')}
      {found.more_branches && ' or more'}
      {what.length > 0 && <>. Detected: {[...new Set(what)].join(', ')}</>}
      {found.problem !== null && <>. {found.message}</>}
    </Alert>
  )
}

/** The input that has the focus, if it is one of these values. */
function focusedField(values: ApplicationValues): keyof ApplicationValues | undefined {
  const name = document.activeElement?.getAttribute('name')
  return (Object.keys(values) as (keyof ApplicationValues)[]).find((one) => one === name)
}

type Source = Pick<ApplicationValues, 'repository' | 'credential_id'>

/** Looks at the repository and fills what it finds into the form. */
function useInspection(form: RecordForm<ApplicationValues>, environmentId: number) {
  const api = useApi()
  const [last, setLast] = useState<{ found: Inspection; repository: string }>()
  // The answer arrives later: it applies to what is in the form then.
  const latest = useRef(form)
  latest.current = form
  const inspected = useRef('')
  const { mutate, isPending, error, variables } = useMutation({
    mutationFn: ({ repository, credential_id }: Source) =>
      api.post('/repositories/inspect', {
        body: {
          repository: repository.trim(),
          credential_id: credential_id === '' ? null : Number(credential_id),
          environment_id: environmentId,
        },
      }),
    onSuccess(result, { repository }) {
      const { values, set } = latest.current
      if (values.repository !== repository) return
      const after = withDetected(values, result, last?.found, focusedField(values), last?.repository)
      for (const [name, value] of Object.entries(after))
        if (value !== values[name as keyof ApplicationValues]) set(name as 'name', value as string)
      setLast({ found: result, repository })
    },
  })
  // What was found at another repository says nothing about this one.
  const isCurrent = (repository: string | undefined) => repository?.trim() === form.values.repository.trim()
  return {
    found: isCurrent(last?.repository) ? last?.found : undefined,
    isPending,
    error: isCurrent(variables?.repository) ? error : null,
    /** Without `isRepeated` only what was not inspected before. */
    inspect(source: Source, { isRepeated }: { isRepeated: boolean }): void {
      const key = `${source.credential_id} ${source.repository.trim()}`
      if (source.repository.trim() === '' || (key === inspected.current && !isRepeated)) return
      inspected.current = key
      mutate(source)
    },
  }
}
