import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status, StoredStep } from '#platform/database/tables.ts'

export type Move = { previous: Status | null; status: Status; reason: ReasonCode }
type Times = { started_at: string | null; completed_at: string | null }

/** What the tables say about an action when everything has ended. */
export type RecordedAction = Times & {
  number: number
  /** The number of the action that this one waited for. */
  parent: number | null
  pipeline: string
  status: Status
  reason: ReasonCode
  has_place: boolean
  moves: Move[]
  targets: RecordedTarget[]
}

export type RecordedTarget = Times & {
  server: string
  status: Status
  reason: ReasonCode
  attempt: number
  steps: StoredStep[]
  /** With the position of each among the moves of all targets. */
  moves: (Move & { id: number; step: number | null })[]
  logs: { step: number; text: string }[]
}

export async function readActions(db: Database, environmentId: number): Promise<RecordedAction[]> {
  const { rows } = await sql<RecordedAction>`
    select row_number() over (order by a.id)::int as number, p.name as pipeline, a.status,
      (select count(*)::int from actions other
        where other.environment_id = a.environment_id and other.id <= a.parent_id having a.parent_id is not null) as parent,
      a.status_reason_code as reason, a.has_place, a.started_at, a.completed_at,
      (select json_agg(json_build_object('previous', e.previous_status, 'status', e.status,
          'reason', e.status_reason_code) order by e.id)
        from events e where e.action_id = a.id) as moves,
      (select json_agg(json_build_object('server', s.name, 'status', t.status, 'reason', t.status_reason_code,
          'attempt', t.attempt, 'steps', t.steps, 'started_at', t.started_at, 'completed_at', t.completed_at,
          'moves', coalesce((select json_agg(json_build_object('id', m.id, 'step', m.step_order,
              'previous', m.previous_status, 'status', m.status, 'reason', m.status_reason_code) order by m.id)
            from target_moves m where m.target_id = t.id), '[]'),
          'logs', coalesce((select json_agg(json_build_object('step', l.step_order, 'text', l.text) order by l.step_order)
            from (select step_order, string_agg(text, '' order by start_offset) as text from step_log_chunks
              where target_id = t.id group by step_order) as l), '[]')) order by t.position)
        from targets t join servers s on s.id = t.server_id where t.action_id = a.id) as targets
    from actions a join pipelines p on p.id = a.pipeline_id
    where a.environment_id = ${environmentId}
    order by a.id`.execute(db)
  return rows
}

/** The `.json` file of a scenario. */
export type Outcome = {
  actions: Record<string, { moves: string[]; targets: Record<string, TargetSummary> }>
  ran: Record<string, string[]>
  logs: Record<string, string>
  rejected: string[]
}
type TargetSummary = { moves: string[]; steps: Record<string, string> }

export function summarizeActions(actions: readonly RecordedAction[]): Pick<Outcome, 'actions' | 'logs'> {
  return {
    actions: Object.fromEntries(
      actions.map(({ number, pipeline, moves, targets }) => [
        `${number} ${pipeline}`,
        {
          moves: moves.map(summarize),
          targets: Object.fromEntries(targets.map((target) => [target.server, summarizeTarget(target)])),
        },
      ]),
    ),
    logs: Object.fromEntries(
      actions.flatMap(({ number, targets }) =>
        targets.flatMap(({ server, steps, logs }) =>
          logs.map(({ step, text }) => [`${steps[step - 1]!.name} of ${number} on ${server}`, text]),
        ),
      ),
    ),
  }
}

function summarizeTarget({ moves, steps }: RecordedTarget): TargetSummary {
  return {
    moves: moves.filter(({ step }) => step === null).map(summarize),
    steps: Object.fromEntries(steps.map((step) => [step.name, summarize(step)])),
  }
}

/** The reason only where it says more than the status. */
function summarize({ status, reason }: { status: Status; reason: ReasonCode }): string {
  return reason === status.toUpperCase().replace('-', '_') ? status : `${status} ${reason}`
}
