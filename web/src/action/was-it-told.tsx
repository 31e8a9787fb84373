import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { Refusal } from '../api/api.ts'
import { useApi } from '../api/services.ts'
import type { Action, HookRequestRecord } from '../api-types.ts'
import { HookRequestButton } from '../hooks/hook-request-dialog.tsx'
import { Age } from '../words/age.tsx'
import { OUTCOME_WORDS } from '../words/outcomes.ts'
import { NextTry, StateBadge } from '../words/telling-state.tsx'
import classes from './action.module.css'
import { gatherTellings, summarize, type Telling } from './tellings.ts'

const LOOK_AGAIN_EVERY_MS = 4_000
/** Deliveries of the last status are made after it. */
const LOOKED_AT_AFTER_THE_END_MS = 30_000

/** The call that started the action, and every delivery about it. */
export function WasItTold({ action }: { action: Action }) {
  const api = useApi()
  const id = action.id
  const { data, error } = useQuery({
    queryKey: ['hook-requests-of', String(id)],
    queryFn: ({ signal }) =>
      api.ask('GET /actions/{id}/hook-requests', { path: { id }, query: { per_page: 100 }, signal }),
    refetchInterval: ({ state }) => {
      const isTrying = state.data?.some((request) => request.next_attempt_at !== null)
      const isFresh =
        action.completed_at === null ||
        Date.now() - Date.parse(action.completed_at) < LOOKED_AT_AFTER_THE_END_MS
      return isTrying || isFresh ? LOOK_AGAIN_EVERY_MS : false
    },
  })
  const names = useHookNames(action.pipeline_id, data !== undefined)
  const call = data?.find((request) => request.type === 'incoming')
  const tellings = gatherTellings(data ?? [])
  return (
    <section className={classes.section} aria-labelledby="told">
      <Title order={2} size="h4" id="told">
        Was it told?
      </Title>
      {error instanceof Refusal && error.status === 403 ? (
        <p className="quiet">You may not see the hooks of this environment.</p>
      ) : (
        <p className={classes.summary}>{data ? summarize(tellings) : 'Reading…'}</p>
      )}
      {(call || tellings.length > 0) && (
        <div className="table-frame">
          <table className={classes.tellings}>
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Hook</th>
                <th scope="col">What happened</th>
                <th scope="col">When</th>
                <th scope="col">
                  <span className="hidden-words">More</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {tellings.map((telling) => (
                <TellingRow key={telling.id} telling={telling} name={names[telling.hookId]} />
              ))}
              {call && <CallRow call={call} name={names[call.hook_id]} />}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function TellingRow({ telling, name }: { telling: Telling; name: string | undefined }) {
  const { last, attempts } = telling
  const tries = attempts.length === 1 ? '' : ` after ${attempts.length} attempts`
  return (
    <tr>
      <td>
        <StateBadge state={telling.state} />
      </td>
      <td>
        <Link href={`/hooks/outgoing/${telling.hookId}`}>{name ?? 'Outgoing hook'}</Link>
        <br />
        <code>{telling.url}</code>
      </td>
      <td>
        {OUTCOME_WORDS[last.outcome] ?? last.outcome}
        {last.response_status_code !== null && ` (${last.response_status_code})`}
        {tries}.{last.error && <div className="quiet">{last.error}</div>}
        {last.next_attempt_at && <NextTry at={last.next_attempt_at} />}
      </td>
      <td>
        <Age of={last.created_at} />
      </td>
      <td>
        <HookRequestButton id={last.id} />
      </td>
    </tr>
  )
}

function CallRow({ call, name }: { call: HookRequestRecord; name: string | undefined }) {
  return (
    <tr>
      <td>
        <StateBadge state="called" />
      </td>
      <td>
        <Link href={`/hooks/incoming/${call.hook_id}`}>{name ?? 'Incoming hook'}</Link>
        <br />
        <span className="quiet">from {call.ip_address ?? 'an unknown address'}</span>
      </td>
      <td>
        {OUTCOME_WORDS[call.outcome] ?? call.outcome}
        {call.response_status_code !== null && ` (${call.response_status_code})`}.
      </td>
      <td>
        <Age of={call.created_at} />
      </td>
      <td>
        <HookRequestButton id={call.id} />
      </td>
    </tr>
  )
}

function useHookNames(pipelineId: number, enabled: boolean): Record<string, string> {
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['hooks', pipelineId],
    enabled,
    queryFn: ({ signal }) =>
      api.ask('GET /pipelines/{id}/hooks', { path: { id: pipelineId }, query: {}, signal }),
  })
  return Object.fromEntries((data ?? []).map((hook) => [hook.id, hook.name]))
}
