// The repository that a hook is connected to, or polls; or the button that connects it.
import { Alert, Anchor, DataList, Group } from '@mantine/core'
import { Plug, RefreshCw, TriangleAlert, Unplug, Wrench } from 'lucide-react'
import { useState } from 'react'
import { queryKeys, useApi, useRefetch } from '#web/base/api/queries.ts'
import type { Hook } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { ConfirmDialog } from '#web/base/ui/confirm-dialog.tsx'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { formatDateTime, safeUrl } from '#web/base/ui/format.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { Dimmed, Fact, SectionCard, StatusBadge } from '#web/base/ui/parts.tsx'
import { Age } from '#web/base/ui/time.tsx'
import { useSource } from '#web/resources/applications/applications.ts'
import {
  CONNECTION_STATES,
  type Connection,
  HOST_NAMES,
  hostOf,
  whyNotConnectable,
} from '#web/resources/hooks/connection.ts'
import { useCheckNow, useConnect } from '#web/resources/hooks/use-connection.ts'
import { CatchUpList } from './catch-up-list.tsx'
import { PollFacts } from './poll-facts.tsx'

type ConnectionSectionProps = { hook: Hook; scope: PermissionScope | undefined }

/** Nothing for the hooks of servers: they have no repository. */
export function ConnectionSection({ hook, scope }: ConnectionSectionProps) {
  if (hook.resource_type !== 'application') return null
  return (
    <div className="section">
      <SectionCard id="repository" title="Repository">
        {hook.connection ? (
          <Connected hook={hook} connection={hook.connection} scope={scope} />
        ) : hook.poll ? (
          <PollFacts hook={hook} poll={hook.poll} />
        ) : (
          <NotConnected hook={hook} scope={scope} />
        )}
      </SectionCard>
    </div>
  )
}

/** Why the person may not use the token of the application's credential for this hook; undefined if they may. */
function useMissingPermission(scope: PermissionScope | undefined): string | undefined {
  const edit = usePermission('hook:edit', scope)
  const run = usePermission('credential:run', scope && { organization: scope.organization })
  return [edit, run].find(({ allowed }) => !allowed)?.reason
}

function NotConnected({ hook, scope }: ConnectionSectionProps) {
  const source = useSource(hook.resource_id)
  const { mutate, isPending, error } = useConnect(hook.id)
  const missing = useMissingPermission(scope)
  const host = source && hostOf(source.credential)
  const reason = missing ?? (source ? whyNotConnectable(hook, source.credential) : undefined)
  return (
    <>
      <Group justify="space-between" gap="sm" align="start">
        <Dimmed maw="38rem">
          {host ? HOST_NAMES[host] : 'The host of the repository'} calls this hook once a webhook is set up
          there. <strong>Connect</strong> lets Gantry create the webhook and watch it.
        </Dimmed>
        <ReasonedButton reason={reason} icon={Plug} loading={isPending} onClick={() => mutate()}>
          Connect
        </ReasonedButton>
      </Group>
      {reason && <Dimmed mt="xs">{reason}</Dimmed>}
      {error && <ErrorAlert error={error} title="Not connected" />}
    </>
  )
}

type ConnectedProps = ConnectionSectionProps & { connection: Connection }

function Connected({ hook, connection, scope }: ConnectedProps) {
  const { state, provider, problem, disabled_until } = connection
  const connect = useConnect(hook.id)
  const { check, isChecking } = useCheckNow(hook)
  const [isLeaving, setLeaving] = useState(false)
  const edit = usePermission('hook:edit', scope)
  const missing = useMissingPermission(scope)
  const isBroken = state !== 'connected' && state !== 'connecting'
  return (
    <>
      <Group justify="space-between" gap="sm" align="start">
        <div role="status">
          <StatusBadge {...CONNECTION_STATES[state]} />
        </div>
        <Group gap="xs">
          {isBroken && (
            <ReasonedButton
              reason={missing}
              icon={Wrench}
              loading={connect.isPending}
              onClick={() => connect.mutate()}
            >
              Repair
            </ReasonedButton>
          )}
          <ReasonedButton
            variant="default"
            reason={
              edit.allowed ? (state === 'connecting' ? 'Gantry is asking the host.' : undefined) : edit.reason
            }
            icon={RefreshCw}
            loading={isChecking}
            onClick={() => check()}
          >
            Check now
          </ReasonedButton>
          <ReasonedButton
            variant="default"
            reason={edit.allowed ? undefined : edit.reason}
            icon={Unplug}
            onClick={() => setLeaving(true)}
          >
            Disconnect
          </ReasonedButton>
        </Group>
      </Group>
      {problem && (
        <Alert
          color={isBroken ? 'orange' : 'gray'}
          icon={isBroken ? <TriangleAlert size={18} aria-hidden="true" /> : undefined}
          role="note"
          mt="md"
        >
          {problem} {isBroken && NEXT[state]}
        </Alert>
      )}
      {connect.error && <ErrorAlert error={connect.error} title="Not connected" />}
      <DataList mt="md">
        <Fact label="Repository">{`${connection.repository} at ${HOST_NAMES[provider]}`}</Fact>
        <Fact label="Webhook">{connection.settings_url && <WebhookLink connection={connection} />}</Fact>
        <Fact label="Events">{connection.events.join(', ')}</Fact>
        <Fact label="Checked">
          {connection.checked_at ? <Age of={connection.checked_at} /> : 'Not yet'}, and every hour
        </Fact>
        <Fact label="Last call">
          {connection.last_delivery_at ? <Age of={connection.last_delivery_at} /> : 'None yet'}
        </Fact>
        <Fact label="Suspended until">{disabled_until && formatDateTime(disabled_until)}</Fact>
      </DataList>
      <CatchUpList hook={hook} />
      {isLeaving && (
        <DisconnectDialog hook={hook} host={HOST_NAMES[provider]} close={() => setLeaving(false)} />
      )}
    </>
  )
}

/** What helps. What is wrong, the API says. */
const NEXT: Record<Exclude<Connection['state'], 'connected' | 'connecting'>, string> = {
  missing: 'Repair creates the webhook again.',
  changed: 'Repair sets it back to what this hook needs.',
  disabled: 'Repair switches it on again.',
  forbidden: 'Then press Repair.',
  unreachable: 'Gantry asks again by itself.',
}

/** Where the webhook can be seen at the host; nothing while that is unknown. */
export function WebhookLink({ connection: { provider, settings_url } }: { connection: Connection }) {
  const href = safeUrl(settings_url)
  return href ? (
    <Anchor href={href} target="_blank" rel="noreferrer" size="sm">
      Settings at {HOST_NAMES[provider]}
    </Anchor>
  ) : null
}

type DisconnectDialogProps = { hook: Hook; host: string; close(): void }

function DisconnectDialog({ hook, host, close }: DisconnectDialogProps) {
  const api = useApi()
  const refetch = useRefetch()
  return (
    <ConfirmDialog
      title="Disconnect the repository?"
      button="Disconnect"
      color="red"
      act={() =>
        api.delete('/hooks/incoming/{hook_id}/connection', { params: { path: { hook_id: hook.id } } })
      }
      done={`${hook.connection?.repository} disconnected.`}
      onDone={() => refetch(queryKeys.hook('incoming', hook.id))}
      close={close}
    >
      Gantry removes the webhook at {host}: pushes no longer start runs. The hook stays, with its URL, its
      secret and its past calls. If {host} does not let Gantry remove the webhook within 24 hours, the audit
      log names it.
    </ConfirmDialog>
  )
}
