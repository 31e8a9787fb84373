import { Checkbox, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Data } from '#client/index.ts'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { FormDialog } from '../ui/form/form-dialog.tsx'
import { type RecordForm, useRecordForm } from '../ui/form/use-record-form.ts'
import { useReturnFocus } from '../ui/use-return-focus.ts'
import { CreatedTokenDialog } from './created-token-dialog.tsx'
import { ReachFields } from './reach-fields.tsx'
import {
  describeToken,
  EXPIRIES,
  NEW_TOKEN,
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
  const queries = useQueryClient()
  const [created, setCreated] = useState<Data<'post', '/users/personal-access-tokens'>>()
  const form = useRecordForm({
    id: 'token-new',
    initial: NEW_TOKEN,
    validate: validateToken,
    fields: (field) => INPUTS[field],
    save: (input) => api.post('/users/personal-access-tokens', { body: toTokenBody(input, Date.now()) }),
    onSaved(token) {
      setCreated(token)
      void queries.invalidateQueries({ queryKey: queryKeys.personalTokens })
    },
  })
  if (created) return <CreatedTokenDialog token={created} close={close} />
  return (
    <FormDialog title="New personal access token" form={form} submit="Create token" close={close}>
      <TextInput
        label="Name"
        description="What it is for: “CI of the web shop”"
        maxLength={60}
        autoComplete="off"
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
          { value: 'full', label: 'Full access: everything that I may do' },
        ]}
        {...form.field('access')}
      />
      {form.values.access === 'scopes' && (
        <Checkbox.Group
          label="Scopes"
          description="No scope includes another: a script that runs pipelines and reads their logs needs Read and Run."
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
