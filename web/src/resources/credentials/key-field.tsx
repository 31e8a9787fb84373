// The SSH key of a server: one of the organization's, or a new one whose public half is shown to be copied.
import { Group, NativeSelect, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useApi } from '#web/base/api/queries.ts'
import { usePermission } from '#web/base/session/permissions.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { CopyField } from '#web/base/ui/copy-field.tsx'
import { notify } from '#web/base/ui/notify.ts'
import { useCredentials, useCredentialsChanged } from './credentials.ts'

type KeyFieldProps = {
  organizationId: number
  /** The id as text; empty without one. */
  value: string
  onChange(id: string): void
  error?: string | undefined
  /** Names a generated key. */
  serverName: string
  login: string
}

export function KeyField({ organizationId, value, onChange, error, serverName, login }: KeyFieldProps) {
  const { data } = useCredentials(organizationId)
  const keys = (data ?? []).filter(({ provider }) => provider.code === 'ssh')
  const chosen = keys.find(({ id }) => String(id) === value)
  return (
    <Stack gap="xs">
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <NativeSelect
          flex={1}
          label="SSH key"
          name="credential_id"
          value={value}
          error={error}
          data={[
            { value: '', label: keys.length === 0 ? 'No keys yet' : 'Select a key' },
            ...keys.map(({ id, name, active }) => ({
              value: String(id),
              label: active ? name : `${name} (inactive)`,
            })),
          ]}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
        <GenerateKey
          organizationId={organizationId}
          name={freeName(serverName.trim() || 'Deploy', data ?? [])}
          onGenerated={onChange}
        />
      </Group>
      {chosen?.public_key && (
        <CopyField
          label="Public key"
          description={`Add this line to ~/.ssh/authorized_keys${login.trim() ? ` of ${login.trim()}` : ''} on the server.`}
          value={chosen.public_key}
        />
      )}
    </Stack>
  )
}

/** `web-1 key`, `web-1 key 2`: names of credentials need not be unique, but people have to tell them apart. */
export function freeName(server: string, credentials: readonly { name: string }[]): string {
  const name = `${server.slice(0, 240)} key`
  const isTaken = (one: string) => credentials.some((credential) => credential.name === one)
  if (!isTaken(name)) return name
  for (let count = 2; ; count++) if (!isTaken(`${name} ${count}`)) return `${name} ${count}`
}

type GenerateKeyProps = { organizationId: number; name: string; onGenerated(id: string): void }

function GenerateKey({ organizationId, name, onGenerated }: GenerateKeyProps) {
  const api = useApi()
  const changed = useCredentialsChanged()
  const { allowed, reason } = usePermission('credential:add', { organization: organizationId })
  const { mutate, isPending } = useMutation({
    mutationFn: () =>
      api.post('/organizations/{id}/credentials', {
        params: { path: { id: organizationId } },
        body: { name, provider_code: 'ssh', generate: true },
      }),
    async onSuccess({ id }) {
      // The key is selected once the list has it.
      await changed()
      onGenerated(String(id))
    },
    onError: notify.problem,
  })
  return (
    <ReasonedButton
      variant="default"
      reason={allowed ? undefined : reason}
      loading={isPending}
      icon={KeyRound}
      onClick={() => mutate()}
    >
      Generate key
    </ReasonedButton>
  )
}
