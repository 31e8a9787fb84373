// "Test connection" and what it found. The host key that the server presents is pinned with one click.
import { Group, Loader, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { CircleCheck, CircleHelp, CircleX, PlugZap } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { PermissionScope } from '#web/base/session/permissions.ts'
import { GuardedButton } from '#web/base/ui/controls.tsx'
import { CopyField } from '#web/base/ui/copy-field.tsx'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useCredentials } from '#web/resources/credentials/credentials.ts'
import { authorizeCommand, type CheckItem, checkItems, type ServerCheck } from './check.ts'
import type { ServerRecord } from './server-input.ts'
import classes from './servers.module.css'

function useServerCheck(serverId: number) {
  const api = useApi()
  const refetch = useRefetch()
  return useMutation({
    mutationFn: ({ pin = false }: { pin?: boolean }) =>
      api.post('/servers/{id}/check', {
        params: { path: { id: serverId } },
        body: { pin_host_key: pin },
      }),
    onSuccess: (_, { pin }) => (pin ? refetch(queryKeys.server(serverId)) : undefined),
  })
}

type ConnectionCheckProps = {
  server: Pick<ServerRecord, 'id' | 'provider_code' | 'root_directory' | 'credential_id' | 'login_name'>
  scope: PermissionScope | undefined
  /** Tests at once, without a click. */
  isAutomatic?: boolean
  onResult?(check: ServerCheck): void
}

/** The button, the progress, and the result with each check. */
export function ConnectionCheck({ server, scope, isAutomatic = false, onResult }: ConnectionCheckProps) {
  const check = useServerCheck(server.id)
  const start = (pin: boolean) => check.mutate({ pin }, { onSuccess: onResult })
  const hasStarted = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it appears
  useEffect(() => {
    if (!isAutomatic || hasStarted.current) return
    hasStarted.current = true
    start(false)
  }, [])
  const isSsh = server.provider_code === 'ssh'
  const result = check.data
  const canPin = isSsh && result?.user && result.host_key_fingerprint && !result.pinned
  return (
    <Stack gap="sm">
      <div role="status">
        {check.isPending && (
          <Group gap="xs">
            <Loader size="xs" aria-hidden="true" />
            <Text size="sm">{isSsh ? 'Connecting…' : 'Checking…'}</Text>
          </Group>
        )}
        {!check.isPending && result && (
          <CheckResult check={result} isSsh={isSsh} rootDirectory={server.root_directory} />
        )}
      </div>
      {!check.isPending && isSsh && result?.user === null && <AuthorizeKey server={server} scope={scope} />}
      {check.error && <ErrorAlert error={check.error} title="The server could not be tested" />}
      <Group gap="xs">
        <GuardedButton
          variant="default"
          size="xs"
          permission="server:run"
          scope={scope}
          disabled={check.isPending}
          icon={PlugZap}
          onClick={() => start(false)}
        >
          {result ? 'Test again' : 'Test connection'}
        </GuardedButton>
        {canPin && (
          <GuardedButton
            variant="default"
            size="xs"
            permission="server:edit"
            scope={scope}
            disabled={check.isPending}
            onClick={() => start(true)}
          >
            Pin this host key
          </GuardedButton>
        )}
      </Group>
    </Stack>
  )
}

/** After a failed login: the public key, and what puts it on the server. */
function AuthorizeKey({ server, scope }: Pick<ConnectionCheckProps, 'server' | 'scope'>) {
  const { data } = useCredentials(scope?.organization)
  const key = data?.find(({ id }) => id === server.credential_id)?.public_key
  if (!key) return null
  const account = server.login_name ?? 'the account'
  return (
    <Stack gap="xs">
      <CopyField label="Public key" value={key} />
      <CopyField
        label="Command"
        description={`Run it on the server as ${account}, then test again.`}
        value={authorizeCommand(key)}
      />
    </Stack>
  )
}

const ICONS = { passed: CircleCheck, failed: CircleX, unknown: CircleHelp }
const STATUSES = { passed: 'completed', failed: 'failed', unknown: 'pending' }
const WORDS = { passed: 'Passed:', failed: 'Failed:', unknown: 'Unknown:' }

type CheckResultProps = { check: ServerCheck; isSsh: boolean; rootDirectory: string }

export function CheckResult({ check, isSsh, rootDirectory }: CheckResultProps) {
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {check.ok ? 'Gantry can deploy to this server.' : 'Gantry cannot deploy to this server yet.'}{' '}
        <Text span className="dimmed" fw={400}>
          Tested <Age of={check.checked_at} />
        </Text>
      </Text>
      <CheckList items={checkItems(check, isSsh, rootDirectory)} />
    </Stack>
  )
}

/** What was found, each with its sign. */
export function CheckList({ items }: { items: CheckItem[] }) {
  return (
    <ul className={`plain-list ${classes.checks}`}>
      {items.map((item) => (
        <Check key={item.text} {...item} />
      ))}
    </ul>
  )
}

function Check({ state, text }: CheckItem) {
  const Icon = ICONS[state]
  return (
    <li className={classes.check} data-status={STATUSES[state]}>
      <Icon size={16} strokeWidth={1.75} aria-label={WORDS[state]} role="img" />
      <span className="wrap">{text}</span>
    </li>
  )
}
