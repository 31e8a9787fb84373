// "Try it now": one try of the health check as entered, saved or not, on one of the servers.
import { Code, Group, Loader, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { HeartPulse } from 'lucide-react'
import { useState } from 'react'
import type { components } from '#client/index.ts'
import { useApi } from '#web/base/api/queries.ts'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { splitErrors } from '#web/base/ui/field-errors.ts'
import { ErrorAlert } from '#web/base/ui/page.tsx'
import { Dimmed } from '#web/base/ui/parts.tsx'
import {
  HEALTH_LABELS,
  type HealthValues,
  healthBody,
  healthField,
} from '#web/resources/pipelines/health-check-input.ts'
import { CheckList } from '#web/resources/servers/check-result.tsx'
import { useServers } from '#web/resources/servers/servers.ts'

const LOCAL_ONLY = 'Only instance administrators try checks on the machine that Gantry runs on.'

type TryHealthProps = {
  values: HealthValues
  scope: PermissionScope & { environment: number }
  /** Of servers, as text. */
  serverIds: readonly string[]
  /** Undefined before there is one. */
  applicationId?: number
}

export function TryHealth({ values, scope, serverIds, applicationId }: TryHealthProps) {
  const api = useApi()
  const { data = [] } = useServers(scope.environment)
  const servers = data.filter(({ id }) => serverIds.includes(String(id)))
  const [chosen, choose] = useState('')
  const server = servers.find(({ id }) => String(id) === chosen) ?? servers[0]
  const { isInstanceAdmin } = useSession()
  const missing = [usePermission('server:run', scope), usePermission('pipeline:run', scope)]
  const isOthers = server?.provider_code === 'local' && !isInstanceAdmin
  const reason = missing.find(({ allowed }) => !allowed)?.reason ?? (isOthers ? LOCAL_ONLY : undefined)
  const check = healthBody(values)
  // What was found is about what was entered then.
  const asked = JSON.stringify([check, server?.id])
  const attempt = useMutation({
    mutationFn: (_: string) =>
      api.post('/servers/{id}/try-health-check', {
        params: { path: { id: server!.id } },
        body: { application_id: applicationId ?? null, health_check: check! as never },
      }),
  })
  const isCurrent = attempt.variables === asked
  if (check === null) return null
  if (check.type === 'command' && applicationId === undefined)
    return <Dimmed>The command runs in the release directory: you can try it after the first deploy.</Dimmed>
  if (!server) return <Dimmed>Link a server to try the check there.</Dimmed>
  return (
    <Stack gap="sm">
      <Group gap="md" align="end">
        {servers.length > 1 && (
          <NativeSelect
            label="Try it on"
            data={servers.map(({ id, name }) => ({ value: String(id), label: name }))}
            value={String(server.id)}
            onChange={(event) => choose(event.currentTarget.value)}
          />
        )}
        <ReasonedButton
          variant="default"
          reason={reason}
          disabled={attempt.isPending}
          icon={HeartPulse}
          onClick={() => attempt.mutate(asked)}
        >
          Try it now
        </ReasonedButton>
      </Group>
      <div role="status">
        {attempt.isPending && (
          <Group gap="xs">
            <Loader size="xs" aria-hidden="true" />
            <Text size="sm">Asking from {server.name}…</Text>
          </Group>
        )}
        {!attempt.isPending && isCurrent && attempt.data && (
          <Tried result={attempt.data} server={server.name} />
        )}
      </div>
      {isCurrent && attempt.error && <Rejected error={attempt.error} />}
    </Stack>
  )
}

type TriedProps = { result: components['schemas']['HealthTry']; server: string }

function Tried({ result, server }: TriedProps) {
  const { healthy, reached, message, duration_ms, output, output_truncated } = result
  const found = reached ? (healthy ? 'Healthy' : 'Not healthy') : 'Could not ask'
  // The message of an HTTP check names the time already.
  const took = duration_ms === null || / ms\b/.test(message) ? '' : ` It took ${duration_ms} ms.`
  const text = `${found} on ${server}: ${message}${took}`
  return (
    <Stack gap="xs" className="wrap">
      <CheckList items={[{ state: healthy ? 'passed' : 'failed', text }]} />
      {output !== null && (
        <Code block mah="12rem" tabIndex={0} role="region" aria-label="Response">
          {output}
          {output_truncated && '\n…'}
        </Code>
      )}
    </Stack>
  )
}

/** The API names its fields; a person knows the inputs. */
function Rejected({ error }: { error: Error }) {
  const { errors, rest } = splitErrors(error, healthField, (problem) => problem)
  if (rest) return <ErrorAlert error={rest} title="The check could not be tried" />
  return Object.entries(errors).map(([input, problem]) => (
    <Text key={input} size="sm" c="var(--mantine-color-error)" role="alert">
      {HEALTH_LABELS[input as keyof HealthValues]} {problem}.
    </Text>
  ))
}
