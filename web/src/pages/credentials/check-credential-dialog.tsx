// Uses a credential for real, and shows what came of it.
import { Alert, Button, DataList, NativeSelect, NumberInput, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ChangeEvent, useState } from 'react'
import { queryKeys, useApi, useGet } from '#web/base/api/queries.ts'
import { Dialog, DialogFooter } from '#web/base/ui/dialog.tsx'
import { fieldErrors } from '#web/base/ui/field-errors.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { Fact } from '#web/base/ui/parts.tsx'
import { isChat } from '#web/resources/credentials/credential-input.ts'
import type { Credential } from '#web/resources/credentials/credentials.ts'
import { type CheckValues, checkBody, detailRows, newCheck } from './check-input.ts'

const FIELDS = ['repository', 'host', 'port', 'user', 'server_id'] as const

export function CheckCredentialDialog({ credential, close }: { credential: Credential; close(): void }) {
  const api = useApi()
  const [values, setValues] = useState(() => newCheck(credential))
  const { mutate, isPending, data, error } = useMutation({
    mutationFn: () =>
      api.post('/credentials/{id}/check', {
        params: { path: { id: credential.id } },
        body: checkBody(values),
      }),
  })
  const { errors, rest } = fieldErrors(error, FIELDS)
  return (
    <Dialog title={`Check ${credential.name}`} size="lg" close={close}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          mutate()
        }}
      >
        <Stack gap="md">
          <CheckFields credential={credential} values={values} set={setValues} errors={errors} />
          <div role="status">
            {data && (
              <Alert color={data.ok ? 'teal' : 'orange'} title={data.ok ? 'It works' : 'It does not work'}>
                {data.message}
                <DataList mt="xs" labelWidth="9rem">
                  {detailRows(data.details).map(({ label, text }) => (
                    <Fact key={label} label={label}>
                      {text}
                    </Fact>
                  ))}
                </DataList>
              </Alert>
            )}
          </div>
          {rest && <ErrorAlert error={rest} />}
          <DialogFooter close={close} dismiss="Close">
            <Button type="submit" loading={isPending}>
              {data ? 'Check again' : 'Check'}
            </Button>
          </DialogFooter>
        </Stack>
      </form>
    </Dialog>
  )
}

type CheckFieldsProps = {
  credential: Credential
  values: CheckValues
  set(values: CheckValues): void
  errors: Partial<Record<(typeof FIELDS)[number], string>>
}

function CheckFields({ credential, values, set, errors }: CheckFieldsProps) {
  const { provider } = credential
  const input = (name: 'host' | 'user' | 'repository') => ({
    value: values[name],
    error: errors[name],
    onChange: ({ currentTarget }: ChangeEvent<HTMLInputElement>) =>
      set({ ...values, [name]: currentTarget.value }),
  })
  return (
    <>
      {provider.code === 'ssh' && <AgainstField {...{ credential, values, set, errors }} />}
      {values.against === 'host' && (
        <>
          <TextInput label="Host" {...input('host')} />
          <TextInput label="Login" {...input('user')} />
          <NumberInput
            label="Port"
            min={1}
            max={65_535}
            hideControls
            value={values.port}
            error={errors.port}
            onChange={(port) => set({ ...values, port: typeof port === 'number' ? port : '' })}
          />
        </>
      )}
      {values.against === 'repository' && !isChat(provider.code) && (
        <TextInput
          label={provider.code === 'git' || provider.code === 'ssh' ? 'Repository' : 'Repository (optional)'}
          description={
            provider.code === 'git' || provider.code === 'ssh'
              ? 'Lists its branches and tags.'
              : `Lists its branches and tags. Without it, Gantry asks ${provider.code_human_readable} who the token belongs to.`
          }
          {...input('repository')}
        />
      )}
    </>
  )
}

function AgainstField({ credential, values, set, errors }: CheckFieldsProps) {
  const query = { type: 'server', within: `organization:${credential.organization.id}`, per_page: 1_000 }
  const { data } = useGet(queryKeys.names(query), '/names', { params: { query } })
  return (
    <NativeSelect
      label="Log in to"
      value={values.against}
      error={errors.server_id}
      onChange={(event) => set({ ...values, against: event.currentTarget.value })}
      data={[
        ...(data ?? []).map(({ id, path }) => ({ value: String(id), label: path })),
        { value: 'host', label: 'Another host' },
        { value: 'repository', label: 'A repository' },
      ]}
    />
  )
}
