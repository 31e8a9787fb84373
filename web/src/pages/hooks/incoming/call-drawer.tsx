// One received call: its verdict, headers and body; and what the hook, with its unsaved changes, would do with it.
import { Button, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { queryKeys, useGet } from '#web/base/api/queries.ts'
import type { Hook, HookRequestDetail } from '#web/base/api/types.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { capitalized } from '#web/base/ui/field-errors.ts'
import { formatDateTime } from '#web/base/ui/format.ts'
import { notify } from '#web/base/ui/notify.ts'
import { Loaded } from '#web/base/ui/page.tsx'
import { Dimmed, StatusBadge } from '#web/base/ui/parts.tsx'
import { kindOf, runNumber } from '#web/base/ui/status.ts'
import { RequestDrawer } from '#web/resources/hooks/request-drawer.tsx'
import classes from './call-drawer.module.css'
import { withHeaderCondition } from './from-pick.ts'
import { PayloadTree } from './payload-tree.tsx'
import { ReplayButton } from './replay-button.tsx'
import { TryOut } from './try-out.tsx'
import type { HookForm } from './use-hook-form.ts'
import { payloadText, SIGNATURE_PROBLEMS, verdictLabel, verdictStatus } from './verdict.ts'

type CallDrawerProps = {
  callId: string
  hook: Hook
  form: HookForm
  scope: PermissionScope | undefined
  close(): void
}

export function CallDrawer({ callId, close, ...rest }: CallDrawerProps) {
  const query = useGet(queryKeys.hookRequest(callId), '/hook-requests/{id}', {
    params: { path: { id: callId } },
  })
  return (
    <RequestDrawer title="Received call" close={close}>
      <Loaded query={query} what="call">
        {(call) => <Call call={call} {...rest} />}
      </Loaded>
    </RequestDrawer>
  )
}

type CallProps = Omit<CallDrawerProps, 'callId' | 'close'> & { call: HookRequestDetail }

function Call({ call, hook, form, scope }: CallProps) {
  const { allowed } = usePermission('hook:edit', scope)
  const text = payloadText(call)
  const { verdict, reason } = verdictLabel(call)
  return (
    <>
      <Group justify="space-between" mb="md" gap="sm" align="start">
        <div>
          <Group gap="xs">
            <StatusBadge status={verdictStatus(call.outcome)} label={verdict} />
            {reason && <span>{capitalized(reason)}</span>}
            {call.action_id !== null && (
              <Link href={`/actions/${call.action_id}`}>
                Run {runNumber(call.action_id, kindOf(call.deployment_type))}
              </Link>
            )}
          </Group>
          {call.signature_problem && (
            <Text size="sm" mt={6}>
              {SIGNATURE_PROBLEMS[call.signature_problem]}
            </Text>
          )}
          <Dimmed mt={6}>{factsOf(call)}</Dimmed>
        </div>
        <ReplayButton call={call} isUnsaved={form.isDirty} scope={scope} />
      </Group>
      <div className={classes.columns}>
        <div className={classes.column}>
          <Body call={call} text={text} form={form} mayEdit={allowed} />
          <Headers call={call} hook={hook} form={form} mayEdit={allowed} />
        </div>
        {allowed && text !== null && (
          <div className={classes.column}>
            <TryOut what="call" hook={hook} form={form} source={{ hook_request_id: call.id }} />
          </div>
        )}
      </div>
    </>
  )
}

function Body({
  call,
  text,
  form,
  mayEdit,
}: {
  call: HookRequestDetail
  text: string | null
  form: HookForm
  mayEdit: boolean
}) {
  if (!mayEdit) return <Dimmed>Headers and body are shown to people whose role includes hook:edit.</Dimmed>
  if (text === null || text === '')
    return <Dimmed>{text === '' ? 'The body is empty.' : 'Body not stored'}</Dimmed>
  return (
    <section aria-labelledby="body">
      <Text component="h3" id="body" fw={600} mb="xs">
        Body
      </Text>
      <PayloadTree key={call.id} text={text} form={form} />
    </section>
  )
}

type HeadersProps = { call: HookRequestDetail; hook: Hook; form: HookForm; mayEdit: boolean }

function Headers({ call, hook, form, mayEdit }: HeadersProps) {
  const headers = Object.entries(call.request_headers ?? {})
  if (headers.length === 0) return null
  function addCondition(name: string, value: string): void {
    form.set('conditions', withHeaderCondition(form.values.conditions, name, value))
    notify.done(`Condition on header ${name} added.`)
  }
  return (
    <details className={classes.headers} open>
      <summary>Headers ({headers.length})</summary>
      <dl>
        {headers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {String(value)}
              {mayEdit && !isSecret(name, value, hook) && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-label={`Add condition on header ${name}`}
                  onClick={() => addCondition(name, String(value))}
                >
                  Add condition
                </Button>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

/** No condition may read it. */
function isSecret(name: string, value: unknown, { secret_header_name }: Hook): boolean {
  return /^\*+$/.test(String(value)) || name.toLowerCase() === secret_header_name?.toLowerCase()
}

function factsOf(call: HookRequestDetail): string {
  return [
    formatDateTime(call.created_at),
    call.response_status_code !== null && `answered ${call.response_status_code}`,
    call.duration_ms !== null && `${call.duration_ms} ms`,
    call.body_bytes !== null && `${call.body_bytes.toLocaleString('en-US')} bytes`,
  ]
    .filter(Boolean)
    .join(' · ')
}
