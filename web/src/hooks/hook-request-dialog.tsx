import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../api/services.ts'
import type { HookRequestDetail } from '../api-types.ts'
import { Dialog } from '../shell/dialog.tsx'
import { Fault } from '../shell/fault.tsx'
import { Loading } from '../shell/loading.tsx'
import { OUTCOME_WORDS } from '../words/outcomes.ts'
import { formatMoment } from '../words/time.ts'
import { Command } from './command.tsx'
import classes from './hooks.module.css'

export function HookRequestButton({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button size="compact-xs" variant="default" onClick={() => setOpen(true)}>
        Details
      </Button>
      {isOpen && (
        <Dialog close={() => setOpen(false)} title="Request and response" size="xl">
          <Detail id={id} />
        </Dialog>
      )}
    </>
  )
}

function Detail({ id }: { id: string }) {
  const api = useApi()
  const { data, error, refetch } = useQuery({
    queryKey: ['hook-request', id],
    queryFn: ({ signal }) => api.ask('GET /hook-requests/{id}', { path: { id }, signal }),
  })
  if (error) return <Fault error={error} what="hook request" retry={refetch} />
  if (!data) return <Loading what="the request" />
  return (
    <div className={classes.detail}>
      <p>
        {OUTCOME_WORDS[data.outcome] ?? data.outcome}. {formatMoment(data.created_at)}
        {data.duration_ms !== null && `, ${data.duration_ms} ms`}
        {data.attempt !== null && `, attempt ${data.attempt}`}
        {data.error && `. ${data.error}`}
      </p>
      <h3>Request</h3>
      <pre>
        {data.method} {data.url}
        {headerLines(data.request_headers)}
      </pre>
      <Body text={data.request_body} encoding={data.request_body_encoding} />
      <h3>Response {data.response_status_code ?? ''}</h3>
      {data.response_headers && <pre>{headerLines(data.response_headers).trimStart()}</pre>}
      <Body text={data.response_body} encoding={data.response_body_encoding} />
      <h3>{data.type === 'incoming' ? 'Run it again' : 'Send it again'}</h3>
      <Command method="POST" path={`/hook-requests/${data.id}/replay`} />
    </div>
  )
}

function headerLines(headers: HookRequestDetail['request_headers']): string {
  return Object.entries(headers ?? {})
    .map(([name, value]) => `\n${name}: ${String(value)}`)
    .join('')
}

function Body({ text, encoding }: { text: string | null; encoding: string }) {
  if (text === null || text === '')
    return <p className="quiet">No body, or none that is kept or yours to see.</p>
  return (
    <pre>
      {encoding === 'base64' && '(base64) '}
      {readable(text)}
    </pre>
  )
}

/** JSON with its structure visible, anything else as it came. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
