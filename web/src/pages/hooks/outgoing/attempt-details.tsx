// One attempt: what was sent, and what came back. Everything is text: a receiver may answer with anything.
import { Code, Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { HookRequestDetail } from '#web/base/api/types.ts'
import { formatDateTime } from '#web/base/ui/format.ts'
import { CopyButton, Dimmed } from '#web/base/ui/parts.tsx'
import { outcomeLabel } from '#web/base/ui/status.ts'
import { parseJson } from '#web/shared/editor/json-nodes.ts'
import classes from './outgoing.module.css'

export function AttemptDetails({ request }: { request: HookRequestDetail }) {
  return (
    <>
      <Text size="sm">
        {outcomeLabel(request)}. {formatDateTime(request.created_at)}
        {request.duration_ms !== null && `, ${request.duration_ms} ms`}
      </Text>
      {request.error && (
        <Text size="sm" className="wrap" mt={4}>
          {request.error}
        </Text>
      )}
      {request.capture_error && (
        <Text size="sm" className="wrap" mt={4}>
          Not captured: {request.capture_error}
        </Text>
      )}
      <Part title="Response" note={request.response_status_code}>
        <Headers headers={request.response_headers} />
        <Body label="response" text={request.response_body} encoding={request.response_body_encoding} />
      </Part>
      <Part title="Request">
        <Code block className="wrap" mb="xs">
          {request.method} {request.url}
        </Code>
        <Headers headers={request.request_headers} />
        <Body label="request" text={request.request_body} encoding={request.request_body_encoding} />
      </Part>
    </>
  )
}

type PartProps = { title: string; note?: ReactNode; children: ReactNode }

export function Part({ title, note, children }: PartProps) {
  return (
    <section>
      <Title order={3} size="h6" mt="md" mb={4}>
        {title} {note}
      </Title>
      {children}
    </section>
  )
}

export function Headers({ headers }: { headers: Record<string, unknown> | null }) {
  const entries = Object.entries(headers ?? {})
  if (entries.length === 0) return null
  return (
    <dl className={classes.headers}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{String(value)}</dd>
        </div>
      ))}
    </dl>
  )
}

type BodyProps = { label: string; text: string | null; encoding?: string; empty?: string }

export function Body({ label, text, encoding = 'utf-8', empty = 'Body not stored' }: BodyProps) {
  if (text === null || text === '') return <Dimmed mt={4}>{text === '' ? 'Empty body' : empty}</Dimmed>
  const shown = encoding === 'base64' ? text : prettyJson(text)
  return (
    <>
      <Group justify="space-between" mt="xs" mb={4}>
        <Text size="xs" className="dimmed">
          Body{encoding === 'base64' && ', in base64'}
        </Text>
        <CopyButton size="compact-xs" text={() => shown} label={`Copy ${label} body`} />
      </Group>
      {/* What scrolls must be reachable by keyboard. */}
      <Code block mah="22rem" tabIndex={0} aria-label={`Body of the ${label}`} role="region">
        {shown}
      </Code>
    </>
  )
}

/** Indented if it is JSON, otherwise as received. Numbers keep their digits. */
function prettyJson(text: string): string {
  const parsed = parseJson(text)
  return parsed.kind === 'json' ? JSON.stringify(parsed.value, null, 2) : text
}
