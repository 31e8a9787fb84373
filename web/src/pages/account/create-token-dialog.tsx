import { Checkbox, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import type { Data } from '#client/index.ts'
import { combineQueries, queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import { FormDialog } from '#web/base/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '#web/base/form/use-record-form.ts'
import { CopyField, SecretOnce } from '#web/base/ui/copy-field.tsx'
import { DoneDialog } from '#web/base/ui/dialog.tsx'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import { useReturnFocus } from '#web/base/ui/use-return-focus.ts'
import { projectsQuery, useOrganizations } from '#web/shared/scope/tree.ts'
import classes from './account.module.css'
import {
  describeToken,
  EXPIRIES,
  NEW_TOKEN,
  REACHES,
  SCOPES,
  type TokenInput,
  toTokenBody,
  validateToken,
} from './token-input.ts'

const INPUTS: Record<string, keyof TokenInput> = {
  expires_at: 'expiry',
  organization_ids: 'organizations',
  project_ids: 'projects',
}

export function CreateTokenDialog({ close }: { close(): void }) {
  // It is two dialogs, one after the other.
  useReturnFocus()
  const api = useApi()
  const refetch = useRefetch()
  const [created, setCreated] = useState<Data<'post', '/users/personal-access-tokens'>>()
  const form = useRecordForm({
    id: 'token-new',
    initial: NEW_TOKEN,
    validate: validateToken,
    fields: (field) => INPUTS[field],
    save: (input) => api.post('/users/personal-access-tokens', { body: toTokenBody(input, Date.now()) }),
    onSaved(token) {
      setCreated(token)
      void refetch(queryKeys.personalTokens)
    },
  })
  if (created) return <CreatedTokenDialog token={created} close={close} />
  return (
    <FormDialog title="New personal access token" form={form} submit="Create token" close={close}>
      <TextInput
        label="Name"
        description="What it is for: “CI of the web shop”"
        maxLength={60}
        data-autofocus
        {...form.field('name')}
      />
      <NativeSelect label="Expires after" data={EXPIRIES} {...form.field('expiry')} />
      <ScopeFields form={form} />
      <ReachFields form={form} />
      <Text size="sm" role="status">
        {describeToken(form.values)}
      </Text>
    </FormDialog>
  )
}

function ScopeFields({ form }: { form: RecordForm<TokenInput> }) {
  return (
    <>
      <NativeSelect
        label="Permissions"
        data={[
          { value: 'scopes', label: 'Selected scopes' },
          { value: 'full', label: 'Full access: same as my account' },
        ]}
        {...form.field('access')}
      />
      {form.values.access === 'scopes' && (
        <Checkbox.Group
          label="Scopes"
          description="Scopes are independent: a script that runs pipelines and reads their logs needs Read and Run."
          {...form.field('scopes')}
        >
          <Stack gap="xs" mt="xs">
            {SCOPES.map(({ value, label, description }) => (
              <Checkbox key={value} value={value} label={label} description={description} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </>
  )
}

type CreatedTokenProps = { token: { name: string; token: string }; close(): void }

/** The token, once, and the commands that take it. They do not contain it: shells remember what is typed. */
function CreatedTokenDialog({ token: { name, token }, close }: CreatedTokenProps) {
  const { origin } = window.location
  return (
    <DoneDialog close={close} title={`Token ${name}`} isPersistent>
      <SecretOnce label="Token" value={token} />
      <CopyField
        label="Sign in the command line"
        description="It asks for the token: paste it there."
        value={`gantry login ${origin} --with-token`}
      />
      <CopyField
        label="Use it in CI"
        description="Set GANTRY_TOKEN from the secret store of your CI."
        value={`GANTRY_URL=${origin} gantry status`}
      />
      <Dimmed>
        Other programs send it as <code>Authorization: Bearer …</code>. Anyone who has it can act as you
        within its scopes, so keep it in a secret store.
      </Dimmed>
    </DoneDialog>
  )
}

// Which organizations or projects a new token reaches.
type Organization = { id: number; name: string }

function ReachFields({ form }: { form: RecordForm<TokenInput> }) {
  const { reach } = form.values
  const organizations = useOrganizations()
  return (
    <>
      <NativeSelect label="Access to" data={REACHES} {...form.field('reach')} />
      {reach !== 'all' && (
        <Loaded query={organizations} what="organizations">
          {(all) => {
            if (all.length === 0)
              return (
                <Text className="dimmed">
                  You have no access to an entire organization yet. Ask an owner for a role, or create an
                  organization.
                </Text>
              )
            if (reach === 'projects') return <ProjectChoices form={form} organizations={all} />
            const choices = all.map(({ id, name }) => ({ id, name }))
            return <Choices label="Organizations" choices={choices} {...form.field('organizations')} />
          }}
        </Loaded>
      )}
    </>
  )
}

type ProjectChoicesProps = { form: RecordForm<TokenInput>; organizations: Organization[] }

function ProjectChoices({ form, organizations }: ProjectChoicesProps) {
  const api = useApi()
  const query = useQueries({
    queries: organizations.map(({ id }) => projectsQuery(api, id)),
    combine: combineQueries,
  })
  return (
    <Loaded query={query} what="projects">
      {(lists) => {
        const choices = lists.flatMap((projects, index) =>
          projects.map(({ id, name }) => ({ id, name: `${organizations[index]!.name} / ${name}` })),
        )
        return <Choices label="Projects" choices={choices} {...form.field('projects')} />
      }}
    </Loaded>
  )
}

type ChoicesProps = { label: string; choices: Organization[] }

function Choices({ label, choices, ...rest }: ChoicesProps) {
  return (
    <Checkbox.Group label={label} {...rest}>
      <Stack gap="xs" mt="xs" className={classes.choices}>
        {choices.map(({ id, name }) => (
          <Checkbox key={id} value={String(id)} label={name} />
        ))}
      </Stack>
    </Checkbox.Group>
  )
}
