import { type Static, Type } from 'typebox'
import { statusFields, typeFields } from '#model/actions/schemas.ts'
import {
  Exactly,
  Id,
  namedObject,
  ref,
  TextOrNull,
  Timestamp,
  TimestampOrNull,
  Uuid,
  Word,
} from '#platform/http/schemas.ts'
import { RESOURCE_TYPES } from '#platform/vocabulary.ts'

const Count = (options: object = {}) => Type.Integer({ minimum: 0, ...options })
const Day = Type.String({ format: 'date', description: 'In UTC.' })
const withName = Exactly({ id: Id, name: Type.String() })

const overviewRunSchema = namedObject('OverviewRun', {
  id: Id,
  ...statusFields,
  ...typeFields,
  resource_id: Id,
  resource_name: Type.String(),
  resource_type: Word(Object.keys(RESOURCE_TYPES)),
  resource_type_human_readable: Type.String(),
  pipeline: withName,
  environment: Exactly({ id: Id, name: Type.String(), type: Type.String() }),
  project: withName,
  organization: withName,
  trigger_type: Type.String(),
  trigger_name: TextOrNull(),
  url_web_permalink: Type.String({ format: 'uri' }),
  started_at: TimestampOrNull,
  completed_at: TimestampOrNull,
  created_at: Timestamp,
})
export type OverviewRun = Static<typeof overviewRunSchema>

const failingHookSchema = namedObject('FailingHook', {
  hook_id: Uuid,
  name: Type.String(),
  pipeline_id: Id,
  environment_id: Id,
  failing_since: TimestampOrNull,
  failures_in_a_row: Count(),
  open_until: TextOrNull({
    format: 'date-time',
    description: 'Nothing is sent before this time; null when deliveries are not paused.',
  }),
  disabled_at: TimestampOrNull,
  disabled_reason: TextOrNull(),
})
export type FailingHook = Static<typeof failingHookSchema>

const overviewDeliveriesSchema = namedObject('OverviewDeliveries', {
  failing: Type.Array(ref(failingHookSchema), {
    description: 'Outgoing hooks whose receivers fail, or that were disabled for it; at most 50.',
  }),
  pending: Count({ description: 'Pending deliveries; 10000 means 10000 or more.' }),
  failed_last_day: Count({
    description: 'Deliveries that failed for good within 24 hours; 10000 means 10000 or more.',
  }),
})
export type OverviewDeliveries = Static<typeof overviewDeliveriesSchema>

const queueDepth = Exactly({
  job: Type.String(),
  ready: Count(),
  deferred: Count(),
  active: Count(),
  dead: Count(),
})

export const overviewSchema = namedObject('Overview', {
  running: Type.Array(ref(overviewRunSchema), { description: 'In progress, newest first; at most 50.' }),
  failures: Type.Array(ref(overviewRunSchema), {
    description: 'Failed within 24 hours, latest failure first; at most 20.',
  }),
  runs_per_day: Type.Array(Exactly({ date: Day, completed: Count(), failed: Count(), skipped: Count() }), {
    description: 'By the day on which they ended; the last 30 days, today last.',
  }),
  median_duration_seconds_per_day: Type.Array(
    Exactly({ date: Day, seconds: Type.Unsafe<number | null>({ type: ['number', 'null'] }) }),
    { description: 'Of completed runs, for the same days, accurate to about 1 %; null without one.' },
  ),
  deliveries: ref(overviewDeliveriesSchema),
  workers: Exactly({ alive: Count({ description: 'Workers online in the entire installation.' }) }),
  queue: Exactly({
    depths: Type.Array(queueDepth, { description: 'Jobs of the entire installation, by name.' }),
  }),
})
export type Overview = Static<typeof overviewSchema>

export const dashboardSchemas = [
  overviewRunSchema,
  failingHookSchema,
  overviewDeliveriesSchema,
  overviewSchema,
]
