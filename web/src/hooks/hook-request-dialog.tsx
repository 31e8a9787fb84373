import { Button, Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
import type { HookRequestDetail } from '../api/types.ts'
import { formatDateTime } from '../ui/format.ts'
import { Loaded } from '../ui/page.tsx'
import { Dialog } from '../ui/parts.tsx'
import { outcomeLabel } from '../ui/status.ts'
import { Command, Subheading } from './hook-commands.tsx'

export function HookRequestButton({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>
        Details
      </Button>
      {isOpen && (
        <Dialog close={() => setOpen(false)} title="Request and response" size="xl">
          <HookRequest id={id} />
        </Dialog>
      )}
    </>
  )
}

function HookRequest({ id }: { id: string }) {
  const api = useApi()
  const query = useQuery({
    queryKey: queryKeys.hookRequest(id),
    queryFn: ({ signal }) => api.get('/hook-requests/{id}', { params: { path: { id } }, signal }),
  })
  return (
    <Loaded query={query} what="hook request">
      {(request) => (
        <div className="wrap">
          <Text>
            {outcomeLabel(request)}. {formatDateTime(request.created_at)}
            {request.duration_ms !== null && `, ${request.duration_ms} ms`}
            {request.attempt !== null && `, attempt ${request.attempt}`}
            {request.body_bytes !== null && `, ${request.body_bytes} bytes received`}
            {request.error && `. ${request.error}`}
            {request.signature_problem && `. ${SIGNATURE_PROBLEMS[request.signature_problem]}`}
          </Text>
          <Subheading>Request</Subheading>
          <Code block>
            {`${request.method} ${request.url}\n${headerLines(request.request_headers)}`.trimEnd()}
          </Code>
          <Body text={request.request_body} encoding={request.request_body_encoding} />
          <Subheading>Response {request.response_status_code ?? ''}</Subheading>
          {request.response_headers && <Code block>{headerLines(request.response_headers)}</Code>}
          <Body text={request.response_body} encoding={request.response_body_encoding} />
          <Command
            title={request.type === 'incoming' ? 'Replay this call' : 'Send it again'}
            method="POST"
            path={`/hook-requests/${request.id}/replay`}
          />
        </div>
      )}
    </Loaded>
  )
}

const SIGNATURE_PROBLEMS: Record<NonNullable<HookRequestDetail['signature_problem']>, string> = {
  header_missing: 'The signature header is missing',
  prefix: 'The signature names another algorithm',
  encoding: 'The signature is neither hex nor base64 of the right length',
  mismatch: 'The signature was made with another secret or for another body',
  timestamp: 'The timestamp is missing or too old',
}

function headerLines(headers: HookRequestDetail['request_headers']): string {
  return Object.entries(headers ?? {})
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join('\n')
}

function Body({ text, encoding }: { text: string | null; encoding: string }) {
  if (text === null || text === '')
    return (
      <Text className="dimmed" size="sm">
        Body not stored
      </Text>
    )
  return (
    <Code block mah="20rem" mt={4} tabIndex={0}>
      {encoding === 'base64' && '(base64) '}
      {prettyJson(text)}
    </Code>
  )
}

/** Indented if it is JSON, otherwise as received. */
function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
