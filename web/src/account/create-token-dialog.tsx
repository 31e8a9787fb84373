import { Alert, Button, Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import { fieldErrors } from '../ui/field-errors.ts'
import { ErrorAlert } from '../ui/page.tsx'
import { CopyButton, Dialog } from '../ui/parts.tsx'
import { ReachFields } from './reach-fields.tsx'
import { EXPIRIES, NEW_TOKEN, SCOPES, type TokenInput, toTokenBody, validateToken } from './token-input.ts'

export function CreateTokenDialog({ close }: { close(): void }) {
  const api = useApi()
  const queries = useQueryClient()
  const form = useForm<TokenInput>({ initialValues: NEW_TOKEN, validate: validateToken })
  const create = useMutation({
    mutationFn: (input: TokenInput) =>
      api.post('/users/personal-access-tokens', { body: toTokenBody(input, Date.now()) }),
    // The token does not outlive the dialog.
    gcTime: 0,
    onSuccess: () => queries.invalidateQueries({ queryKey: queryKeys.personalTokens }),
  })
  if (create.data)
    return (
      <Dialog close={close} title={`Token ${create.data.name}`} size="lg" isPersistent>
        <NewToken token={create.data.token} close={close} />
      </Dialog>
    )
  const { errors, rest } = fieldErrors(create.error, ['name', 'expires_at'])
  return (
    <Dialog close={close} title="New personal access token" size="lg">
      <form onSubmit={form.onSubmit((input) => create.mutate(input))}>
        <Stack gap="md">
          <TextInput
            label="Name"
            description="What it is for: “CI of the web shop”"
            required
            withAsterisk={false}
            maxLength={60}
            autoComplete="off"
            data-autofocus
            {...form.getInputProps('name')}
            error={errors.name}
          />
          <NativeSelect
            label="Expires after"
            data={EXPIRIES}
            {...form.getInputProps('expiry')}
            error={errors.expires_at}
          />
          <ScopeFields form={form} />
          <ReachFields form={form} />
          {rest && <ErrorAlert error={rest} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending}>
              Create token
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function ScopeFields({ form }: { form: UseFormReturnType<TokenInput> }) {
  return (
    <>
      <NativeSelect
        label="Permissions"
        data={[
          { value: 'scopes', label: 'Selected scopes' },
          { value: 'full', label: 'Full access: everything that I may do' },
        ]}
        {...form.getInputProps('access')}
      />
      {form.values.access === 'scopes' && (
        <Checkbox.Group
          label="Scopes"
          description="Each one stands alone: a script that runs pipelines and reads their logs needs Read and Run."
          {...form.getInputProps('scopes')}
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

function NewToken({ token, close }: { token: string; close(): void }) {
  return (
    <Stack gap="md">
      <Alert color="orange" role="status">
        Copy the token now. It is not shown again.
      </Alert>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <TextInput
          label="Token"
          flex={1}
          readOnly
          value={token}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          onFocus={(event) => event.currentTarget.select()}
        />
        <CopyButton text={() => token} />
      </Group>
      <Text size="sm" className="dimmed">
        Send it as <code>Authorization: Bearer …</code>. Anyone who has it can act as you within its scopes,
        so keep it in a secret store.
      </Text>
      <Group justify="flex-end">
        <Button onClick={close}>Done</Button>
      </Group>
    </Stack>
  )
}
